import type { AudioMetadata } from '../../audio/types.ts';
import type { Logger } from '../../core/logger.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { thetaTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { RequestTTSConfig, RequestWire } from './requests/request-wire.ts';

/** A model of {@link ThetaTTS}: `tts-1` is fast, `tts-1-hd` better; others are passed through. */
export type ThetaTTSModel = 'tts-1' | 'tts-1-hd' | 'gpt-4o-mini-tts' | (string & {});

/** A voice of {@link ThetaTTS}, the last four for `gpt-4o-mini-tts` only; others are passed through. */
export type ThetaTTSVoice =
  | ('alloy' | 'ash' | 'coral' | 'echo' | 'fable' | 'onyx' | 'nova' | 'sage' | 'shimmer')
  | ('ballad' | 'cedar' | 'marin' | 'verse' | (string & {}));

/** A format of {@link ThetaTTS}. */
export type ThetaTTSFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** Configuration of {@link ThetaTTS}. */
export interface ThetaTTSConfig extends RequestTTSConfig {
  /** All retire in January 2027. Default: `tts-1`. */
  readonly model?: ThetaTTSModel;
  /** A catalog voice, or the id of a custom one. Default: `alloy`. */
  readonly voice?: ThetaTTSVoice | { readonly id: string };
  /** Default: `mp3`; `wav` for an output that cannot decode, such as a phone. All stream. */
  readonly responseFormat?: ThetaTTSFormat | 'auto';
  /** 0.25 to 4. Default: the service's, 1. */
  readonly speed?: number;
  /** Speaking instructions, at most 4,096 characters; `tts-1` and `tts-1-hd` ignore them. */
  readonly instructions?: string;
  /** The organization to bill. */
  readonly organizationId?: string;
}

/** The service's formats, always at 24 kHz. */
const formats: Readonly<Record<ThetaTTSFormat, Partial<AudioMetadata> & Pick<AudioMetadata, 'encoding' | 'mimeType'>>> =
  {
    mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
    opus: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
    aac: { encoding: 'aac', container: 'adts', mimeType: 'audio/aac' },
    flac: { encoding: 'flac', container: 'flac', mimeType: 'audio/flac' },
    wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
    pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
  };

/** The voices that `tts-1` and `tts-1-hd` refuse. */
const newVoices: readonly string[] = ['ballad', 'cedar', 'marin', 'verse'];

const modelOf = ({ model = 'tts-1' }: ThetaTTSConfig): ThetaTTSModel => model;

/** Whether the model is one of the vendor's old ones: elsewhere, its name may stand for another. */
function isOld(config: ThetaTTSConfig): boolean {
  return config.endpoint === undefined && ['tts-1', 'tts-1-hd'].includes(modelOf(config));
}

const wire: RequestWire<ThetaTTSConfig> = {
  name: 'ThetaTTS',
  baseUrl: 'https://api.openai.com/v1',
  authType: 'bearer',
  rules: () => ({
    ...{ model: {}, organizationId: {} },
    responseFormat: { oneOf: Object.keys(formats) },
    'voice.id': { type: 'text' },
    speed: { min: 0.25, max: 4 },
    instructions: { maxLength: 4096 },
  }),
  problem: (config) => {
    const voice = newVoices.find((each) => each === config.voice);
    return voice && isOld(config)
      ? `${modelOf(config)} does not have the voice ${voice}: use gpt-4o-mini-tts`
      : undefined;
  },
  advice: (config) =>
    isOld(config) && config.instructions ? [`${modelOf(config)} ignores instructions: use gpt-4o-mini-tts`] : [],
  model: modelOf,
  retiring: thetaTTS,
  openFormat: () => ({ key: 'responseFormat', samples: 'wav' }),
  format: ({ responseFormat }) => ({
    sampleRate: 24_000,
    channels: 1,
    ...(ownEntry(formats, responseFormat) ?? formats.mp3),
  }),
  maxTextLength: () => 4096,
  request: (input, { config }) => {
    const { voice = 'alloy', responseFormat = 'mp3', speed, instructions, organizationId } = config;
    return {
      path: '/audio/speech',
      headers: { 'OpenAI-Organization': organizationId },
      json: { model: modelOf(config), input, voice, response_format: responseFormat, speed, instructions },
    };
  },
  // An exhausted account answers like a busy one, but waiting does not help.
  errorOf: ({ reason }) => (reason === 'insufficient_quota' ? { code: 'quota', recoverable: false } : undefined),
};

/**
 * OpenAI text-to-speech (`POST /audio/speech`), `https://api.openai.com/v1`,
 * https://platform.openai.com/docs/guides/text-to-speech
 *
 * At most 4,096 characters per request; longer texts are split at sentences.
 */
export class ThetaTTS extends RemoteTTS<ThetaTTSConfig> {
  constructor(config: ThetaTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }
}
