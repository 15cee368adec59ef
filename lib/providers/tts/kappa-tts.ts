import type { AudioMetadata } from '../../audio/types.ts';
import { azureSpeechUrl, isAzureRegion } from '../../core/azure-region.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { AuthType } from '../../core/remote-provider.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';

/** A format of {@link KappaTTS}, by the service's id; other ids of the same kinds are passed through. */
export type KappaTTSFormat =
  | 'audio-16khz-32kbitrate-mono-mp3'
  | 'audio-24khz-48kbitrate-mono-mp3'
  | 'audio-24khz-96kbitrate-mono-mp3'
  | 'audio-48khz-96kbitrate-mono-mp3'
  | 'audio-48khz-192kbitrate-mono-mp3'
  | 'raw-8khz-16bit-mono-pcm'
  | 'raw-16khz-16bit-mono-pcm'
  | 'raw-22050hz-16bit-mono-pcm'
  | 'raw-24khz-16bit-mono-pcm'
  | 'raw-44100hz-16bit-mono-pcm'
  | 'raw-48khz-16bit-mono-pcm'
  | 'raw-8khz-8bit-mono-mulaw'
  | 'raw-8khz-8bit-mono-alaw'
  | 'riff-8khz-16bit-mono-pcm'
  | 'riff-24khz-16bit-mono-pcm'
  | 'riff-48khz-16bit-mono-pcm'
  | 'riff-8khz-8bit-mono-mulaw'
  | 'riff-8khz-8bit-mono-alaw'
  | 'ogg-16khz-16bit-mono-opus'
  | 'ogg-24khz-16bit-mono-opus'
  | 'ogg-48khz-16bit-mono-opus'
  | 'webm-16khz-16bit-mono-opus'
  | 'webm-24khz-16bit-mono-opus'
  | (string & {});

/** The role that the voice of {@link KappaTTS} plays, if it can. */
export type KappaTTSRole =
  | 'Girl'
  | 'Boy'
  | 'YoungAdultFemale'
  | 'YoungAdultMale'
  | 'OlderAdultFemale'
  | 'OlderAdultMale'
  | 'SeniorFemale'
  | 'SeniorMale'
  | (string & {});

/** Configuration of {@link KappaTTS}. */
export interface KappaTTSConfig extends RequestTTSConfig {
  /** The resource's region, such as `westeurope`. Required without `proxyUrl` and `endpoint`. */
  readonly region?: string;
  /** Such as `en-US-JennyNeural`. Required. */
  readonly voiceName: string;
  /**
   * Default: `audio-24khz-48kbitrate-mono-mp3`, but `raw-24khz-16bit-mono-pcm` for an output that cannot decode, such as
   * a phone (`auto`).
   */
  readonly outputFormat?: KappaTTSFormat | 'auto';
  /** The speaking style, such as `cheerful`; the service ignores styles the voice lacks. */
  readonly style?: string;
  /** The strength of the style, 0.01 to 2. Default: the service's, 1. */
  readonly styleDegree?: number;
  /** The role that the voice plays. */
  readonly role?: KappaTTSRole;
  /** Speed as a multiplier, 0.5 to 2. Default: the service's, 1. */
  readonly rate?: number;
  /** -12 to 12 semitones. Default: the service's, 0. */
  readonly pitch?: number;
  /** 0 to 100. Default: the service's, 100. */
  readonly volume?: number;
  /** BCP 47. Default: the prefix of `voiceName`. */
  readonly language?: string;
  /** The deployment of a custom voice. */
  readonly deploymentId?: string;
}

type Format = Omit<AudioMetadata, 'sampleRate' | 'channels'>;

