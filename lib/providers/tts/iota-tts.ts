import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';

/** An encoding of {@link IotaTTS}. */
export type IotaTTSEncoding = 'MP3' | 'OGG_OPUS' | 'LINEAR16' | 'MULAW' | 'ALAW';

/** The device for which {@link IotaTTS} optimizes the audio. */
export type IotaTTSEffectsProfile =
  | 'wearable-class-device'
  | 'handset-class-device'
  | 'headphone-class-device'
  | 'small-bluetooth-speaker-class-device'
  | 'medium-bluetooth-speaker-class-device'
  | 'large-home-entertainment-class-device'
  | 'large-automotive-class-device'
  | 'telephony-class-application'
  | (string & {});

/** Configuration of {@link IotaTTS}. Anything omitted is left to the service. */
export interface IotaTTSConfig extends RequestTTSConfig {
  /** BCP 47, without a script: `cmn-CN`. Default: the prefix of `voiceName`, else `en-US`. */
  readonly languageCode?: string;
  /** Such as `en-US-Neural2-F`. Default: the service's choice for the language. */
  readonly voiceName?: string;
  /** `MALE` or `FEMALE`, if no `voiceName` decides it. */
  readonly ssmlGender?: 'MALE' | 'FEMALE' | (string & {});
  /** Default: `MP3`; `LINEAR16` for an output that cannot decode, such as a phone. */
  readonly audioEncoding?: IotaTTSEncoding | 'auto';
  /** 0.25 to 4; the service currently accepts at most 2, so more is sent as 2. Default: the service's, 1. */
  readonly speakingRate?: number;
  /** -20 to 20 semitones; not sent to Chirp3-HD voices, which refuse it. Default: the service's, 0. */
  readonly pitch?: number;
  /** Volume gain, -96 to 16 dB. Default: the service's, 0. */
  readonly volumeGainDb?: number;
  /** 8000 to 48000 Hz. Default: the voice's own, mostly 24000. */
  readonly sampleRate?: number;
  /** Device effects profiles, applied in order. */
  readonly effectsProfileId?: readonly IotaTTSEffectsProfile[];
  /** The model of voices that have several, such as `gemini-2.5-flash-tts`. */
  readonly modelName?: string;
  /** Speaking instructions, for models that follow them. */
  readonly prompt?: string;
}

/** The service's formats: it puts a WAV header before all samples. */
const formats: Readonly<Record<IotaTTSEncoding, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  MP3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  OGG_OPUS: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
  LINEAR16: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  MULAW: { encoding: 'mulaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' },
  ALAW: { encoding: 'alaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' },
};

/** What the service accepts today; it used to be 4. */
const fastestRate = 2;
const pitches = { min: -20, max: 20 };
/** Rules for the keys, and the names of those in the service's `audioConfig`. */
export const iotaTTSRules: ConfigRules = {
  ...{ languageCode: {}, voiceName: {}, modelName: {}, prompt: {} },
  audioEncoding: { oneOf: Object.keys(formats), wire: 'audioEncoding', default: 'MP3' },
  ssmlGender: { known: ['MALE', 'FEMALE'] },
  speakingRate: { min: 0.25, max: 4, wire: 'speakingRate', toWire: (rate: number) => Math.min(rate, fastestRate) },
  pitch: { ...pitches, wire: 'pitch' },
  volumeGainDb: { min: -96, max: 16, wire: 'volumeGainDb' },
  sampleRate: { min: 8000, max: 48_000, integer: true, wire: 'sampleRateHertz' },
  effectsProfileId: { type: 'texts', wire: 'effectsProfileId' },
};

/** Voices that refuse any `pitch`. */
const isUnpitched = ({ voiceName = '' }: IotaTTSConfig): boolean => voiceName.includes('-Chirp3-HD-');

const wire: LateRequestWire<IotaTTSConfig> = {
  name: 'IotaTTS',
  baseUrl: 'https://texttospeech.googleapis.com',
  rules: (config) => (isUnpitched(config) ? { ...iotaTTSRules, pitch: pitches } : iotaTTSRules),
  advice: (config) => {
    const { speakingRate = 1, pitch, voiceName = '' } = config;
    const hasPitch = pitch !== undefined && isUnpitched(config);
    return [
      ...(speakingRate > fastestRate
        ? [`speakingRate ${speakingRate} is sent as ${fastestRate}, the most that the service accepts`]
        : []),
      ...(hasPitch ? [`pitch is not supported by ${voiceName}, and was not sent`] : []),
    ];
  },
  openFormat: () => ({ key: 'audioEncoding', samples: 'LINEAR16' }),
  format: ({ audioEncoding, sampleRate = 24_000 }) => ({
    sampleRate,
    channels: 1,
    ...(ownEntry(formats, audioEncoding) ?? formats.MP3),
  }),
  normalizesText: () => true,
  maxTextLength: () => 5000,
  load: async (name) => (await new OnDemand(name, () => import('./iota-dialect.ts')).load()).iotaDialect,
};

/**
 * Google Cloud Text-to-Speech v1 (`text:synthesize`), `https://texttospeech.googleapis.com`,
 * https://cloud.google.com/text-to-speech/docs/reference/rest/v1/text/synthesize
 *
 * Text starting with `<speak` is SSML. At most 5,000 bytes per request; longer texts are split at sentences.
 */
export class IotaTTS extends RemoteTTS<IotaTTSConfig> {
  constructor(config: IotaTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }
}
