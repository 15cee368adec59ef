import type { AudioMetadata } from '../../audio/types.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests, type RequestVoice } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { TTSCallOptions } from './voice-service.ts';

/** A model of {@link SigmaTTS}; others are passed through. */
export type SigmaTTSModel = 'GEN2' | 'FALCON' | (string & {});

/** A format of {@link SigmaTTS}. */
export type SigmaTTSFormat = 'mp3' | 'wav' | 'flac' | 'alaw' | 'ulaw' | 'pcm';

/** A streaming region of {@link SigmaTTS}. */
export type SigmaTTSRegion =
  | ('global' | 'us-east' | 'us-west' | 'in' | 'ca' | 'kr' | 'me' | 'jp' | 'au' | 'eu-central' | 'uk' | 'sa-east')
  | (string & {});

/** Configuration of {@link SigmaTTS}. Anything omitted is left to the service. */
export interface SigmaTTSConfig extends RequestTTSConfig {
  /** A voice, such as `en-US-natalie`; `voices()` lists them. Required; it must belong to the model. */
  readonly voiceId: string;
  /** Default: `GEN2`. `FALCON` answers sooner, and streams. */
  readonly model?: SigmaTTSModel;
  /**
   * Streams audio as it is generated, without word times. Default: false for `GEN2`, true for other models, which only
   * stream.
   */
  readonly streaming?: boolean;
  /** The streaming region. Default: `global`, the nearest. */
  readonly region?: SigmaTTSRegion;
  /** Default: `mp3`; `pcm` for an output that cannot decode, such as a phone. */
  readonly format?: SigmaTTSFormat | 'auto';
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
  /**
   * 8000, 24000, 44100 or 48000 Hz; 16000 when streaming. Default: 44100, `FALCON` 24000; `alaw` and `ulaw` are 8000.
   */
  readonly sampleRate?: number;
  /** Default: `MONO`; `alaw` and `ulaw` have no other. */
  readonly channelType?: 'MONO' | 'STEREO';
  /** Target duration of a request's speech, in seconds; `GEN2` only, not when streaming. */
  readonly audioDuration?: number;
  /** How words are pronounced. */
  readonly pronunciationDictionary?: Readonly<
    Record<string, { readonly type: 'IPA' | 'SAY_AS'; readonly pronunciation: string }>
  >;
  /** Whether `words$` has the words as they were written, English only. Default: the service's, false. */
  readonly wordDurationsAsOriginalText?: boolean;
}

const formats: Readonly<Record<SigmaTTSFormat, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  flac: { encoding: 'flac', container: 'flac', mimeType: 'audio/flac' },
  alaw: { encoding: 'alaw', bitDepth: 8, mimeType: 'audio/alaw' },
  ulaw: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' },
  pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
};

const modelOf = ({ model = 'GEN2' }: SigmaTTSConfig): string => model;
const isStreamed = (config: SigmaTTSConfig): boolean => config.streaming ?? modelOf(config) !== 'GEN2';
const isG711 = ({ format }: SigmaTTSConfig): boolean => format === 'alaw' || format === 'ulaw';
const change = { min: -50, max: 50, integer: true };

/** What the dialect needs too. */
export interface SigmaFacts {
  readonly modelOf: (config: SigmaTTSConfig) => string;
  readonly isStreamed: (config: SigmaTTSConfig) => boolean;
}

const facts: SigmaFacts = { modelOf, isStreamed };

const wire: LateRequestWire<SigmaTTSConfig> = {
  name: 'SigmaTTS',
  baseUrl: (config) => `https://${isStreamed(config) ? `${config.region ?? 'global'}.` : ''}api.murf.ai`,
  rules: (config) => ({
    ...{ model: {}, streaming: {}, pronunciationDictionary: {}, wordDurationsAsOriginalText: {} },
    voiceId: { required: true, type: 'text' },
    format: { oneOf: Object.keys(formats) },
    style: { type: 'text' },
    rate: change,
    pitch: change,
    variation: { min: 0, max: 5, integer: true },
    locale: { type: 'text' },
    region: { type: 'text' },
    sampleRate: {
      oneOf: isG711(config) ? [8000] : [8000, 24_000, 44_100, 48_000, ...(isStreamed(config) ? [16_000] : [])],
    },
    channelType: { oneOf: isG711(config) ? ['MONO'] : ['MONO', 'STEREO'] },
    audioDuration: { min: 0, max: 3600 },
  }),
  openFormat: () => ({ key: 'format', samples: 'pcm' }),
  format: formatOf,
  maxTextLength: () => 3000,
  load: async (name) => (await new OnDemand(name, () => import('./sigma-dialect.ts')).load()).sigmaDialect(facts),
};

/**
 * Murf text-to-speech (`POST /v1/speech/generate`, streaming `POST /v1/speech/stream`), `https://api.murf.ai`
 * (streaming: `https://global.api.murf.ai`), https://murf.ai/api/docs
 *
 * At most 3,000 characters per request; longer texts are split at sentences.
 */
export class SigmaTTS extends RemoteTTS<SigmaTTSConfig, RequestVoice> {
  constructor(config: SigmaTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }

  /**
   * The voices of a model, by default the configured one.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  async voices({
    model = modelOf(this.config),
    signal,
  }: { readonly model?: SigmaTTSModel } & TTSCallOptions = {}): Promise<readonly TTSVoice[]> {
    const request = { path: '/v1/speech/voices', query: { model } };
    const catalog = await this.speaker.fetchJson(request, signal ? { signal } : {});
    const { sigmaVoices } = await import('./sigma-dialect.ts');
    return sigmaVoices(catalog);
  }
}

function formatOf(config: SigmaTTSConfig): AudioMetadata {
  const usual = modelOf(config) === 'GEN2' ? 44_100 : 24_000;
  return {
    sampleRate: isG711(config) ? 8000 : (config.sampleRate ?? usual),
    channels: config.channelType === 'STEREO' ? 2 : 1,
    ...(ownEntry(formats, config.format) ?? formats.mp3),
  };
}
