import type { ConfigRules } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import { primaryLanguage, snakeCase } from '../../core/wire-names.ts';
import type { BetaSTTConfig } from './beta-stt.ts';
import type { NamedEncodings } from './streaming/named-encodings.ts';
import type { Failures, StreamingSTTConfig } from './streaming-stt.ts';

/** The service's names of the encodings that it takes. */
export const betaEncodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_mulaw: 'mulaw' };

/** What {@link BetaSTT} takes beside SPEC.md's keys. What is for the Universal-3 family is refused by the other models. */
export interface BetaSTTOptions extends StreamingSTTConfig {
  /**
   * Default: `universal-3-5-pro`. Others: `u3-rt-pro`, `universal-3-6`, `universal-3-6-pro`,
   * `universal-streaming-english`, `universal-streaming-multilingual`, `whisper-rt`.
   */
  readonly model?: string;
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

/** What the keys may hold (the vendor's limits). */
export const betaRules: ConfigRules = {
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

/** A key on the wire. */
interface Parameter {
  /** Default: the key in snake case. */
  readonly name?: string;
  /** Whether a running session takes another value. */
  readonly live?: boolean;
  /** For the Universal-3 family alone. */
  readonly u3?: boolean;
}

const parameters: Readonly<Partial<Record<keyof BetaSTTConfig, Parameter>>> = {
  wordBoost: { name: 'keyterms_prompt', live: true },
  languages: { name: 'language_codes', live: true, u3: true },
  languageDetection: {},
  formatTurns: { live: true },
  endOfTurnConfidenceThreshold: { live: true },
  minTurnSilence: { live: true },
  maxTurnSilence: { live: true },
  vadThreshold: { live: true },
  inactivityTimeout: {},
  speakerLabels: {},
  maxSpeakers: {},
  filterProfanity: { live: true },
  prompt: { live: true, u3: true },
  agentContext: { live: true, u3: true },
  mode: { u3: true },
  continuousPartials: { u3: true },
  interruptionDelay: { live: true, u3: true },
};

const lists: ReadonlySet<string> = new Set(['keyterms_prompt', 'language_codes']);

/** Longest word to listen for, in characters. */
const maxTermLength = 50;

/** Languages of the Universal-Streaming models. */
const languagesOf: Readonly<Record<string, readonly string[]>> = {
  'universal-streaming-english': ['en'],
  'universal-streaming-multilingual': ['en', 'es', 'de', 'fr', 'pt', 'it'],
};

/** The model that is asked for. */
export function betaModel({ model = 'universal-3-5-pro' }: BetaSTTConfig): string {
  return model;
}

/** Whether that is one of the Universal-3 family. */
export function isUniversal3(config: BetaSTTConfig): boolean {
  return /^(u3|universal-3)/.test(betaModel(config));
}

/** What does not go together, as a sentence for people. */
export function betaConflict(config: BetaSTTConfig): string | undefined {
  const { language, languages = [], maxSpeakers, speakerLabels } = config;
  const model = betaModel(config);
  const known = languagesOf[model];
  if (language !== undefined && known && !known.includes(primaryLanguage(language))) {
    return `${model} knows ${known.join(', ')}, not ${language}: take another model`;
  }
  if (languages.length > 1 && languages.includes('multi')) return 'languages has multi, which must stand alone';
  if (maxSpeakers !== undefined && !speakerLabels) return 'maxSpeakers needs speakerLabels';
  const misplaced = Object.entries(parameters).find(
    ([key, { u3 }]) => u3 && !isUniversal3(config) && Reflect.get(config, key) !== undefined,
  );
  return misplaced && `${misplaced[0]} is for the Universal-3 family, not ${model}`;
}

/** The keys that are set, as the service names them. */
function settings(config: BetaSTTConfig): Map<string, unknown> {
  const { language, wordBoost } = config;
  const { languages = language === undefined ? undefined : [primaryLanguage(language)] } = config;
  const values = {
    ...config,
    wordBoost: wordBoost?.filter(({ length }) => length <= maxTermLength),
    languages: isUniversal3(config) ? languages : undefined,
  };
  const named = Object.entries(parameters).map(
    ([key, { name = snakeCase(key) }]) => [name, Reflect.get(values, key) as unknown] as const,
  );
  return new Map(named.filter(([, value]) => value !== undefined));
}

/** What the address says of them: a list is one value. */
export function betaQuery(config: BetaSTTConfig): Query {
  const said = [...settings(config)].map(([name, value]) => [
    name,
    Array.isArray(value) ? JSON.stringify(value) : String(value),
  ]);
  return { speech_model: betaModel(config), ...(Object.fromEntries(said) as Query), ...config.parameters };
}

/** What tells a running session of changed keys; `undefined` when no message can. */
export function betaUpdate(config: BetaSTTConfig, changed: readonly string[]): WireObject | undefined {
  const update: WireObject = {};
  const now = settings(config);
  for (const key of changed) {
    // The other models are told no language.
    if (key === 'language' && !isUniversal3(config)) continue;
    const known = key === 'language' ? 'languages' : key;
    const { name = snakeCase(known), live = false } = parameters[known as keyof BetaSTTConfig] ?? {};
    // A list can be emptied; no message takes any other value back.
    const value = now.get(name) ?? (lists.has(name) ? [] : undefined);
    if (!live || value === undefined) return undefined;
    update[name] = value;
  }
  return update;
}

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
