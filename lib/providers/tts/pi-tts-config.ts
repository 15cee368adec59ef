import type { TTSConfig } from './base-tts.ts';

/** A model of {@link PiTTS}: `sonic-3`, `sonic-3.5`, `sonic-latest` or a dated one; others pass through. */
export type PiTTSModel = 'sonic-3' | 'sonic-3.5' | 'sonic-latest' | 'sonic-2' | (string & {});

/** An encoding of {@link PiTTS}: raw samples, mono. */
export type PiTTSEncoding = 'pcm_s16le' | 'pcm_f32le' | 'pcm_mulaw' | 'pcm_alaw';

/** Configuration of {@link PiTTS}. All of it counts from the next utterance on. */
export interface PiTTSConfig extends TTSConfig {
  /** The id of a voice, also of a cloned one. Required. */
  readonly voiceId: string;
  /** Default: `sonic-3`. The service has retired `sonic`, `sonic-english` and `sonic-multilingual`. */
  readonly modelId?: PiTTSModel;
  /** ISO 639-1; of a BCP 47 tag, its language. Default: `en`. */
  readonly language?: string;
  /** Default: `pcm_s16le`. */
  readonly outputEncoding?: PiTTSEncoding;
  /** 8000, 16000, 22050, 24000, 44100 or 48000 Hz. Default: 24000; 8000 for `pcm_mulaw` and `pcm_alaw`. */
  readonly outputSampleRate?: number;
  /** A word, or 0.6 to 1.5; `slow` is 0.8 and `fast` 1.2. Models before `sonic-3` know the words only. Default: the voice's. */
  readonly speed?: 'slow' | 'normal' | 'fast' | number;
  /** 0.5 to 2; `sonic-3` and newer. Default: the service's, 1. */
  readonly volume?: number;
  /**
   * Such as `['curious']`, or the older tags such as `['positivity:high']`. The service takes one: the first counts, its
   * level is lost. `sonic-3` and newer.
   */
  readonly emotion?: readonly string[];
  /** Milliseconds that the service may wait for more text; 0 to 5,000. Default: 0, since text comes in sentences. */
  readonly maxBufferDelayMs?: number;
  /** The id of a pronunciation dictionary; `sonic-3` and newer. */
  readonly pronunciationDictId?: string;
  /** Most utterances at once. Default: 2, what the smallest plan allows. */
  readonly concurrency?: number;
}
