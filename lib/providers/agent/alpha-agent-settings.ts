import type { AudioEncoding, AudioMetadata } from '../../audio/types.ts';
import { unknownValue, type ConfigRules } from '../../core/config-rule.ts';
import type { ToolDefinition } from '../../core/messages.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { AgentText } from '../../core/roles.ts';
import type { AgentConfig } from './agent-wire.ts';

/** Language model types: our names, and the wire's; others pass through, with a warning. */
export type AlphaThinkType = keyof typeof thinkTypes | (typeof thinkTypes)[keyof typeof thinkTypes] | (string & {});

/** Voice types: our names, and the wire's; others pass through, with a warning. */
export type AlphaSpeakType = keyof typeof speakTypes | (typeof speakTypes)[keyof typeof speakTypes] | (string & {});

/** A third party's address and headers (which hold a credential of yours: not for browsers). */
export interface AlphaEndpoint {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A function that the language model may call: the service calls `endpoint` if set, otherwise `onFunctionCall` runs.
 */
export interface AlphaFunction extends ToolDefinition {
  readonly endpoint?: AlphaEndpoint & { readonly method?: string };
  /** Holds the call until the user's turn has definitely ended, for actions that cannot be undone. Default: false. */
  readonly deferUntilEot?: boolean;
}

/** The language model. Other fields of `provider`, such as `temperature`, are as in the service's docs. */
export interface AlphaThink {
  readonly provider: { readonly type: AlphaThinkType; readonly model?: string; readonly [field: string]: unknown };
  readonly prompt?: string;
  readonly functions?: readonly AlphaFunction[];
  /** Required for `fast-inference` and `cloud-bedrock`. */
  readonly endpoint?: AlphaEndpoint;
  /** Characters, or `max`; only with an `endpoint`. */
  readonly contextLength?: number | 'max';
}

/** The voice. Other fields of `provider`, such as `voice`, are as in the service's docs. */
export interface AlphaSpeak {
  readonly provider: { readonly type: AlphaSpeakType; readonly model?: string; readonly [field: string]: unknown };
  /** Required for all but `own-voices` and `low-latency`. */
  readonly endpoint?: AlphaEndpoint;
}

/** The speech-to-text. Other fields of `provider`, such as `keyterms`, are as in the service's docs. */
export interface AlphaListen {
  readonly provider: { readonly model: string; readonly [field: string]: unknown };
}

/** A format of the wire. */
export interface AlphaAudioFormat {
  readonly encoding: AudioEncoding;
  /** Hz. */
  readonly sampleRate: number;
}

/** Configuration of {@link AlphaAgent}. */
export interface AlphaAgentConfig extends AgentConfig {
  /** The language model, or several in order of fallback. Default: `open-chat` with `gpt-4o-mini`. */
  readonly think?: AlphaThink | readonly AlphaThink[];
  /** The voice, or several in order of fallback. Default: `own-voices` with `aura-2-thalia-en`. */
  readonly speak?: AlphaSpeak | readonly AlphaSpeak[];
  /** Default: model `nova-3`. */
  readonly listen?: AlphaListen;
  /** Said at the start of the session. */
  readonly greeting?: string;
  /** What was said before this session. */
  readonly context?: { readonly messages: readonly { readonly role: AgentText['role']; readonly content: string }[] };
  /** Default: input as given to `configureAudio()`, else linear16 at 16,000 Hz; output linear16 at 24,000 Hz. */
  readonly audio?: { readonly input?: AlphaAudioFormat; readonly output?: AlphaAudioFormat };
  /** Labels for the session in the vendor's usage reports. Default: none. */
  readonly tags?: readonly string[];
  /** Experimental features of the service, such as `AgentStartedSpeaking`. Default: false. */
  readonly experimental?: boolean;
  /** Keeps the session out of the vendor's training data. Default: false. */
  readonly mipOptOut?: boolean;
  /** Additional fields of the wire's `Settings`, its `agent` field by field; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/** A session's settings: the configuration and all updates since. */
export interface AlphaState {
  readonly think: AlphaAgentConfig['think'];
  readonly speak: AlphaAgentConfig['speak'];
  readonly listen: AlphaAgentConfig['listen'];
  /** Additions to the prompt. */
  readonly prompts: readonly string[];
  /** Whether the service's model or voice has failed since the last reply. */
  readonly wasExhausted: boolean;
  /** What the user said last, and whether the service has told it. */
  readonly words: { readonly text: string; readonly isTold: boolean } | undefined;
  /** Whether a reply to it is due: if the connection is lost, the next one is asked again, once. */
  readonly owes: boolean;
  /** What is asked again, which the service will tell again. */
  readonly again: string | undefined;
  /** What the user had said when the service called functions last. */
  readonly cause: AgentText | undefined;
  /** The latest calls that have ended, oldest first, as the wire's history has them: the next connection is told. */
  readonly calls: readonly {
    readonly cause: AgentText | undefined;
    readonly record: { readonly id: string; readonly arguments: string; readonly response: string };
  }[];
}

/** Our names of language models, and the wire's. */
export const thinkTypes = {
  'open-chat': 'open_ai',
  'dedicated-chat': 'anthropic',
  'search-vendor': 'google',
  'fast-inference': 'groq',
  'cloud-bedrock': 'aws_bedrock',
  nvidia: 'nvidia',
  deepgram: 'deepgram',
} as const;

/** Our names of voices, and the wire's. */
export const speakTypes = {
  'own-voices': 'deepgram',
  'voice-cloning': 'eleven_labs',
  'low-latency': 'cartesia',
  general: 'open_ai',
  cloud: 'aws_polly',
} as const;

/** Types without a default address. */
const needEndpoint = new Set(['groq', 'aws_bedrock', 'eleven_labs', 'aws_polly']);

/** Parts of the `Settings`, which updates replace. */
export interface AlphaCode {
  listenOf(this: void, listen: AlphaListen): object;
  thinkOf(this: void, think: NonNullable<AlphaAgentConfig['think']>): object;
  speakOf(this: void, speak: NonNullable<AlphaAgentConfig['speak']>): object;
}

/** Rules for the configuration. */
export const alphaRules: ConfigRules = {
  extraBody: {},
  greeting: { type: 'text' },
  tags: { type: 'texts' },
  experimental: { type: 'boolean' },
  mipOptOut: { type: 'boolean' },
  functionTimeoutMs: { min: 1 },
  ...{ 'listen.provider': {}, 'speak.provider': {}, 'think.provider': {}, 'think.prompt': {}, 'think.functions': {} },
  ...{ 'think.contextLength': {}, 'context.messages': {}, 'audio.input.encoding': {}, 'audio.output.encoding': {} },
  ...{ 'think.endpoint.url': {}, 'think.endpoint.headers': {}, 'speak.endpoint.url': {}, 'speak.endpoint.headers': {} },
  'audio.input.sampleRate': { min: 8000, max: 48_000, integer: true },
  'audio.output.sampleRate': { min: 8000, max: 48_000, integer: true },
};

/** What is wrong with the configured models and voices, as a sentence; `undefined` if nothing. */
export function alphaConflict(config: AlphaAgentConfig, advise: (sentence: string) => void): string | undefined {
  const problems = [
    ...listOf(config.think).map((think) => providerProblem('think', think, thinkTypes, advise)),
    ...listOf(config.speak).map((speak) => providerProblem('speak', speak, speakTypes, advise)),
  ];
  return problems.find((problem) => problem !== undefined);
}

/** The format as AudioMetadata. Default: linear16. */
export function monoOf(format: AlphaAudioFormat | undefined, defaultRate: number): AudioMetadata {
  const { encoding = 'linear16', sampleRate = defaultRate } = format ?? {};
  return { encoding, sampleRate, channels: 1 };
}

/** One or several, as several. */
export function listOf<T extends object>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

/** A type as the wire names it. */
export function translated(type: string, types: Readonly<Record<string, string>>): string {
  return ownEntry(types, type) ?? type;
}

function providerProblem(
  key: 'think' | 'speak',
  { provider, endpoint }: AlphaThink | AlphaSpeak,
  types: Readonly<Record<string, string>>,
  advise: (sentence: string) => void,
): string | undefined {
  const type = translated(provider.type, types);
  const isKnown = Object.values(types).includes(type);
  if (!isKnown) advise(unknownValue(`${key}.provider.type`, provider.type, Object.keys(types)));
  const isMissing = needEndpoint.has(type) || (key === 'speak' && type === 'open_ai');
  return isMissing && !endpoint ? `${key}.endpoint is missing: ${provider.type} has no default address` : undefined;
}
