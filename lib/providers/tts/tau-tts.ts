import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { tauTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests, type RequestVoice } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { TTSCallOptions } from './voice-service.ts';

/** A model of {@link TauTTS}; others are passed through. */
export type TauTTSModel = 'blizzard' | (string & {});

/** A format of {@link TauTTS}, mono. */
export type TauTTSFormat = 'mp3' | 'wav' | 'aac' | 'ulaw' | 'webm' | 'pcm_s16le' | 'pcm_f32le';

/** Configuration of {@link TauTTS}. Anything omitted is left to the service. */
export interface TauTTSConfig extends RequestTTSConfig {
  /** The id of a voice, such as `leah`, or of a cloned one; `voices()` lists them. */
  readonly voice: string;
  /** Default: `blizzard`. */
  readonly model?: TauTTSModel;
  /**
   * Default: `mp3`; `pcm_s16le` for an output that cannot decode, such as a phone. `wav` and `aac` do not
   * stream.
   */
  readonly format?: TauTTSFormat | 'auto';
  /** ISO 639-1, one of 31 languages; specifying it is faster. Default: automatic. */
  readonly language?: string;
  /** Lower is more neutral, 0.0001 to 5. Default: the service's, 1. */
  readonly temperature?: number;
  /** Lower is more consistent, 0 to 1. Default: the service's, 0.8. */
  readonly topP?: number;
  /** 8000, 16000 or 24000 Hz. Default: 24000; `ulaw` 8000. */
  readonly sampleRate?: 8000 | 16000 | 24000;
  /** Requests word times; the answer then arrives as a whole. Default: false. */
  readonly wordTimings?: boolean;
  /** Also saves a recording in the account. Default: the service's, `false`. */
  readonly debug?: boolean;
}

/** A filter for {@link TauTTS.voices}. */
export interface TauTTSVoiceFilter {
  /** The vendor's, the account's own, or all. Default: the service's, all. */
  readonly owner?: 'system' | 'me' | 'all';
  /** Only those that the account has starred. */
  readonly starred?: boolean;
}

const formats: Readonly<Record<TauTTSFormat, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  aac: { encoding: 'aac', container: 'adts', mimeType: 'audio/aac' },
  // With a WAV header, even when streaming.
  ulaw: { encoding: 'mulaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' },
  webm: { encoding: 'opus', container: 'webm', mimeType: 'audio/webm' },
  pcm_s16le: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
  pcm_f32le: { encoding: 'linear32', bitDepth: 32, mimeType: 'audio/pcm' },
};

/** The version whose errors have types. */
const version = { 'lmnt-version': '1.1' };

/** LMNT's parameters. */
export const tauTTSRules: ConfigRules = {
  voice: { required: true, type: 'text', wire: true },
  model: { default: 'blizzard', wire: true },
  format: { oneOf: Object.keys(formats), default: 'mp3', wire: true },
  language: { type: 'text', wire: true },
  temperature: { min: 0.0001, max: 5, wire: true },
  topP: { min: 0, max: 1, wire: true },
  sampleRate: { oneOf: [8000, 16_000, 24_000], wire: true },
  wordTimings: { wire: 'return_timestamps', toWire: (isAsked) => (isAsked ? true : undefined) },
  debug: { wire: true },
};

const wire: LateRequestWire<TauTTSConfig> = {
  name: 'TauTTS',
  baseUrl: 'https://api.lmnt.com',
  rules: () => tauTTSRules,
  retiring: tauTTS,
  openFormat: () => ({ key: 'format', samples: 'pcm_s16le' }),
  format: ({ format, sampleRate = format === 'ulaw' ? 8000 : 24_000 }) => ({
    sampleRate,
    channels: 1,
    ...(ownEntry(formats, format) ?? formats.mp3),
  }),
  maxTextLength: () => 5000,
  load: async (name) => (await new OnDemand(name, () => import('./tau-dialect.ts')).load()).tauDialect(version),
};

/**
 * LMNT text-to-speech (`POST /v1/ai/speech/bytes`, with word times `POST /v1/ai/speech`),
 * `https://api.lmnt.com`, https://docs.lmnt.com
 *
 * At most 5,000 characters per request; longer texts are split at sentences.
 */
export class TauTTS extends RemoteTTS<TauTTSConfig, RequestVoice> {
  constructor(config: TauTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }

  /**
   * The voices that are ready to use.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  async voices({ signal, ...query }: TauTTSVoiceFilter & TTSCallOptions = {}): Promise<readonly TTSVoice[]> {
    const request = { path: '/v1/ai/voice/list', query: { ...query }, headers: version };
    const catalog = await this.speaker.fetchJson(request, signal ? { signal } : {});
    const { tauVoices } = await import('./tau-dialect.ts');
    return tauVoices(catalog);
  }
}
