import type { ConfigRule } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { Query } from '../../core/remote-provider.ts';
import { primaryLanguage } from '../../core/wire-names.ts';
import { type NamedEncodings, formatsOf } from './named-encodings.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

/** Configuration of {@link BetaSTT}. `language` is BCP 47. */
export interface BetaSTTConfig extends BetaSTTOptions {
  /** Sample rate in Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Words to listen for, at most 100; those over 50 characters are skipped. */
  readonly wordBoost?: readonly string[];
}

/** The service's names for the encodings it supports. */
const betaEncodings: NamedEncodings = { pcm_s16le: 'linear16', pcm_mulaw: 'mulaw' };

/** Additional options of {@link BetaSTT}. Options for the Universal-3 family are rejected with other models. */
export interface BetaSTTOptions extends StreamingSTTConfig {
  /**
   * Default: `universal-3-5-pro`. Others: `u3-rt-pro`, `universal-3-6`, `universal-3-6-pro`,
   * `universal-streaming-english`, `universal-streaming-multilingual`, `whisper-rt`.
   */
  readonly model?: string;
  /** Languages to expect, ISO 639-1, at most 10, or `multi` alone; Universal-3 family. Default: `language`, where set. */
  readonly languages?: readonly string[];
  /** Whether results include the language. Default: false. */
  readonly languageDetection?: boolean;
  /** Whether the English model adds punctuation and capitals, at some latency; the others always do. Default: false. */
  readonly formatTurns?: boolean;
  /** Confidence required to end a turn, 0 to 1; Universal-Streaming models. Default: the service's, 0.4. */
  readonly endOfTurnConfidenceThreshold?: number;
  /** Silence that ends a turn which sounds complete, in milliseconds. Default: the service's, 400; Universal-3: 100. */
  readonly minTurnSilence?: number;
  /** Silence that ends any turn, in milliseconds. Default: the service's, 1,280; Universal-3: 1,000. */
  readonly maxTurnSilence?: number;
  /** Confidence required to detect speech, 0 to 1. Default: the service's, 0.4; Universal-3: 0.3. */
  readonly vadThreshold?: number;
  /** Seconds without audio after which the service ends the session, 5 to 3,600; a keep-alive prevents it. Default: never. */
  readonly inactivityTimeout?: number;
  /** Tells speakers apart; `metadata.words` name them. Default: false. */
  readonly speakerLabels?: boolean;
  /** Maximum number of speakers to tell apart. */
  readonly maxSpeakers?: number;
  /** Whether profanities are masked. Default: false. */
  readonly filterProfanity?: boolean;
  /** What the conversation is about; Universal-3 family. */
  readonly prompt?: string;
  /** What the agent said last: of more than 1,750 characters, the end is sent; Universal-3 family. */
  readonly agentContext?: string;
  /** What to optimize for; Universal-3 family. Default: the service's. */
  readonly mode?: 'min_latency' | 'balanced' | 'max_accuracy' | (string & {});
  /** Whether partial results arrive steadily, not just at pauses; Universal-3 family. Default: false. */
  readonly continuousPartials?: boolean;
  /** Milliseconds of speech before the service reports it, 0 to 1,000; Universal-3 family. */
  readonly interruptionDelay?: number;
  /** Additional parameters, as in the service's docs. */
  readonly parameters?: Query;
}

/** A key's rule (the vendor's limits), and how it is sent. */
export interface BetaRule extends ConfigRule {
  /** Whether it can change during a session. */
  readonly live?: boolean;
  /** Whether it is only for the Universal-3 family. */
  readonly u3?: boolean;
}

