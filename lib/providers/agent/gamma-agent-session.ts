import type { AudioFormat, AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { Credential } from '../../core/remote-provider.ts';
import type { AgentText } from '../../core/roles.ts';
import type { AgentConfig } from './agent-wire.ts';
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
  ...{ signedUrl: {}, greeting: {}, tools: {}, dynamicVariables: {}, customLlmExtraBody: {}, extraBody: {} },
  agentId: { type: 'text' },
  instructions: { type: 'text' },
  'context.messages': {},
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
