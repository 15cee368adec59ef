import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asString } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { chiTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';

/** A model of {@link ChiTTS}: `-hd` sounds best, `-turbo` answers soonest; others are passed through. */
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

/** Configuration of {@link ChiTTS}. Anything omitted is left to the service. */
export interface ChiTTSConfig extends RequestTTSConfig {
  /** A system voice, such as `English_expressive_narrator`, or a clone. Required. */
  readonly voiceId: string;
  /** Default: `speech-2.8-turbo`. */
  readonly model?: ChiTTSModel;
  /**
   * Default: `mp3`; `pcm` (with `voiceModify`, `wav`) for an output that cannot decode, such as a phone.
   * `wav` does not stream.
   */
  readonly audioFormat?: ChiTTSFormat | 'auto';
  /** Default: chosen by the service from the text. */
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
  readonly bitrate?: number;
  /** 1 is mono, 2 stereo. Default: 1. */
  readonly channels?: 1 | 2;
  /** The language by its English name, such as `French` or `Chinese,Yue`, or `auto`. */
  readonly languageBoost?: string;
  /** Pronunciations such as `omg/oh my god`. */
  readonly pronunciationDict?: readonly string[];
  /** Whether numbers and dates are spelled out with more care, which takes longer. Default: the service's, false. */
  readonly textNormalization?: boolean;
  /** Whether formulas in LaTeX are read. Default: the service's, false. */
  readonly latexRead?: boolean;
  /** Changes the voice; not for `pcm`. */
  readonly voiceModify?: ChiTTSVoiceModify;
  /**
   * Whether `words$` has the service's own times instead of estimates: one more download per request; `pcm` and `wav`
   * only. Default: false.
   */
  readonly wordTimings?: boolean;
}

const formats: Readonly<Record<ChiTTSFormat, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  flac: { encoding: 'flac', container: 'flac', mimeType: 'audio/flac' },
  pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
};

const change = { min: -100, max: 100, wire: true } as const;

const voiceRules: ConfigRules = {
  voiceId: { required: true, wire: true },
  // The service's default behavior has no name on the wire.
  emotion: { wire: true, toWire: (emotion) => (emotion === 'auto' ? undefined : asString(emotion)) },
  speed: { min: 0.5, max: 2, wire: true },
  volume: { min: 0.01, max: 10, wire: 'vol' },
  pitch: { min: -12, max: 12, integer: true, wire: true },
  textNormalization: { wire: true },
  latexRead: { wire: true },
};

const audioRules: ConfigRules = {
  audioFormat: { oneOf: Object.keys(formats), default: 'mp3', wire: 'format' },
  sampleRate: { oneOf: [8000, 16000, 22050, 24000, 32000, 44100], wire: true },
  bitrate: { known: [32000, 64000, 128000, 256000], wire: true },
  channels: { oneOf: [1, 2], wire: 'channel' },
};

const modifyRules: ConfigRules = {
  'voiceModify.pitch': change,
  'voiceModify.intensity': change,
  'voiceModify.timbre': change,
  'voiceModify.soundEffects': { wire: true },
};

const requestRules: ConfigRules = {
  wordTimings: {},
  model: { default: 'speech-2.8-turbo', wire: true },
  languageBoost: { wire: true },
  groupId: { type: 'text' },
  pronunciationDict: { type: 'texts' },
};

/** MiniMax's parameters. */
export const chiTTSRules: ConfigRules = { ...voiceRules, ...audioRules, ...modifyRules, ...requestRules };

const formatOf = ({ audioFormat = 'auto' }: ChiTTSConfig): ChiTTSFormat =>
  audioFormat === 'auto' ? 'mp3' : audioFormat;
const isStreamed = (config: ChiTTSConfig): boolean => formatOf(config) !== 'wav';

/** What the dialect needs too. */
export interface ChiFacts {
  readonly voiceRules: ConfigRules;
  readonly audioRules: ConfigRules;
  readonly modifyRules: ConfigRules;
  readonly requestRules: ConfigRules;
  readonly formatOf: (config: ChiTTSConfig) => ChiTTSFormat;
  readonly isStreamed: (config: ChiTTSConfig) => boolean;
}

const facts: ChiFacts = { voiceRules, audioRules, modifyRules, requestRules, formatOf, isStreamed };

const wire: LateRequestWire<ChiTTSConfig> = {
  name: 'ChiTTS',
  baseUrl: 'https://api.minimax.io',
  authType: 'bearer',
  rules: () => chiTTSRules,
  retiring: chiTTS,
  problem: (config) => {
    // The end of a compressed sentence is unknown here, and so is when the next one's words sound.
    const lacksTimes = config.wordTimings && ownEntry(formats, formatOf(config))?.bitDepth === undefined;
    return lacksTimes ? 'wordTimings requires audioFormat pcm or wav' : undefined;
  },
  // What changes the voice refuses raw samples.
  openFormat: ({ voiceModify }) => ({ key: 'audioFormat', samples: voiceModify ? 'wav' : 'pcm' }),
  format: (config) => {
    const { sampleRate = 32_000, channels = 1 } = config;
    return { sampleRate, channels, ...formats[formatOf(config)] };
  },
  // Longer texts should stream, which WAV files do not.
  normalizesText: ({ textNormalization = false }) => textNormalization,
  maxTextLength: (config) => (isStreamed(config) ? 9_999 : 3_000),
  load: async (name) => (await new OnDemand(name, () => import('./chi-dialect.ts')).load()).chiDialect(facts),
};

/**
 * MiniMax text-to-speech (T2A v2, `POST /v1/t2a_v2`), `https://api.minimax.io`,
 * https://platform.minimax.io/docs/api-reference/speech-t2a-http
 *
 * Requests hold fewer than 10,000 characters; longer texts are split at sentences.
 */
export class ChiTTS extends RemoteTTS<ChiTTSConfig> {
  constructor(config: ChiTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }
}