/** The formats behind the service's ids. */
const formats: readonly (readonly [id: RegExp, format: Format])[] = [
  [/^audio-.*-mp3$/, { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' }],
  [/^raw-.*-16bit-mono-pcm$/, { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' }],
  [/^raw-.*-mulaw$/, { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' }],
  [/^raw-.*-alaw$/, { encoding: 'alaw', bitDepth: 8, mimeType: 'audio/x-alaw-basic' }],
  [/^riff-.*-16bit-mono-pcm$/, { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' }],
  [/^riff-.*-mulaw$/, { encoding: 'mulaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' }],
  [/^riff-.*-alaw$/, { encoding: 'alaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' }],
  [/^ogg-.*-opus$/, { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' }],
  [/^webm-.*-opus$/, { encoding: 'opus', container: 'webm', mimeType: 'audio/webm; codecs=opus' }],
  [/^audio-.*-opus$/, { encoding: 'opus', mimeType: 'audio/opus' }],
];
const usualFormat = 'audio-24khz-48kbitrate-mono-mp3';
/** What takes the slowest scripts 10 minutes, after which the service cuts the audio off. */
const longestText = 2000;

function formatOf(id: string): AudioMetadata | undefined {
  const [, format] = formats.find(([pattern]) => pattern.test(id)) ?? [];
  const [, rate, kilo] = /-(\d+)(k?)hz-/.exec(id) ?? [];
  return format && rate ? { sampleRate: Number(rate) * (kilo ? 1000 : 1), channels: 1, ...format } : undefined;
}

/** A key goes with `token`, a factory's token with `bearer`. */
function authTypeOf({ authType, apiKey }: KappaTTSConfig): AuthType {
  return authType ?? (typeof apiKey === 'function' ? 'bearer' : 'token');
}

/** What the dialect needs too. */
export interface KappaFacts {
  readonly authTypeOf: (config: KappaTTSConfig) => AuthType;
  readonly usualFormat: string;
}

const facts: KappaFacts = { authTypeOf, usualFormat };

const wire: LateRequestWire<KappaTTSConfig> = {
  name: 'KappaTTS',
  // Custom voices have a host of their own.
  baseUrl: ({ region, deploymentId }) => azureSpeechUrl(deploymentId === undefined ? 'tts' : 'voice', region),
  rules: ({ proxyUrl, endpoint }) => ({
    ...{ outputFormat: {}, style: {}, role: {}, language: {}, deploymentId: {} },
    voiceName: { required: true },
    region: { required: !proxyUrl && !endpoint },
    styleDegree: { min: 0.01, max: 2 },
    rate: { min: 0.5, max: 2 },
    pitch: { min: -12, max: 12 },
    volume: { min: 0, max: 100 },
  }),
  problem: ({ region, outputFormat = usualFormat, extraBody }) => {
    if (extraBody) return 'extraBody has no place in its requests: they are SSML';
    if (region && !isAzureRegion(region)) return `region must be a name such as westeurope, not "${region}"`;
    const kinds = 'audio-…-mp3, raw-…-pcm, riff-…-pcm, raw-8khz-8bit-mono-mulaw, ogg-…-opus or webm-…-opus';
    return formatOf(outputFormat) ? undefined : `outputFormat must be one of ${kinds}, not "${outputFormat}"`;
  },
  openFormat: () => ({ key: 'outputFormat', samples: 'raw-24khz-16bit-mono-pcm' }),
  format: ({ outputFormat = usualFormat }) =>
    formatOf(outputFormat) ?? { encoding: 'mp3', sampleRate: 24_000, channels: 1 },
  normalizesText: () => true,
  maxTextLength: ({ rate = 1 }) => Math.floor(longestText * Math.min(1, rate)),
  load: async (name) => (await new OnDemand(name, () => import('./kappa-dialect.ts')).load()).kappaDialect(facts),
};

/**
 * Microsoft Azure AI Speech, text-to-speech over HTTP (`POST /cognitiveservices/v1`, SSML),
 * `https://<region>.tts.speech.microsoft.com`,
 * https://learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech
 *
 * Text starting with `<speak` is SSML, spoken by the configured voice unless it names its own; other text is escaped.
 * Beyond 2,000 characters it is split at sentences, since audio ends after 10 minutes. A key goes into the service's own
 * header; a token, as returned by a factory, is a bearer.
 */
export class KappaTTS extends RemoteTTS<KappaTTSConfig> {
  constructor(config: KappaTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }

  override get authType(): AuthType {
    return authTypeOf(this.config);
  }
}
