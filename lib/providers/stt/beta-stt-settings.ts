import type { ConfigRule } from '../../core/config-rule.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { Failures, StreamingSTTConfig } from './streaming-stt.ts';

/** Configuration of {@link BetaSTT}. What is for the Universal-3 family alone is refused by the other models. */
export interface BetaSTTConfig extends StreamingSTTConfig {
  /**
   * Default: `universal-3-5-pro`. Others: `u3-rt-pro`, `universal-3-6`, `universal-3-6-pro`,
   * `universal-streaming-english`, `universal-streaming-multilingual`, `whisper-rt`.
   */
  readonly model?: string;
  /** Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Words to listen for, at most 100; those of more than 50 characters are left out. */
  readonly wordBoost?: readonly string[];
  /** Languages to expect, ISO 639-1, at most 10, or `multi` alone; Universal-3 family. Default: `language`, where set. */
  readonly languages?: readonly string[];
  /** Whether results tell the language. Default: false. */
  readonly languageDetection?: boolean;
  /** Whether the English model writes with punctuation and capitals, which the others always do; costs time. Default: false. */
  readonly formatTurns?: boolean;
  /** How sure the service must be of an end of turn, 0 to 1; Universal-Streaming models. Default: the service's, 0.4. */
  readonly endOfTurnConfidenceThreshold?: number;
  /** Milliseconds of silence that end a turn which sounds complete. Default: the service's, 400; Universal-3: 100. */
  readonly minTurnSilence?: number;
  /** Milliseconds of silence that end any turn. Default: the service's, 1,280; Universal-3: 1,000. */
  readonly maxTurnSilence?: number;
  /** How sure the service must be of a voice, 0 to 1. Default: the service's, 0.4; Universal-3: 0.3. */
  readonly vadThreshold?: number;
  /** Seconds without audio after which the service ends the session, 5 to 3,600; a keep-alive prevents it. Default: never. */
  readonly inactivityTimeout?: number;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly speakerLabels?: boolean;
  /** Most speakers to tell apart. */
  readonly maxSpeakers?: number;
  /** Default: false. */
  readonly filterProfanity?: boolean;
  /** What the conversation is about; Universal-3 family. */
  readonly prompt?: string;
  /** What the agent has said last; Universal-3 family. */
  readonly agentContext?: string;
  /** What counts most; Universal-3 family. Default: the service's. */
  readonly mode?: 'min_latency' | 'balanced' | 'max_accuracy';
  /** Whether partial results come steadily, not just at pauses; Universal-3 family. Default: false. */
  readonly continuousPartials?: boolean;
  /** Milliseconds of voice before the service tells it, 0 to 1,000; Universal-3 family. */
  readonly interruptionDelay?: number;
  /** Further parameters of the service, as they stand in its docs. */
  readonly parameters?: Query;
}

/** A key on the wire. */
interface BetaParameter {
  readonly name: string;
  /** Whether a running session takes another value. */
  readonly live?: boolean;
  /** For the Universal-3 family alone. */
  readonly u3?: boolean;
}

/** The keys whose value goes over the wire as it is. */
export const betaParameters: Readonly<Partial<Record<keyof BetaSTTConfig, BetaParameter>>> = {
  wordBoost: { name: 'keyterms_prompt', live: true },
  languages: { name: 'language_codes', live: true, u3: true },
  languageDetection: { name: 'language_detection' },
  formatTurns: { name: 'format_turns', live: true },
  endOfTurnConfidenceThreshold: { name: 'end_of_turn_confidence_threshold', live: true },
  minTurnSilence: { name: 'min_turn_silence', live: true },
  maxTurnSilence: { name: 'max_turn_silence', live: true },
  vadThreshold: { name: 'vad_threshold', live: true },
  inactivityTimeout: { name: 'inactivity_timeout' },
  speakerLabels: { name: 'speaker_labels' },
  maxSpeakers: { name: 'max_speakers' },
  filterProfanity: { name: 'filter_profanity', live: true },
  prompt: { name: 'prompt', live: true, u3: true },
  agentContext: { name: 'agent_context', live: true, u3: true },
  mode: { name: 'mode', u3: true },
  continuousPartials: { name: 'continuous_partials', u3: true },
  interruptionDelay: { name: 'interruption_delay', live: true, u3: true },
};

/** What the keys may hold (the vendor's limits). */
export const betaRules: Readonly<Record<string, ConfigRule>> = {
  model: { type: 'text' },
  language: { type: 'text' },
  sampleRate: { min: 1, integer: true },
  wordBoost: { type: 'texts', maxLength: 100 },
  languages: { type: 'texts', maxLength: 10 },
  languageDetection: { type: 'boolean' },
  formatTurns: { type: 'boolean' },
  endOfTurnConfidenceThreshold: { min: 0, max: 1 },
  minTurnSilence: { min: 0, integer: true },
  maxTurnSilence: { min: 0, integer: true },
  vadThreshold: { min: 0, max: 1 },
  inactivityTimeout: { min: 5, max: 3_600, integer: true },
  speakerLabels: { type: 'boolean' },
  maxSpeakers: { min: 1, integer: true },
  filterProfanity: { type: 'boolean' },
  prompt: { type: 'text' },
  agentContext: { type: 'text' },
  mode: { oneOf: ['min_latency', 'balanced', 'max_accuracy'] },
  continuousPartials: { type: 'boolean' },
  interruptionDelay: { min: 0, max: 1_000, integer: true },
};

/** Languages of the Universal-Streaming models. */
export const betaLanguages: Readonly<Record<string, readonly string[]>> = {
  'universal-streaming-english': ['en'],
  'universal-streaming-multilingual': ['en', 'es', 'de', 'fr', 'pt', 'it'],
};

/** What error and close codes mean. */
export const betaFailures: Failures = {
  1008: { code: 'unauthorized', hint: 'check the credential, its balance and its rights' },
  1013: { code: 'overloaded', recoverable: true, hint: 'it is connected to anew' },
  3005: { code: 'server', recoverable: true, hint: 'it is connected to anew' },
  3006: { code: 'configuration', hint: 'it takes no such message or parameter' },
  3007: { code: 'protocol', hint: 'audio came faster than it sounds, or in pieces of the wrong length' },
  3008: { code: 'server', recoverable: true, hint: 'the session was too long, another begins' },
  3009: { code: 'rate_limited', recoverable: true, hint: 'too many sessions at once' },
  4000: { code: 'configuration', hint: 'check sampleRate' },
  4001: { code: 'unauthorized', hint: 'check the credential' },
  4002: { code: 'quota', hint: 'the account has no balance' },
  4003: { code: 'forbidden', hint: 'the account has not paid for this' },
  4008: { code: 'server', recoverable: true, hint: 'the session has ended, another begins' },
  4010: { code: 'server', recoverable: true, hint: 'the session has ended, another begins' },
  4029: { code: 'rate_limited', recoverable: true, hint: 'too much at once' },
  4031: { code: 'server', recoverable: true, hint: 'the session was idle, another begins' },
  4032: { code: 'protocol', hint: 'audio came in pieces that are too short' },
  4033: { code: 'protocol', hint: 'audio came in pieces that are too long' },
  4100: { code: 'protocol', hint: 'it does not understand a message' },
  4101: { code: 'protocol', hint: 'it does not take a message' },
  4102: { code: 'rate_limited', recoverable: true, hint: 'too many sessions at once' },
  4103: { code: 'protocol', hint: 'the session goes on elsewhere' },
};
