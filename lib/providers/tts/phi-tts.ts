import type { AudioMetadata } from '../../audio/types.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { phiTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';

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
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz, unless configured. */
  readonly sampleRate: number;
  /** The same for `mistv2`; absent if it lacks the format. */
  readonly mistv2?: number;
}

const formats: Readonly<Record<PhiTTSFormat, Format>> = {
  mp3: {
    metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
    sampleRate: 24_000,
    mistv2: 22_050,
  },
  wav: {
    metadata: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
    sampleRate: 24_000,
  },
  ogg: {
    metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
    sampleRate: 24_000,
  },
  webm: {
    metadata: { encoding: 'opus', container: 'webm', mimeType: 'audio/webm; codecs=opus' },
    sampleRate: 24_000,
  },
  pcm: {
    metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
    sampleRate: 24_000,
    mistv2: 16_000,
  },
  mulaw: {
    metadata: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' },
    sampleRate: 8000,
    mistv2: 8000,
  },
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

/** What the dialect needs too. */
export interface PhiFacts {
  readonly modelOf: (config: PhiTTSConfig) => string;
  readonly isMistV2: (config: PhiTTSConfig) => boolean;
  /** The sample rate of the format, in Hz. */
  readonly rateOf: (config: PhiTTSConfig) => number;
  /** Whether it says its sample rate itself. */
  readonly hasContainer: (config: PhiTTSConfig) => boolean;
  /** Keys of particular models. */
  readonly own: typeof own;
}

const facts: PhiFacts = {
  ...{ modelOf, isMistV2, rateOf, own },
  hasContainer: (config) => known(config).metadata.container !== undefined,
};

const wire: LateRequestWire<PhiTTSConfig> = {
  name: 'PhiTTS',
  baseUrl: 'https://users.rime.ai',
  authType: 'bearer',
  rules: (config) => ({
    ...{
      model: {},
      language: {},
      inlineSpeedAlpha: {},
      noTextNormalization: {},
      pauseBetweenBrackets: {},
      phonemizeBetweenBrackets: {},
    },
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
  load: async (name) => {
    const { phiDialect } = await new OnDemand(name, () => import('./phi-dialect.ts')).load();
    return phiDialect(facts);
  },
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
