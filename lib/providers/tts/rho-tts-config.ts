import type { RequestTTSConfig } from './requests/request-wire.ts';
import type { RhoTTSFormat } from './rho-tts-formats.ts';

/** A model of {@link RhoTTS}; later ones pass through. */
export type RhoTTSModel = 'simba-3.2' | 'simba-3.0' | 'simba-english' | 'simba-multilingual' | (string & {});

/** A way to speak of {@link RhoTTS}; later ones pass through. */
export type RhoTTSEmotion =
  | ('angry' | 'cheerful' | 'sad' | 'terrified' | 'relaxed' | 'fearful' | 'surprised')
  | ('calm' | 'assertive' | 'energetic' | 'warm' | 'direct' | 'bright')
  | (string & {});

/** Configuration of {@link RhoTTS}. What is absent is left to the service. */
export interface RhoTTSConfig extends RequestTTSConfig {
  /** The id of a voice, also of a cloned one; `voices()` lists them. Required; it must belong to the model. */
  readonly voiceId: string;
  /** Default: `simba-3.2`, which speaks English, for voices whose id ends in `_32`; else `simba-3.0`. */
  readonly model?: RhoTTSModel;
  /** Default: `mp3`; a pipeline on a server needs `pcm`, `ulaw` or `wav`. All but `wav` stream. */
  readonly audioFormat?: RhoTTSFormat;
  /** pcm: 8000 to 48000 Hz; wav: 24000 or 48000; mp3: 24000 or 22050; ulaw: 8000. Default: 24000, ulaw 8000. */
  readonly sampleRate?: number;
  /** Of mp3, in kbit/s: 32, 64, 96, 128 or 160. Default: 128. */
  readonly bitrate?: 32 | 64 | 96 | 128 | 160;
  /** BCP 47, such as `en-US`. Default: automatic. */
  readonly language?: string;
  /** Speaks plain text so; SSML says it itself. */
  readonly emotion?: RhoTTSEmotion;
  /** Percent, -83 to 100; for plain text. */
  readonly pitch?: number;
  /** A multiplier, 0.5 to 100; for plain text. Default: 1. */
  readonly speed?: number;
  /** Gain in dB; for plain text. */
  readonly volume?: number;
  /** Evens out the loudness, for some latency. */
  readonly loudnessNormalization?: boolean;
  /** Whether numbers and dates are written out, for some latency. */
  readonly textNormalization?: boolean;
  /** Whether the service is asked when each word sounds; else words are estimated. Default: true. */
  readonly wordTimings?: boolean;
  /** An opaque id of your user, for the vendor's safety team. */
  readonly safetyIdentifier?: string;
}
