import type { AudioMetadata } from '../../audio/types.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { xmlElement } from '../../text/xml.ts';
import { rhoTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests, type RequestVoice } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { TTSCallOptions } from './voice-service.ts';

/** A model of {@link RhoTTS}; others are passed through. */
export type RhoTTSModel = 'simba-3.2' | 'simba-3.0' | 'simba-english' | 'simba-multilingual' | (string & {});

/** An emotion of {@link RhoTTS}; others are passed through. */
export type RhoTTSEmotion =
  | ('angry' | 'cheerful' | 'sad' | 'terrified' | 'relaxed' | 'fearful' | 'surprised')
  | ('calm' | 'assertive' | 'energetic' | 'warm' | 'direct' | 'bright')
  | (string & {});

/** Configuration of {@link RhoTTS}. Anything omitted is left to the service. */
export interface RhoTTSConfig extends RequestTTSConfig {
  /** The id of a voice, including cloned ones; `voices()` lists them. Required; it must belong to the model. */
  readonly voiceId: string;
  /** Default: `simba-3.2`, which speaks English, for voices whose id ends in `_32`; else `simba-3.0`. */
  readonly model?: RhoTTSModel;
  /** Default: `mp3`; `pcm` for an output that cannot decode, such as a phone. All but `wav` stream. */
  readonly audioFormat?: RhoTTSFormat | 'auto';
  /** pcm: 8000 to 48000 Hz; wav: 24000 or 48000; mp3: 24000 or 22050; ulaw: 8000. Default: 24000, ulaw 8000. */
  readonly sampleRate?: number;
  /** Of mp3, in kbit/s: 32, 64, 96, 128 or 160. Default: 128. */
  readonly bitrate?: number;
  /** BCP 47, such as `en-US`. Default: automatic. */
  readonly language?: string;
  /** The emotion of plain text; SSML specifies its own. */
  readonly emotion?: RhoTTSEmotion;
  /** Percent, -83 to 100; for plain text. */
  readonly pitch?: number;
  /** A multiplier, 0.5 to 100; for plain text. Default: 1. */
  readonly speed?: number;
  /** Gain in dB; for plain text. */
  readonly volume?: number;
  /** Levels the volume, at some latency. */
  readonly loudnessNormalization?: boolean;
  /** Whether numbers and dates are spelled out, at some latency. */
  readonly textNormalization?: boolean;
  /** Whether to request word times; otherwise words are estimated. Default: true. */
  readonly wordTimings?: boolean;
  /** An opaque id of your user, for the vendor's safety team. */
  readonly safetyIdentifier?: string;
}

/** A format of {@link RhoTTS}, mono. */
export type RhoTTSFormat = 'mp3' | 'wav' | 'ogg' | 'aac' | 'pcm' | 'ulaw';

/** A format's properties. */
interface RhoFormat {
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz; the first is the default. */
  readonly sampleRates: readonly number[];
}

