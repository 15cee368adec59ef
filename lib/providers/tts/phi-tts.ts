import type { AudioMetadata } from '../../audio/types.ts';
import { ownEntry } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { phiTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { RequestTTSConfig, RequestWire } from './requests/request-wire.ts';

/** A model of {@link PhiTTS}; the service treats an unknown id as `mistv3`. */
export type PhiTTSModel = 'coda' | 'mistv3' | 'mistv2' | 'arcana' | 'arcanav3' | 'arcanav2' | (string & {});

/** A format of {@link PhiTTS}. */
export type PhiTTSFormat = 'mp3' | 'wav' | 'ogg' | 'webm' | 'pcm' | 'mulaw';

/** Configuration of {@link PhiTTS}. Anything omitted is left to the service. */
export interface PhiTTSConfig extends RequestTTSConfig {
  /** The voice, such as `astra`. Required; it must belong to the model and the language: the service does not check. */
  readonly speaker: string;
  /** Default: `coda`, which also replaces the retired `arcana` models. */
  readonly model?: PhiTTSModel;
  /**
   * `mistv2` supports `mp3`, `pcm` and `mulaw`. Default: `mp3`; `pcm` for an output that cannot decode, such as
   * a phone (`auto`).
   */
  readonly audioFormat?: PhiTTSFormat | 'auto';
  /** ISO 639-1, -2 or -3, such as `en` or `eng`; the speaker's own. */
  readonly language?: string;
  /** 8000 to 96000 Hz, `mistv2` 4000 to 44100. Default: 24000, `mulaw` 8000, `mistv2` 22050 for `mp3` and 16000 for `pcm`. */
  readonly samplingRate?: number;
  /** Length of the speech, 0.4 to 2.5: above 1 is slower. Not for `mistv2`. Default: the service's, 1. */
  readonly timeScaleFactor?: number;
  /** `mistv2` only: below 1 is faster. Default: the service's, 1. */
  readonly speedAlpha?: number;
  /** `mistv3` and `mistv2`: such as `0.5, 3`, the speed of each bracketed part of the text; below 1 is faster. */
  readonly inlineSpeedAlpha?: string;
  /** `mistv2` only: numbers and abbreviations are not spelled out, for lower latency. Default: the service's, false. */
  readonly noTextNormalization?: boolean;
  /** `mistv3` and `mistv2`: whether `<200>` in the text is a pause of 200 ms. Default: the service's, false. */
  readonly pauseBetweenBrackets?: boolean;
  /** `mistv2` only: whether `{h'El.o}` in the text is read as phonemes. Default: the service's, false. */
  readonly phonemizeBetweenBrackets?: boolean;
}

interface Format {
  readonly accept: string;
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz, unless configured. */
  readonly sampleRate: number;
  /** The same for `mistv2`; absent if it lacks the format. */
  readonly mistv2?: number;
}

const formats: Readonly<Record<PhiTTSFormat, Format>> = {
  mp3: {
    accept: 'audio/mpeg',
    metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
    sampleRate: 24_000,
    mistv2: 22_050,
  },
  wav: {
    accept: 'audio/wav',
    metadata: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
    sampleRate: 24_000,
  },
  ogg: {
    accept: 'audio/ogg;codecs=opus',
    metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
    sampleRate: 24_000,
  },
  webm: {
    accept: 'audio/webm;codecs=opus',
    metadata: { encoding: 'opus', container: 'webm', mimeType: 'audio/webm; codecs=opus' },
    sampleRate: 24_000,
  },
  pcm: {
    // Little-endian, despite RFC 2586.
    accept: 'audio/L16',
    metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
    sampleRate: 24_000,
    mistv2: 16_000,
  },
  mulaw: {
    accept: 'audio/PCMU',
    metadata: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' },
    sampleRate: 8000,
    mistv2: 8000,
  },
};

/** Languages by ISO 639-1 code: their three-letter codes, the service's own first. */
const languages: Readonly<Record<string, readonly string[]>> = {
  en: ['eng'],
  es: ['spa'],
  fr: ['fra', 'fre'],
  de: ['ger', 'deu'],
  pt: ['por'],
  ja: ['jpn'],
  ar: ['ara'],
  hi: ['hin'],
};

/** Keys of particular models: of `mistv2`, and of the others. */
const own = {
  mistv2: ['speedAlpha', 'noTextNormalization', 'phonemizeBetweenBrackets'],
  others: ['timeScaleFactor'],
} as const;

const modelOf = ({ model = 'coda' }: PhiTTSConfig): string => model;
const isMistV2 = (config: PhiTTSConfig): boolean => modelOf(config) === 'mistv2';
const known = ({ audioFormat }: PhiTTSConfig): Format => ownEntry(formats, audioFormat) ?? formats.mp3;

function rateOf(config: PhiTTSConfig): number {
  const { sampleRate, mistv2 = sampleRate } = known(config);
  return config.samplingRate ?? (isMistV2(config) ? mistv2 : sampleRate);
}

/** `mistv2` uses three-letter codes, `mistv3` two-letter ones, `coda` both. */
function languageOf(config: PhiTTSConfig): string | undefined {
  const { language = '' } = config;
  const entry = Object.entries(languages).find(([two, three]) => two === language || three.includes(language));
  return entry ? (isMistV2(config) ? entry[1][0] : entry[0]) : config.language;
}

const wire: RequestWire<PhiTTSConfig> = {
  name: 'PhiTTS',
  baseUrl: 'https://users.rime.ai',
  authType: 'bearer',
  rules: (config) => ({
    speaker: { required: true },
    audioFormat: {
      oneOf: Object.keys(formats).filter((name) => !isMistV2(config) || ownEntry(formats, name)?.mistv2 !== undefined),
    },
    samplingRate: isMistV2(config)
      ? { min: 4000, max: 44_100, integer: true }
      : { min: 8000, max: 96_000, integer: true },
    timeScaleFactor: { min: 0.4, max: 2.5 },
    speedAlpha: { min: 0.1, max: 10 },
  }),
  retiring: phiTTS,
  advice: (config) =>
    own[isMistV2(config) ? 'others' : 'mistv2']
      .filter((key) => config[key] !== undefined)
      .map((key) => `${key} is not supported by ${modelOf(config)}, and was not sent`),
  openFormat: () => ({ key: 'audioFormat', samples: 'pcm' }),
  format: (config) => ({ sampleRate: rateOf(config), channels: 1, ...known(config).metadata }),
  normalizesText: ({ noTextNormalization = false }) => !noTextNormalization && ['en'],
  maxTextLength: () => 1000,
  request: (text, { config }) => {
    const { accept, metadata } = known(config);
    const { speaker, samplingRate, inlineSpeedAlpha, pauseBetweenBrackets } = config;
    return {
      path: '/v1/rime-tts',
      headers: { Accept: accept },
      json: {
        text,
        speaker,
        modelId: modelOf(config),
        lang: languageOf(config),
        // Raw samples do not include their rate, so it is always sent.
        samplingRate: samplingRate ?? (metadata.container ? undefined : rateOf(config)),
        inlineSpeedAlpha,
        pauseBetweenBrackets,
        ...Object.fromEntries(own[isMistV2(config) ? 'mistv2' : 'others'].map((key) => [key, config[key]])),
      },
    };
  },
  // An unpaid account is rejected as if its key were wrong.
  errorOf: ({ text }) => (text.trim() === 'invalid subscription' ? { code: 'quota' } : undefined),
};

/**
 * Rime text-to-speech (`POST /v1/rime-tts`), `https://users.rime.ai`, https://docs.rime.ai
 *
 * At most 1,000 characters per request; longer texts are split at sentences.
 */
export class PhiTTS extends RemoteTTS<PhiTTSConfig> {
  constructor(config: PhiTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }
}
