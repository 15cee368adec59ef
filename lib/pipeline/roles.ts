import { VoiceError } from '../core/errors.ts';
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
import { DefaultInput, DefaultOutput, isBrowser } from './default-ends.ts';

/** Anything that can stand in a pipeline's `providers`. */
export type AnyProvider =
  InputProvider | STTProvider | LLMProvider | TTSProvider | OutputProvider | AgentProvider | ProviderContract;

/** Who plays which role. An agent stands in for stt, llm and tts together. */
export interface Cast {
  readonly input: InputProvider;
  readonly output: OutputProvider;
  readonly agent?: AgentProvider;
  readonly stt?: STTProvider;
  readonly llm?: LLMProvider;
  readonly tts?: TTSProvider;
  /** Each provider once. */
  readonly all: readonly ProviderContract[];
}

/** How a role that nobody covers can be filled. */
const hints: Readonly<Record<ProviderRole, string>> = {
  input: 'in Node add BufferInput or a phone provider, in a browser MicrophoneInput or WebRTCInput',
  stt: 'add a speech-to-text provider such as AlphaSTT or AlphaFlux, or an agent such as AlphaAgent',
  llm: 'add a language model such as NuLLM or MuLLM, or an agent such as AlphaAgent',
  tts: 'add a voice such as AlphaTTS or UpsilonTTS, or an agent such as AlphaAgent',
  output: 'in Node add NullOutput or a phone provider, in a browser BrowserAudioOutput or WebRTCOutput',
};

/** Who covers a role that nobody else does, in a browser. */
const defaults: Partial<Record<ProviderRole, () => ProviderContract>> = {
  input: () => new DefaultInput(),
  output: () => new DefaultOutput(),
};

/**
 * Casts the roles: the first provider that covers a role plays it; the agent's go together. In a browser the microphone
 * and the speaker fill the ends that nobody covers.
 *
 * @throws VoiceError `configuration` that names the missing role and ways to fill it, or the role that two claim.
 */
export function castRoles(providers: readonly AnyProvider[]): Cast {
  const find = (role: ProviderRole): ProviderContract => {
    const candidates = providers.filter((provider) => provider.roles.includes(role));
    const [first = isBrowser() ? defaults[role]?.() : undefined, second] = candidates;
    if (!first) {
      throw new VoiceError(`The pipeline has no ${role} provider: ${hints[role]}`, { code: 'configuration' });
    }
    if (second) {
      const message = `${first.name} and ${second.name} both cover the role ${role}: leave one of them out`;
      throw new VoiceError(message, { code: 'configuration' });
    }
    return first;
  };
  const agent = providers.find(isAgent);
  // Roles are the contract: a provider that lists one has its members.
  const input = find('input') as InputProvider;
  const output = find('output') as OutputProvider;
  const base = { input, output, all: [...new Set<ProviderContract>([...providers, input, output])] };
  if (agent) return { ...base, agent };
  return {
    ...base,
    stt: find('stt') as STTProvider,
    llm: find('llm') as LLMProvider,
    tts: find('tts') as TTSProvider,
  };
}

function isAgent(provider: AnyProvider): provider is AgentProvider {
  return ['stt', 'llm', 'tts'].every((role) => provider.roles.includes(role as ProviderRole));
}
