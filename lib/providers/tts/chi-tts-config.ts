import type { RequestTTSConfig } from './requests/request-wire.ts';

/** A model of {@link ChiTTS}: `-hd` sounds best, `-turbo` answers soonest; later ones pass through. */
export type ChiTTSModel =
  | 'speech-2.8-hd'
  | 'speech-2.8-turbo'
  | 'speech-2.6-hd'
  | 'speech-2.6-turbo'
  | 'speech-02-hd'
  | 'speech-02-turbo'
  | 'speech-01-hd'
  | 'speech-01-turbo'
  | (string & {});

/** A format of {@link ChiTTS}. */
export type ChiTTSFormat = 'mp3' | 'wav' | 'flac' | 'pcm';

/** An emotion of {@link ChiTTS}; `whisper` is not for the 2.8 models. */
export type ChiTTSEmotion =
  | 'happy'
  | 'sad'
  | 'angry'
  | 'fearful'
  | 'disgusted'
  | 'surprised'
  | 'calm'
  | 'neutral'
  | 'fluent'
  | 'whisper'
  | (string & {});

/** How {@link ChiTTS} changes a voice; not for `pcm`. */
export interface ChiTTSVoiceModify {
  /** -100 (deep) to 100 (bright). */
  readonly pitch?: number;
  /** -100 (strong) to 100 (soft). */
  readonly intensity?: number;
  /** -100 (full) to 100 (crisp). */
  readonly timbre?: number;
  /** An effect. */
  readonly soundEffects?: 'spacious_echo' | 'auditorium_echo' | 'lofi_telephone' | 'robotic';
}

/** Configuration of {@link ChiTTS}. What is absent is left to the service. */
export interface ChiTTSConfig extends RequestTTSConfig {
  /** A system voice, such as `English_expressive_narrator`, or a clone. Required. */
  readonly voiceId: string;
  /** Default: `speech-2.8-turbo`. */
  readonly model?: ChiTTSModel;
  /** Default: `mp3`, which browsers play; a pipeline on a server needs `pcm`, which also streams, or `wav`, which does not. */
  readonly audioFormat?: ChiTTSFormat;
  /** Default: the service chooses by the text. */
  readonly emotion?: ChiTTSEmotion;
  /** 0.5 to 2. Default: the service's, 1. */
  readonly speed?: number;
  /** Above 0, to 10. Default: the service's, 1. */
  readonly volume?: number;
  /** -12 to 12, whole semitones. Default: the service's, 0. */
  readonly pitch?: number;
  /** The account's group, sent as the query parameter `GroupId`; only older hosts need it. */
  readonly groupId?: string;
  /** 8000, 16000, 22050, 24000, 32000 or 44100 Hz. Default: 32000. */
  readonly sampleRate?: 8000 | 16000 | 22050 | 24000 | 32000 | 44100;
  /** bit/s, of `mp3`: 32000, 64000, 128000 or 256000. Default: the service's, 128000. */
  readonly bitrate?: 32000 | 64000 | 128000 | 256000;
  /** 1 is mono, 2 stereo. Default: 1. */
  readonly channels?: 1 | 2;
  /** The language by its English name, such as `French` or `Chinese,Yue`, or `auto`. */
  readonly languageBoost?: string;
  /** Pronunciations such as `omg/oh my god`. */
  readonly pronunciationDict?: readonly string[];
  /** Whether numbers and dates are written out with more care, which takes longer. Default: the service's, false. */
  readonly textNormalization?: boolean;
  /** Whether formulas in LaTeX are read. Default: the service's, false. */
  readonly latexRead?: boolean;
  /** Changes the voice; not for `pcm`. */
  readonly voiceModify?: ChiTTSVoiceModify;
  /** Whether `words$` has the service's own times, in place of estimates: one more download for each request; `pcm` and `wav` only. Default: false. */
  readonly wordTimings?: boolean;
}
