import type { ConfigRules } from '../../core/config-rule.ts';
import type { AgentText } from '../../core/roles.ts';
import type { AgentConfig } from './agent-wire.ts';
import type { AgentTool } from './function-calls.ts';
import { toolsProblem } from './tools-problem.ts';

/** Configuration of {@link OmicronAgent}. */
export interface OmicronAgentConfig extends AgentConfig {
  /** Default: `gemini-3.8-live`. */
  readonly model?: OmicronAgentModel;
  /** A voice's name. Default: the service's. */
  readonly voice?: OmicronAgentVoice;
  /** The language to speak, as a BCP 47 tag. Default: the user's. */
  readonly language?: string;
  /** Who the agent is, and how it talks. Default: none. */
  readonly instructions?: string;
  /** What the agent is asked to say at the start of a session. Default: it waits for the user. */
  readonly greeting?: string;
  /** Functions that the model may call: they run themselves, or `onFunctionCall` runs them. Default: none. */
  readonly tools?: readonly AgentTool[];
  /** Whether the model waits silently while a function runs, or may go on talking. Default: the model's. */
  readonly functionBehavior?: 'blocking' | 'non-blocking' | (string & {});
  /** When the model mentions a result that it did not wait for; `silent`: never. Default: the service's, `when-idle`. */
  readonly functionScheduling?: 'interrupt' | 'when-idle' | 'silent' | (string & {});
  /** What was said before this session. */
  readonly context?: { readonly messages: readonly { readonly role: AgentText['role']; readonly content: string }[] };
  /** How the service detects the user's turns; `false` leaves it to `startTurn()` and `endTurn()`. */
  readonly turnDetection?: OmicronAgentTurnDetection | false;
  /** How the user's words are transcribed; the model itself hears the audio. */
  readonly transcription?: OmicronAgentTranscription;
  /** 0 to 2. Default: the model's. */
  readonly temperature?: number;
  /** Longest reply, in tokens. Default: no limit. */
  readonly maxOutputTokens?: number;
  /** How long the model may think; `gemini-3.8-live` rejects any value. Default: the model's. */
  readonly thinkingLevel?: 'minimal' | 'low' | 'medium' | 'high' | (string & {});
  /** When the oldest part of the conversation is dropped; with `false`, a session ends when full, after 15 minutes. */
  readonly compression?: OmicronAgentCompression | false;
  /** Further fields of the wire's `setup`; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}

/** A model of {@link OmicronAgent}; others are passed through. */
export type OmicronAgentModel = 'gemini-3.8-live' | 'gemini-3.8-live-extended-thinking' | (string & {});

/** A voice of {@link OmicronAgent}; other names are passed through. */
export type OmicronAgentVoice =
  ('Aoede' | 'Charon' | 'Fenrir' | 'Kore' | 'Leda' | 'Orus' | 'Puck' | 'Zephyr') | (string & {});

/** How {@link OmicronAgent} detects the user's turns. */
export interface OmicronAgentTurnDetection {
  /** How readily sound counts as a voice. Default: the service's, `high`. */
  readonly startSensitivity?: 'low' | 'high' | (string & {});
  /** How readily silence counts as the end of a turn. Default: the service's, `high`. */
  readonly endSensitivity?: 'low' | 'high' | (string & {});
  /** How long a voice must last before a turn begins, in milliseconds. Default: the service's. */
  readonly prefixPaddingMs?: number;
  /** Silence that ends a turn, in milliseconds. Default: the service's. */
  readonly silenceDurationMs?: number;
  /** Whether a voice interrupts the agent. Default: true. */
  readonly interrupts?: boolean;
}

/** How {@link OmicronAgent} transcribes what the user says. */
export interface OmicronAgentTranscription {
  /** Languages to expect, as BCP 47 tags. Default: any. */
  readonly languages?: readonly string[];
  /** Words to expect. */
  readonly vocabulary?: readonly string[];
}

/** When {@link OmicronAgent} drops the oldest part of a conversation. */
export interface OmicronAgentCompression {
  /** Tokens above which it is dropped. Default: the service's, four fifths of the model's limit. */
  readonly triggerTokens?: number;
  /** Tokens to keep. Default: half as many. */
  readonly targetTokens?: number;
}

/** Rules for the configuration. */
export const omicronAgentRules: ConfigRules = {
  ...{ tools: {}, extraBody: {} },
  model: { type: 'text', default: 'gemini-3.8-live' },
  voice: { type: 'text' },
  language: { type: 'text' },
  instructions: { type: 'text' },
  greeting: { type: 'text' },
  'context.messages': {},
  functionBehavior: { known: ['blocking', 'non-blocking'] },
  functionScheduling: { known: ['interrupt', 'when-idle', 'silent'] },
  'turnDetection.startSensitivity': { known: ['low', 'high'] },
  'turnDetection.endSensitivity': { known: ['low', 'high'] },
  'turnDetection.prefixPaddingMs': { min: 0, integer: true },
  'turnDetection.silenceDurationMs': { min: 0, integer: true },
  'turnDetection.interrupts': { type: 'boolean' },
  'transcription.languages': { type: 'texts' },
  'transcription.vocabulary': { type: 'texts' },
  temperature: { min: 0, max: 2 },
  maxOutputTokens: { min: 1, integer: true },
  thinkingLevel: { known: ['minimal', 'low', 'medium', 'high'] },
  'compression.triggerTokens': { min: 1, integer: true },
  'compression.targetTokens': { min: 1, integer: true },
  functionTimeoutMs: { min: 1 },
};

/** What is wrong with the configuration, as a sentence; `undefined` if nothing. */
export function omicronAgentConflict(config: OmicronAgentConfig): string | undefined {
  if (config.thinkingLevel !== undefined && modelOf(config) === 'gemini-3.8-live') {
    return 'thinkingLevel is refused by gemini-3.8-live: leave it out, or use gemini-3.8-live-extended-thinking';
  }
  return toolsProblem(config.tools ?? []);
}

/** The model in use. */
export function modelOf({ model }: OmicronAgentConfig): string {
  return model ?? 'gemini-3.8-live';
}

const service = (version: string): string => `/ws/google.ai.generativelanguage.${version}.GenerativeService`;
/** The path below the base address. */
export const omicronPath: string = `${service('v1beta')}.BidiGenerateContent`;
/** Where short-lived tokens are taken. */
export const omicronTokenPath: string = `${service('v1alpha')}.BidiGenerateContentConstrained`;
