import type { AudioEncoding } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import type { StreamingSTTConfig } from './streaming-stt.ts';

/** How the service calls encodings. */
export type EpsilonEncoding = 'wav/pcm' | 'wav/ulaw' | 'wav/alaw';

/** What its encodings are. */
export const epsilonEncodings: Readonly<Record<EpsilonEncoding, AudioEncoding>> = {
  'wav/pcm': 'linear16',
  'wav/ulaw': 'mulaw',
  'wav/alaw': 'alaw',
};

/** In Hz. */
export const epsilonSampleRates: readonly number[] = [16_000, 8_000, 32_000, 44_100, 48_000];

/** A word to listen for, with more or less weight. */
export interface EpsilonVocabulary {
  readonly value: string;
  /** 0 to 1. */
  readonly intensity?: number;
  readonly pronunciations?: readonly string[];
  readonly language?: string;
}

/** Configuration of {@link EpsilonSTT}. */
export interface EpsilonSTTConfig extends StreamingSTTConfig {
  /** Default: `solaria-1`. */
  readonly model?: string;
  /** Default: `wav/pcm`, which is linear16. */
  readonly encoding?: EpsilonEncoding;
  /** 8000, 16000, 32000, 44100 or 48000 Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** 1 to 8; the service bills each. Default: 1. */
  readonly channels?: number;
  /** Languages to expect, ISO 639-1; none lets the service find out. Default: `language`, where it is set. */
  readonly languages?: readonly string[];
  /** Whether the speaker may change the language. Default: false. */
  readonly codeSwitching?: boolean;
  /** Seconds of silence that end an utterance, 0.01 to 10. Default: the service's, 0.05; for conversations 0.3 to 0.8. */
  readonly endpointing?: number;
  /** Seconds after which an utterance ends in the middle of speech, 5 to 60. Default: the service's, 5. */
  readonly maximumDurationWithoutEndpointing?: number;
  /** Words to listen for, such as names. Default: none. */
  readonly customVocabulary?: readonly (string | EpsilonVocabulary)[];
  /** Where the service runs. */
  readonly region?: 'eu-west' | 'us-west';
}

/** What the options may be. */
export const epsilonRules: Readonly<Record<string, ConfigRule>> = {
  model: { type: 'text' },
  encoding: { oneOf: Object.keys(epsilonEncodings) },
  sampleRate: { oneOf: epsilonSampleRates },
  channels: { min: 1, max: 8, integer: true },
  languages: { type: 'texts' },
  codeSwitching: { type: 'boolean' },
  endpointing: { min: 0.01, max: 10 },
  maximumDurationWithoutEndpointing: { min: 5, max: 60 },
  region: { oneOf: ['eu-west', 'us-west'] },
};