/** The formats of the service. */
const rhoFormats: Readonly<Record<RhoTTSFormat, RhoFormat>> = {
  mp3: { metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' }, sampleRates: [24_000, 22_050] },
  wav: {
    metadata: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
    sampleRates: [24_000, 48_000],
  },
  ogg: { metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg' }, sampleRates: [24_000] },
  aac: { metadata: { encoding: 'aac', container: 'adts', mimeType: 'audio/aac' }, sampleRates: [24_000] },
  pcm: {
    metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
    sampleRates: [24_000, 8_000, 16_000, 22_050, 44_100, 48_000],
  },
  ulaw: { metadata: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' }, sampleRates: [8_000] },
};

/** Speaking options of plain text, which the service accepts only as SSML. */
type Manner = Pick<RhoTTSConfig, 'emotion' | 'pitch' | 'speed' | 'volume'>;

/** An SSML document of escaped text. */
function rhoDocument(escaped: string, { emotion, pitch, speed, volume }: Manner = {}): string {
  const prosody = {
    pitch: signed(pitch, '%'),
    rate: speed === undefined ? undefined : signed(Math.round((speed - 1) * 100), '%'),
    volume: signed(volume, 'dB'),
  };
  const isSet = Object.values(prosody).some((value) => value !== undefined);
  const said = isSet ? xmlElement('prosody', prosody, escaped, '"') : escaped;
  return xmlElement('speak', {}, emotion ? xmlElement('speechify:style', { emotion }, said, '"') : said);
}

function signed(value: number | undefined, unit: string): string | undefined {
  return value === undefined ? undefined : `${value < 0 ? '' : '+'}${value}${unit}`;
}

const isStreamed = ({ audioFormat }: RhoTTSConfig): boolean => audioFormat !== 'wav';

function formatOf({ audioFormat }: RhoTTSConfig): RhoFormat {
  return ownEntry(rhoFormats, audioFormat) ?? rhoFormats.mp3;
}

function rateOf(config: RhoTTSConfig): number {
  return config.sampleRate ?? formatOf(config).sampleRates[0] ?? 24_000;
}

/** What the dialect needs too. */
export interface RhoFacts {
  readonly isStreamed: (config: RhoTTSConfig) => boolean;
  readonly documentOf: (escaped: string, manner?: Manner) => string;
}

const facts: RhoFacts = { isStreamed, documentOf: rhoDocument };

const wire: LateRequestWire<RhoTTSConfig> = {
  name: 'RhoTTS',
  baseUrl: 'https://api.speechify.ai',
  authType: 'bearer',
  rules: (config) => ({
    ...{
      model: {},
      language: {},
      loudnessNormalization: {},
      textNormalization: {},
      wordTimings: {},
      safetyIdentifier: {},
    },
    voiceId: { required: true, type: 'text' },
    audioFormat: { oneOf: Object.keys(rhoFormats) },
    sampleRate: { oneOf: formatOf(config).sampleRates },
    bitrate: { known: [32, 64, 96, 128, 160] },
    emotion: { type: 'text' },
    pitch: { min: -83, max: 100 },
    speed: { min: 0.5, max: 100 },
    volume: { min: -100, max: 100 },
  }),
  retiring: rhoTTS,
  openFormat: () => ({ key: 'audioFormat', samples: 'pcm' }),
  format: (config) => ({ sampleRate: rateOf(config), channels: 1, ...formatOf(config).metadata }),
  normalizesText: ({ textNormalization = false }) => textNormalization,
  maxTextLength: (config) => (isStreamed(config) ? 20_000 : 2_000) - rhoDocument('', config).length,
  load: async (name) => (await new OnDemand(name, () => import('./rho-dialect.ts')).load()).rhoDialect(facts),
};

/**
 * Speechify text-to-speech (Simba; `POST /v1/audio/stream/with-timestamps`, `POST /v1/audio/speech` for WAV),
 * `https://api.speechify.ai`, https://docs.speechify.ai
 *
 * Text starting with `<speak` is SSML; plain text is spoken with the configured emotion, pitch and speed. The free plan
 * allows one request at a time, hence the default of `concurrency`.
 */
export class RhoTTS extends RemoteTTS<RhoTTSConfig, RequestVoice> {
  constructor(config: RhoTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }

  /**
   * The voices that an account can use.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  async voices({ signal, ...filter }: RhoTTSVoiceFilter & TTSCallOptions = {}): Promise<readonly TTSVoice[]> {
    const { rhoVoices } = await import('./rho-dialect.ts');
    return rhoVoices((request) => this.speaker.fetchJson(request, signal ? { signal } : {}), filter);
  }
}

/** A filter for `RhoTTS.voices()`; omitted keys match everything. */
export interface RhoTTSVoiceFilter {
  /** The vendor's, or the account's own. */
  readonly type?: 'shared' | 'personal';
  /** A tag's prefix, such as `en`. */
  readonly locale?: string;
  /** As the service says. */
  readonly gender?: 'male' | 'female' | 'not_specified';
  /** The model that they belong to. */
  readonly model?: RhoTTSModel;
}
