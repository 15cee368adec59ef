import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { VoiceErrorCode } from '../../core/errors.ts';
import { ownEntry, type WireObject } from '../../core/guard.ts';
import type { Credential } from '../../core/remote-provider.ts';
import type { AgentText } from '../../core/roles.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import type { AgentConfig, AgentContext, AgentProblem } from './agent-wire.ts';
import type { AgentTool } from './function-calls.ts';
import { toolsProblem } from './tools-problem.ts';

/**
 * Configuration of {@link GammaAgent}. The agent itself is configured at the service. Each of `instructions`, `model`,
 * `greeting`, `language`, `voiceId`, `stability`, `similarityBoost`, `speed` and `keywords` overrides what is configured
 * there, which the agent's security settings must allow.
 */
export interface GammaAgentConfig extends AgentConfig {
  /** The agent's id. Required unless `signedUrl` is given. */
  readonly agentId?: string;
  /**
   * A signed address that a server of yours fetched, instead of `apiKey`: also works in a page. It expires after 15
   * minutes, so pass a function that fetches a fresh one for each connection.
   */
  readonly signedUrl?: Credential;
  /** Who the agent is, and how it talks. Default: the agent's. */
  readonly instructions?: string;
  /** The language model, by the service's name for it. Default: the agent's. */
  readonly model?: string;
  /** What the agent says at the start of a conversation; if empty, it waits for the user. Default: the agent's. */
  readonly greeting?: string;
  /** The language it understands and speaks, BCP 47. Default: the agent's. */
  readonly language?: string;
  /** The voice. Default: the agent's. */
  readonly voiceId?: string;
  /** How stable the voice sounds, 0 to 1. Default: the agent's. */
  readonly stability?: number;
  /** How closely it follows the original voice, 0 to 1. Default: the agent's. */
  readonly similarityBoost?: number;
  /** Speed as a multiple of the usual one, 0.7 to 5. Default: the agent's. */
  readonly speed?: number;
  /** Words to listen for. Default: the agent's. */
  readonly keywords?: readonly string[];
  /** Functions that the agent may call: each must be declared there as a client tool of the same name. Default: none. */
  readonly tools?: readonly AgentTool[];
  /** What was said before this session. */
  readonly context?: { readonly messages: readonly { readonly role: AgentText['role']; readonly content: string }[] };
  /** The input format configured for the agent; audio in other formats is converted. Default: `pcm_16000`. */
  readonly inputFormat?: GammaAgentFormat;
  /** Values for `{{name}}` in the agent's texts. Default: none. */
  readonly dynamicVariables?: Readonly<Record<string, string | number | boolean>>;
  /** Passed on to the agent's language model if it is one of your own. Default: none. */
  readonly customLlmExtraBody?: Readonly<Record<string, unknown>>;
  /** The user's id, for the service's records. Default: none. */
  readonly userId?: string;
  /** Further fields of the wire's `conversation_initiation_client_data`; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/** A format of {@link GammaAgent}: its encoding, and its sample rate in Hz. */
export type GammaAgentFormat =
  ('pcm_8000' | 'pcm_16000' | 'pcm_22050' | 'pcm_24000' | 'pcm_44100' | 'pcm_48000') | 'ulaw_8000';

const formats: Readonly<Record<GammaAgentFormat, AudioMetadata>> = {
  pcm_8000: { encoding: 'linear16', sampleRate: 8_000, channels: 1 },
  pcm_16000: { encoding: 'linear16', sampleRate: 16_000, channels: 1 },
  pcm_22050: { encoding: 'linear16', sampleRate: 22_050, channels: 1 },
  pcm_24000: { encoding: 'linear16', sampleRate: 24_000, channels: 1 },
  pcm_44100: { encoding: 'linear16', sampleRate: 44_100, channels: 1 },
  pcm_48000: { encoding: 'linear16', sampleRate: 48_000, channels: 1 },
  ulaw_8000: { encoding: 'mulaw', sampleRate: 8_000, channels: 1 },
};

/** The service's default format, for both sides. */
export const gammaAgentFormat: AudioMetadata = formats.pcm_16000;

const unit = { min: 0, max: 1 };

/** Rules for the configuration. */
export const gammaAgentRules: ConfigRules = {
  agentId: { type: 'text' },
  instructions: { type: 'text' },
  model: { type: 'text' },
  language: { type: 'text' },
  voiceId: { type: 'text' },
  stability: unit,
  similarityBoost: unit,
  speed: { min: 0.7, max: 5 },
  keywords: { type: 'texts' },
  inputFormat: { oneOf: Object.keys(formats) },
  userId: { type: 'text' },
  functionTimeoutMs: { min: 1 },
};

/** What is missing, or wrong with the tools, as a sentence; `undefined` if nothing. */
export function gammaAgentConflict({ agentId, signedUrl, tools = [] }: GammaAgentConfig): string | undefined {
  return agentId || signedUrl ? toolsProblem(tools) : 'agentId is required, unless signedUrl is given';
}

/** A format by the service's name; `undefined` if it is unknown. */
export function formatNamed(name: string | undefined): AudioMetadata | undefined {
  return ownEntry(formats, name);
}

/** The format of the user's audio. */
export function inputOf({ inputFormat = 'pcm_16000' }: GammaAgentConfig): AudioMetadata {
  return ownEntry(formats, inputFormat) ?? gammaAgentFormat;
}

/** The only format that the agent takes. */
export function acceptsOf(config: GammaAgentConfig): readonly AudioFormat[] {
  const { encoding, sampleRate } = inputOf(config);
  return [{ encoding, sampleRates: [sampleRate] }];
}

/**
 * The settings, everything said so far, and what was typed meanwhile.
 *
 * @param typed - What the user typed while there was no connection; the history has it too.
 */
export function openingOf(
  typed: readonly string[],
  { config, history }: AgentContext<GammaAgentConfig>,
): readonly WireObject[] {
  const isTyped = ({ role, text }: AgentText): boolean => role === 'user' && typed.includes(text);
  const before = history.filter((line) => !isTyped(line));
  const texts = [...(config.context?.messages ?? []).map(({ role, content: text }) => ({ role, text })), ...before];
  return [
    settingsOf(config, before.length > 0),
    ...(texts.length > 0 ? [contextual(conversationOf(texts))] : []),
    ...typed.map(userMessage),
  ];
}

/** Tells the agent something without asking for a reply. */
export function contextual(text: string): WireObject {
  return { type: 'contextual_update', text };
}

/** A text as if the user had spoken it. */
export function userMessage(text: string): WireObject {
  return { type: 'user_message', text };
}

function conversationOf(texts: readonly AgentText[]): string {
  const lines = texts.map(({ role, text }) => `${role === 'user' ? 'User' : 'You'}: ${text}`);
  return ['The conversation with the user goes on. This was said so far:', ...lines].join('\n');
}

function settingsOf(config: GammaAgentConfig, isResumed: boolean): WireObject {
  const { instructions: prompt, model: llm, greeting, language, keywords } = config;
  const override = filled({
    agent: filled({
      prompt: filled({ prompt, llm }),
      // A resumed conversation is not greeted again.
      first_message: greeting !== undefined && isResumed ? '' : greeting,
      language: language && languageOf(language),
    }),
    asr: filled({ keywords }),
    tts: filled({
      voice_id: config.voiceId,
      stability: config.stability,
      speed: config.speed,
      similarity_boost: config.similarityBoost,
    }),
  });
  return {
    type: 'conversation_initiation_client_data',
    conversation_config_override: override,
    custom_llm_extra_body: config.customLlmExtraBody,
    dynamic_variables: config.dynamicVariables,
    user_id: config.userId,
    ...config.extraBody,
  };
}

/** An object, if it has any fields: without overrides, no permission is needed. */
function filled(fields: WireObject): WireObject | undefined {
  return Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
}

function languageOf(tag: string): string {
  return /^pt-br$/i.test(tag) ? 'pt-br' : primaryLanguage(tag);
}

type Failure = readonly [code: VoiceErrorCode, mayPass: boolean, hint: string];

const setting: Failure = ['configuration', false, 'check the configuration'];
const override: Failure = ['configuration', false, "allow this override in the agent's security settings"];
const variable: Failure = ['configuration', false, 'the agent needs dynamicVariables that are not set'];
const slow: Failure = ['timeout', true, 'it took too long'];
const broken: Failure = ['server', true, 'it failed'];

/** What the service's errors mean, by type. */
const byType: Readonly<Record<string, Failure>> = {
  ...{ value_error: setting, missing_fields: setting, override_error: override },
  ...{ missing_dynamic_variable: variable, missing_dynamic_variable_transfer: variable },
  invalid_message: ['protocol', false, 'it did not understand a message'],
  safety_violation: ['forbidden', false, 'the conversation broke its rules of use'],
  max_duration_exceeded: ['server', false, 'the conversation has lasted as long as the agent allows'],
  ...{ llm_timeout: slow, asyncio_timeout: slow, redis_timeout_error: slow },
  transport_receive_timeout: ['timeout', true, 'it received nothing for too long'],
  ...{ llm_error: broken, custom_llm_error: broken, cascade_brain_error: broken, tts_cascade_error: broken },
};

/** What its sentences mean, in errors and close reasons. */
const bySentence: readonly (readonly [RegExp, Failure])[] = [
  [/quota|credits/i, ['quota', false, "the account's quota is used up"]],
  [/overrid/i, override],
  [/dynamic variable/i, variable],
  [/does not exist|not found/i, ['not_found', false, 'there is no such agent, or not in this region']],
  [/misconfigured/i, ['configuration', false, "the agent's own settings are wrong"]],
  [/authori[sz]|authenticat|api.?key|signature|signed/i, ['unauthorized', false, 'check the credential']],
  [/concurren|too many|rate.?limit/i, ['rate_limited', true, 'too many conversations at once']],
];

/** The service's own sentences never quote the conversation. */
const quotable: ReadonlySet<VoiceErrorCode> = new Set(['configuration', 'unauthorized', 'not_found', 'quota']);

/**
 * A failure of the service, by its type and its sentence.
 *
 * @param closeCode - For a close without a known sentence: whether another session may succeed depends on it.
 */
export function failureOf(
  type: string,
  sentence: string | undefined,
  requestId: string | undefined,
  closeCode?: number,
): AgentProblem {
  const known = ownEntry(byType, type) ?? bySentence.find(([pattern]) => pattern.test(sentence ?? ''))?.[1];
  const [code, recoverable, hint] = known ?? (closeCode === undefined ? broken : refused);
  const cause = sentence && quotable.has(code) ? sentence.slice(0, 300) : undefined;
  return { message: `the service reports ${type}: ${hint}`, code, recoverable, cause, requestId };
}

const refused: Failure = ['server', false, 'it ended the session; see the debug log'];
