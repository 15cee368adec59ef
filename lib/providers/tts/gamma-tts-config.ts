import type { TTSConfig } from './voice-service.ts';

/** A model of {@link GammaTTS}, with or without `eleven_`; later ones pass through. */
export type GammaTTSModel = 'turbo_v2_5' | 'turbo_v2' | 'multilingual_v2' | 'flash_v2_5' | 'flash_v2' | (string & {});

/** A format of {@link GammaTTS}, mono: encoding, sample rate in Hz, and kbit/s where it is compressed. */
export type GammaTTSFormat =
  | `pcm_${8000 | 16000 | 22050 | 24000 | 32000 | 44100 | 48000}`
  | 'ulaw_8000'
  | 'alaw_8000'
  | 'mp3_22050_32'
  | `mp3_44100_${32 | 64 | 96 | 128 | 192}`
  | `opus_48000_${32 | 64 | 96 | 128 | 192}`;

/** A pronunciation dictionary of the account. */
export interface GammaTTSDictionary {
  /** Its id. */
  readonly id: string;
  /** The id of its version. */
  readonly versionId: string;
}

/** Configuration of {@link GammaTTS}. Voice, model and format are fixed for a connection: a change opens a new one. */
export interface GammaTTSConfig extends TTSConfig {
  /** The id of a voice, also of a cloned one. Required. */
  readonly voiceId: string;
  /** Default: `eleven_turbo_v2_5`. The vendor recommends `flash_v2_5`, which answers sooner. */
  readonly modelId?: GammaTTSModel;
  /** 0 to 1: higher is more even, lower more lively. Default: the voice's; 0.5 beside `similarityBoost`. */
  readonly stability?: number;
  /** 0 to 1: how close it keeps to the original voice. Default: the voice's; 0.75 beside `stability`. */
  readonly similarityBoost?: number;
  /** 0 to 1: exaggerates the style of the voice. Default: the voice's. */
  readonly style?: number;
  /** Keeps closer to the original speaker, for some latency. Default: the voice's. */
  readonly useSpeakerBoost?: boolean;
  /** 0.7 to 1.2. Default: the voice's. */
  readonly speed?: number;
  /** Default: `pcm_16000`. A pipeline needs `pcm_…`, `ulaw_8000` or `alaw_8000`, which also stream. */
  readonly outputFormat?: GammaTTSFormat;
  /** ISO 639-1. `turbo_v2_5` and `flash_v2_5` only: others refuse it. Default: as the text is. */
  readonly language?: string;
  /** Speaks each piece of text at once. Default: true, unless `chunkLengthSchedule` is set. */
  readonly autoMode?: boolean;
  /** Characters to wait for before the first, second, … generation; each 50 to 500. */
  readonly chunkLengthSchedule?: readonly number[];
  /** Seconds without a message after which the service ends a context; 1 to 180. Default: 180. */
  readonly inactivityTimeout?: number;
  /** Whether numbers and dates are written out. Default: the service's, `auto`. */
  readonly applyTextNormalization?: 'auto' | 'on' | 'off';
  /** Whether SSML in the text is understood. Default: the service's, false. */
  readonly enableSsmlParsing?: boolean;
  /** False keeps nothing at the vendor; enterprise accounts only. Default: the service's, true. */
  readonly enableLogging?: boolean;
  /** 0 to 4,294,967,295: the same seed speaks much the same. */
  readonly seed?: number;
  /** Pronunciation dictionaries, in their order. */
  readonly pronunciationDictionaries?: readonly GammaTTSDictionary[];
}
