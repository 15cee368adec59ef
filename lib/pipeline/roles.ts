import { VoiceError } from '../core/errors.ts';
import { OnDemand } from '../core/on-demand.ts';
import type { AgentProfile, ConversationOptions } from '../conversation/conversation-options.ts';
import type {
  AgentProvider,
  InputProvider,
  LLMProvider,
  OutputProvider,
  ProviderContract,
  ProviderRole,
  STTProvider,
  TTSProvider,
} from '../core/roles.ts';

/** Anything allowed in a pipeline's `providers`. */
export type AnyProvider =
  InputProvider | STTProvider | LLMProvider | TTSProvider | OutputProvider | AgentProvider | ProviderContract;

/** The provider of each role. An agent replaces stt, llm and tts together. */
export interface Roles<I = InputProvider, O = OutputProvider> {
  readonly input: I;
  readonly output: O;
  /** Receives the captured audio: the agent, or the speech-to-text service. */
  readonly listener: STTProvider | AgentProvider;
  readonly agent?: AgentProvider;
  readonly stt?: STTProvider;
  readonly llm?: LLMProvider;
  readonly tts?: TTSProvider;
  /** All voices: `tts`, and those of agents and languages. */
  readonly voices: readonly TTSProvider[];
  /** Each provider once. */
  readonly all: readonly ProviderContract[];
}

/** Roles whose input and output may have to be loaded first: see {@link loadInputOutput}. */
export type AssignedRoles = Roles<InputProvider | OnDemand<InputProvider>, OutputProvider | OnDemand<OutputProvider>>;

/** Default input and output in a browser: microphone and speaker. */
export interface DefaultInputOutput {
  readonly input: OnDemand<InputProvider>;
  readonly output: OnDemand<OutputProvider>;
}

const browserDefaults: DefaultInputOutput = {
  input: new OnDemand('MicrophoneInput', async () => {
    const { MicrophoneInput } = await import('../providers/input/microphone-input.ts');
    return new MicrophoneInput();
  }),
  output: new OnDemand('BrowserAudioOutput', async () => {
    const { BrowserAudioOutput } = await import('../providers/output/browser-audio-output.ts');
    return new BrowserAudioOutput();
  }),
};

/** How to fill a missing role. */
const hints: Readonly<Record<ProviderRole, string>> = {
  input: 'in Node add BufferInput or a phone provider, in a browser MicrophoneInput or WebRTCInput',
  stt: 'add a speech-to-text provider such as AlphaSTT or AlphaFlux, or an agent such as AlphaAgent',
  llm: 'add a language model such as NuLLM or MuLLM, or an agent such as AlphaAgent',
  tts: 'add a text-to-speech provider such as AlphaTTS or UpsilonTTS, or an agent such as AlphaAgent',
  output: 'in Node add NullOutput or a phone provider, in a browser BrowserAudioOutput or WebRTCOutput',
};

/**
 * Assigns the roles: each to the first provider that covers it; an agent takes its three together. Input and output
 * default to a browser's microphone and speaker. Only {@link loadInputOutput} needs the browser: a server renders pages,
 * too.
 *
 * @throws VoiceError `configuration`, naming the missing role and ways to fill it, or the role that two providers
 * cover.
 */
export function assignRoles(
  providers: readonly AnyProvider[],
  defaults: DefaultInputOutput = browserDefaults,
): AssignedRoles {
  const find = (role: ProviderRole): ProviderContract | undefined => {
    const [first, second] = providers.filter((provider) => provider.roles.includes(role));
    if (!first || !second) return first;
    const cannotJoin = role === 'input' || role === 'output' || isAgent(first) || isAgent(second);
    const join = cannotJoin ? '' : ', or join them with fallback()';
    const message = `${first.name} and ${second.name} both cover the role ${role}: leave one of them out${join}`;
    throw new VoiceError(message, { code: 'configuration' });
  };
  const agent = providers.find(isAgent);
  // Roles are the contract: a provider that lists one has its members.
  const base = {
    input: (find('input') as InputProvider | undefined) ?? defaults.input,
    output: (find('output') as OutputProvider | undefined) ?? defaults.output,
    all: [...new Set<ProviderContract>(providers)],
  };
  const stt = (find('stt') ?? missing('stt')) as STTProvider;
  const llm = (find('llm') ?? missing('llm')) as LLMProvider;
  const tts = (find('tts') ?? missing('tts')) as TTSProvider;
  if (agent) return { agent, listener: agent, voices: [], ...base };
  return { stt, listener: stt, llm, tts, voices: [tts], ...base };
}

/** The roles, with the models and voices that agents and languages have of their own. */
export function withCompany(
  roles: AssignedRoles,
  { agents = {}, voices = {} }: Pick<ConversationOptions, 'agents' | 'voices'>,
): AssignedRoles {
  // Anything that is not an agent or a provider is reported by `initialize()`.
  const profiles = Object.values(agents) as readonly (AgentProfile | undefined | null)[];
  const tables = [voices, ...profiles.map((profile) => profile?.voices ?? {})];
  const more = [...profiles.map((profile) => profile?.tts), ...tables.flatMap((table) => Object.values(table))].filter(
    isProvider,
  );
  const models = profiles.map((profile) => profile?.llm).filter(isProvider);
  return {
    ...roles,
    voices: [...new Set([...roles.voices, ...more])],
    all: [...new Set([...roles.all, ...models, ...more])],
  };
}

function isProvider<P extends ProviderContract>(provider: P | undefined): provider is P {
  return Array.isArray(provider?.roles);
}

/** Whether nothing needs loading. */
export function isLoaded(roles: AssignedRoles): roles is Roles {
  return !(roles.input instanceof OnDemand || roles.output instanceof OnDemand);
}

/**
 * The roles, with the code of input and output loaded.
 *
 * @throws VoiceError `configuration` when nothing covers one of them and this is no browser;
 * ProviderInitializationError when the code cannot be loaded.
 */
export async function loadInputOutput(roles: AssignedRoles): Promise<Roles> {
  for (const role of ['input', 'output'] as const) {
    if (roles[role] === browserDefaults[role] && !('AudioContext' in globalThis)) missing(role);
  }
  const [input, output] = await Promise.all([loaded(roles.input), loaded(roles.output)]);
  return { ...roles, input, output, all: [...new Set([...roles.all, input, output])] };
}

const loaded = async <P>(provider: P | OnDemand<P>): Promise<P> =>
  provider instanceof OnDemand ? provider.load() : provider;

function missing(role: ProviderRole): never {
  throw new VoiceError(`The pipeline has no ${role} provider: ${hints[role]}`, { code: 'configuration' });
}

function isAgent(provider: AnyProvider): provider is AgentProvider {
  return (['stt', 'llm', 'tts'] as const).every((role) => provider.roles.includes(role));
}