/** The keys, with their names on the wire. */
export const betaRules: Readonly<Record<string, BetaRule>> = {
  parameters: {},
  model: { type: 'text', wire: 'speech_model', default: 'universal-3-5-pro' },
  language: { type: 'text' },
  sampleRate: { min: 1, integer: true },
  wordBoost: { type: 'texts', maxLength: 100, wire: 'keyterms_prompt', live: true },
  languages: { type: 'texts', maxLength: 10, wire: 'language_codes', live: true, u3: true },
  languageDetection: { type: 'boolean', wire: 'language_detection' },
  formatTurns: { type: 'boolean', wire: 'format_turns', live: true },
  endOfTurnConfidenceThreshold: { min: 0, max: 1, wire: 'end_of_turn_confidence_threshold', live: true },
  minTurnSilence: { min: 0, integer: true, wire: 'min_turn_silence', live: true },
  maxTurnSilence: { min: 0, integer: true, wire: 'max_turn_silence', live: true },
  vadThreshold: { min: 0, max: 1, wire: 'vad_threshold', live: true },
  inactivityTimeout: { min: 5, max: 3_600, integer: true, wire: 'inactivity_timeout' },
  speakerLabels: { type: 'boolean', wire: 'speaker_labels' },
  maxSpeakers: { min: 1, integer: true, wire: 'max_speakers' },
  filterProfanity: { type: 'boolean', wire: 'filter_profanity', live: true },
  prompt: { type: 'text', wire: 'prompt', live: true, u3: true },
  agentContext: { type: 'text', wire: 'agent_context', live: true, u3: true },
  mode: { known: ['min_latency', 'balanced', 'max_accuracy'], wire: 'mode', u3: true },
  continuousPartials: { type: 'boolean', wire: 'continuous_partials', u3: true },
  interruptionDelay: { min: 0, max: 1_000, integer: true, wire: 'interruption_delay', live: true, u3: true },
};

/** Languages of the Universal-Streaming models. */
const languagesOf: Readonly<Record<string, readonly string[]>> = {
  'universal-streaming-english': ['en'],
  'universal-streaming-multilingual': ['en', 'es', 'de', 'fr', 'pt', 'it'],
};

/** The requested model. */
function betaModel({ model = 'universal-3-5-pro' }: BetaSTTConfig): string {
  return model;
}

/** Whether it belongs to the Universal-3 family. A model unknown here counts as one: the older families get no new models. */
function isUniversal3(config: BetaSTTConfig): boolean {
  return !/^(universal-streaming|whisper)-/.test(betaModel(config));
}

/** A conflict between keys, as a sentence; `undefined` if there is none. */
function betaConflict(config: BetaSTTConfig): string | undefined {
  const { language, languages = [], maxSpeakers, speakerLabels } = config;
  const model = betaModel(config);
  const known = languagesOf[model];
  if (language !== undefined && known && !known.includes(primaryLanguage(language))) {
    return `${model} supports ${known.join(', ')}, not ${language}: use another model`;
  }
  if (languages.length > 1 && languages.includes('multi')) return 'multi must be the only entry in languages';
  if (maxSpeakers !== undefined && !speakerLabels) return 'maxSpeakers needs speakerLabels';
  const misplaced = Object.entries(betaRules).find(
    ([key, { u3 }]) => u3 && !isUniversal3(config) && Reflect.get(config, key) !== undefined,
  );
  return misplaced && `${misplaced[0]} is for the Universal-3 family, not ${model}`;
}

/** What the dialect needs too. */
export interface BetaFacts {
  readonly rules: Readonly<Record<string, BetaRule>>;
  readonly encodings: NamedEncodings;
  /** The requested model. */
  readonly modelOf: (config: BetaSTTConfig) => string;
  /** Whether it belongs to the Universal-3 family. */
  readonly isUniversal3: (config: BetaSTTConfig) => boolean;
}

const facts: BetaFacts = { rules: betaRules, encodings: betaEncodings, modelOf: betaModel, isUniversal3 };

/** What is known of AssemblyAI before anybody speaks to it. */
export const betaWire: LateSTTWire<BetaSTTConfig> = {
  name: 'BetaSTT',
  baseUrl: () => 'https://streaming.assemblyai.com',
  // Linear16 and mulaw, at the configured or at any sample rate.
  accepts: ({ sampleRate }) => formatsOf(betaEncodings, { ...(sampleRate !== undefined && { sampleRate }) }),
  rules: betaRules,
  ownKeys: ['interimResults'],
  conflict: betaConflict,
  load: async ({ name }) => {
    const { betaDialect } = await new OnDemand(name, () => import('./beta-stt-dialect.ts')).load();
    return betaDialect(facts);
  },
};

/**
 * AssemblyAI streaming transcription, API v3, at `wss://streaming.assemblyai.com/v3/ws`: turns, with word times and
 * confidence. See https://www.assemblyai.com/docs/speech-to-text/universal-streaming.
 */
export class BetaSTT extends StreamingSTT<BetaSTTConfig> {
  constructor(config: BetaSTTConfig, logger?: Logger) {
    super(betaWire, config, logger);
  }
}
