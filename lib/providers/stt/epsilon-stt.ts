import type { AudioEncoding } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';
import type { LateSTTWire } from './stt-wire.ts';

/** The service's names for the encodings it supports. */
const encodings: Readonly<Record<EpsilonEncoding, AudioEncoding>> = {
  'wav/pcm': 'linear16',
  'wav/ulaw': 'mulaw',
  'wav/alaw': 'alaw',
};

/** The sample rates it supports, in Hz. */
const sampleRates = [16_000, 8_000, 32_000, 44_100, 48_000];

/** Audio formats of {@link EpsilonSTT}. */
export type EpsilonEncoding = 'wav/pcm' | 'wav/ulaw' | 'wav/alaw';

/** A word to listen for, with its weight. */
export interface EpsilonVocabulary {
  /** Its spelling. */
  readonly value: string;
  /** Its weight, 0 to 1. Default: the service's. */
  readonly intensity?: number;
  /** Its pronunciations, written as they sound. */
  readonly pronunciations?: readonly string[];
  /** Its language, ISO 639-1. */
  readonly language?: string;
}

/** Additional options of {@link EpsilonSTT}. */
export interface EpsilonSTTOptions {
  /** Additional fields of the request for a session, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** The number of channels; the service bills each. Default: 1. */
  readonly channels?: number;
  /** Seconds after which an utterance ends even in mid-speech, 5 to 60. Default: 60; the service's own is 5. */
  readonly maximumDurationWithoutEndpointing?: number;
  /** Words to listen for, such as names. Default: none. */
  readonly customVocabulary?: readonly (string | EpsilonVocabulary)[];
  /** Where the service runs. Default: the service's. */
  readonly region?: 'eu-west' | 'us-west' | (string & {});
}

/** Configuration of {@link EpsilonSTT}. */
export interface EpsilonSTTConfig extends StreamingSTTConfig, EpsilonSTTOptions {
  /** The default is the only model for live audio. Default: `solaria-1`. */
  readonly model?: string;
  /** Audio format; `wav/pcm` is linear16. Default: `wav/pcm`. */
  readonly encoding?: EpsilonEncoding;
  /** Hz; audio at other rates is converted. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Languages to expect, ISO 639-1; if none, the service detects it. Default: `language` if set. */
  readonly languages?: readonly string[];
  /** Seconds of silence that end an utterance, 0.01 to 10. Default: 0.3; the service's own is 0.05, shorter than a breath. */
  readonly endpointing?: number;
  /** Whether the speaker may switch languages; set `languages` too. Default: false. */
  readonly codeSwitching?: boolean;
}

/** Silence that ends an utterance of a conversation, in seconds. */
const endingSeconds = 0.3;

/** Rules for the keys, and their names in the session request. */
export const epsilonSTTRules: ConfigRules = {
  ...{ customVocabulary: {}, extraBody: {} },
  model: { type: 'text', wire: 'model', default: 'solaria-1' },
  encoding: { oneOf: Object.keys(encodings), wire: 'encoding', default: 'wav/pcm' },
  sampleRate: { oneOf: sampleRates },
  channels: { min: 1, max: 8, integer: true },
  languages: { type: 'texts' },
  codeSwitching: { type: 'boolean' },
  endpointing: { min: 0.01, max: 10, wire: 'endpointing', default: endingSeconds },
  maximumDurationWithoutEndpointing: { min: 5, max: 60, wire: true, default: 60 },
  region: { known: ['eu-west', 'us-west'] },
};

/** What the dialect needs too. */
export interface EpsilonFacts {
  readonly rules: ConfigRules;
  readonly endingSeconds: number;
}

const facts: EpsilonFacts = { rules: epsilonSTTRules, endingSeconds };

/** What is known of Gladia before anybody speaks to it. */
export const epsilonWire: LateSTTWire<EpsilonSTTConfig> = {
  name: 'EpsilonSTT',
  baseUrl: () => 'https://api.gladia.io',
  accepts: ({ encoding = 'wav/pcm', sampleRate, channels = 1 }) => [
    { encoding: encodings[encoding], sampleRates: sampleRate ? [sampleRate] : sampleRates, channels: [channels] },
  ],
  rules: epsilonSTTRules,
  reportsSpeechEnd: true,
  pauseMs: ({ endpointing = endingSeconds }) => endpointing * 1_000,
  load: async (host) => {
    const { epsilonDialect } = await new OnDemand(host.name, () => import('./epsilon-dialect.ts')).load();
    return epsilonDialect(host, facts);
  },
};

/**
 * Gladia live transcription, API v2, at `https://api.gladia.io/v2/live`: a POST opens a session, whose WebSocket
 * resumes where it was after a loss. Only final results have words and confidence. See
 * https://docs.gladia.io/chapters/live-stt/quickstart.
 */
export class EpsilonSTT extends StreamingSTT<EpsilonSTTConfig> {
  constructor(config: EpsilonSTTConfig, logger?: Logger) {
    super(epsilonWire, config, logger);
  }
}
