import type { RestTTSConfig } from './rest-tts.ts';

/** A model of {@link SigmaTTS}; later ones pass through. */
export type SigmaTTSModel = 'GEN2' | 'FALCON' | (string & {});

/** A format of {@link SigmaTTS}. */
export type SigmaTTSFormat = 'mp3' | 'wav' | 'flac' | 'alaw' | 'ulaw' | 'pcm';

/** Where {@link SigmaTTS} streams. */
export type SigmaTTSRegion =
  | ('global' | 'us-east' | 'us-west' | 'in' | 'ca' | 'kr' | 'me' | 'jp' | 'au' | 'eu-central' | 'uk' | 'sa-east')
  | (string & {});

/** Configuration of {@link SigmaTTS}. What is absent is left to the service. */
export interface SigmaTTSConfig extends RestTTSConfig {
  /** A voice, such as `en-US-natalie`; `voices()` lists them. Required; it must belong to the model. */
  readonly voiceId: string;
  /** Default: `GEN2`. `FALCON` answers sooner, and streams. */
  readonly model?: SigmaTTSModel;
  /** Streams audio as it is made, without word times. Default: false for `GEN2`, true for other models, which only do. */
  readonly streaming?: boolean;
  /** Where the service streams. Default: `global`, the nearest. */
  readonly region?: SigmaTTSRegion;
  /** Default: `mp3`; a pipeline on a server needs `pcm`, `wav`, `ulaw` or `alaw`. */
  readonly format?: SigmaTTSFormat;
  /** A style of the voice, such as `Conversational`. Default: the voice's. */
  readonly style?: string;
  /** Speed: a whole number from -50 to 50. Default: 0. */
  readonly rate?: number;
  /** A whole number from -50 to 50. Default: 0. */
  readonly pitch?: number;
  /** How much it varies, a whole number from 0 to 5; `GEN2` only. Default: 1. */
  readonly variation?: number;
  /** BCP 47, such as `en-US`, for voices that speak several. Default: the voice's. */
  readonly locale?: string;
  /** 8000, 24000, 44100 or 48000 Hz; 16000 where it streams. Default: 44100, `FALCON` 24000; `alaw` and `ulaw` are 8000. */
  readonly sampleRate?: number;
  /** Default: `MONO`; `alaw` and `ulaw` have no other. */
  readonly channelType?: 'MONO' | 'STEREO';
  /** Seconds that the speech of a request is to last; `GEN2` only, not where it streams. */
  readonly audioDuration?: number;
  /** How words are pronounced. */
  readonly pronunciationDictionary?: Readonly<
    Record<string, { readonly type: 'IPA' | 'SAY_AS'; readonly pronunciation: string }>
  >;
  /** Whether `words$` has the words as they were written, English only. Default: the service's, false. */
  readonly wordDurationsAsOriginalText?: boolean;
}
