import type { AudioMetadata } from '../../audio/types.ts';
import type { Logger } from '../../core/logger.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { RequestTTSConfig, RequestWire } from './requests/request-wire.ts';

/** A model of {@link UpsilonTTS}; others are passed through. */
export type UpsilonTTSModel = 'lightning_v3.1' | 'lightning_v3.1_pro' | (string & {});

/** A format of {@link UpsilonTTS}. */
export type UpsilonTTSFormat = 'wav' | 'mp3' | 'pcm' | 'ulaw' | 'alaw';

/** Configuration of {@link UpsilonTTS}. */
export interface UpsilonTTSConfig extends RequestTTSConfig {
  /** A catalog voice, or a clone (`voice_…`). Required; it must belong to the model: the service does not check. */
  readonly voiceId: string;
  /** Default: `lightning_v3.1`. */
  readonly model?: UpsilonTTSModel;
  /** Default: `wav`. A pipeline on a server supports `wav`, `pcm`, `ulaw` and `alaw`, which also stream; not `mp3`. */
  readonly outputFormat?: UpsilonTTSFormat;
  /** 8000, 16000, 24000 or 44100 Hz. Default: the service's, 44100; `ulaw` and `alaw` are always 8000. */
  readonly sampleRate?: 8000 | 16000 | 24000 | 44100;
  /** 0.5 to 2. Default: the service's, 1. */
  readonly speed?: number;
  /** ISO 639-1, such as `en`, or `auto`. Default: the service's. */
  readonly language?: string;
  /** The language for reading numbers. */
  readonly numberPronunciationLanguage?: string;
  /** Whether formulas are read as such. Default: the service's, false. */
  readonly mathNotation?: boolean;
  /** Ids of pronunciation dictionaries. */
  readonly pronunciationDicts?: readonly string[];
}

const formats: Readonly<Record<UpsilonTTSFormat, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
  ulaw: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' },
  alaw: { encoding: 'alaw', bitDepth: 8, mimeType: 'audio/alaw' },
};

/** The sample rate to request; `undefined` for the service's own. */
function rateOf({ outputFormat, sampleRate }: UpsilonTTSConfig): number | undefined {
  return outputFormat === 'ulaw' || outputFormat === 'alaw' ? 8000 : sampleRate;
}

const wire: RequestWire<UpsilonTTSConfig> = {
  name: 'UpsilonTTS',
  baseUrl: 'https://api.smallest.ai/waves',
  authType: 'bearer',
  rules: () => ({
    ...{ model: {}, language: {}, numberPronunciationLanguage: {}, mathNotation: {}, pronunciationDicts: {} },
    voiceId: { required: true },
    outputFormat: { oneOf: Object.keys(formats) },
    sampleRate: { oneOf: [8000, 16000, 24000, 44100] },
    speed: { min: 0.5, max: 2 },
  }),
  format: (config) => ({ sampleRate: rateOf(config) ?? 44_100, channels: 1, ...formats[config.outputFormat ?? 'wav'] }),
  maxTextLength: () => 250,
  concurrency: 1,
  request: (text, { config }) => ({
    path: '/v1/tts',
    // Required for all formats: without it the response can be empty (the vendor's reference).
    headers: { Accept: 'audio/wav' },
    json: {
      text,
      voice_id: config.voiceId,
      model: config.model ?? 'lightning_v3.1',
      output_format: config.outputFormat ?? 'wav',
      sample_rate: rateOf(config),
      speed: config.speed,
      language: config.language,
      number_pronunciation_language: config.numberPronunciationLanguage,
      math_notation: config.mathNotation,
      pronunciation_dicts: config.pronunciationDicts,
    },
  }),
};

/**
 * Smallest.ai Waves text-to-speech (Lightning), `https://api.smallest.ai/waves`,
 * https://docs.smallest.ai/waves
 *
 * Texts are split at 250 characters, beyond which the service's quality suffers. Accounts allow one request at a time,
 * hence the default of `concurrency`.
 */
export class UpsilonTTS extends RemoteTTS<UpsilonTTSConfig> {
  constructor(config: UpsilonTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }
}
