import type { AudioMetadata } from '../../audio/types.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { overSocket } from './sockets/over-socket.ts';
import type { LateSocketWire } from './sockets/socket-wire.ts';
import { gammaTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import type { TTSConfig } from './voice-service.ts';

/** A model of {@link GammaTTS}, with or without `eleven_`; others are passed through. */
export type GammaTTSModel =
  | 'turbo_v2_5'
  | 'turbo_v2'
  | 'multilingual_v2'
  | 'flash_v2_5'
  | 'flash_v2'
  | 'v4_turbo'
  | 'v4'
  | 'v3_conversational'
  | 'v3'
  | (string & {});

/** A format of {@link GammaTTS}, mono: encoding, sample rate in Hz, and kbit/s if compressed. */
export type GammaTTSFormat =
  | `pcm_${8000 | 16000 | 22050 | 24000 | 32000 | 44100 | 48000}`
  | 'ulaw_8000'
  | 'alaw_8000'
  | 'mp3_22050_32'
  | `mp3_44100_${32 | 64 | 96 | 128 | 192}`
  | `opus_48000_${32 | 64 | 96 | 128 | 192}`;

/** A pronunciation dictionary of the account. */
export interface GammaTTSDictionary {
  /** Its id. */
  readonly id: string;
  /** The id of its version. */
  readonly versionId: string;
}

/** Configuration of {@link GammaTTS}. Voice, model and format are fixed for a connection: a change opens a new one. */
export interface GammaTTSConfig extends TTSConfig {
  /** Additional fields of the message that opens an utterance, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** The id of a voice, including cloned ones. Required. */
  readonly voiceId: string;
  /** Default: `eleven_turbo_v2_5`. The vendor recommends `flash_v2_5`, which answers sooner; `v4_turbo` is more expressive. */
  readonly modelId?: GammaTTSModel;
  /** 0 to 1: higher is more even, lower more lively. Default: the voice's; 0.5 with `similarityBoost`. */
  readonly stability?: number;
  /** 0 to 1: how closely it follows the original voice. Default: the voice's; 0.75 with `stability`. */
  readonly similarityBoost?: number;
  /** 0 to 1: exaggerates the style of the voice. Default: the voice's. */
  readonly style?: number;
  /** Follows the original speaker more closely, at some latency. Default: the voice's. */
  readonly useSpeakerBoost?: boolean;
  /** 0.7 to 1.2. Default: the voice's. */
  readonly speed?: number;
  /** Default: `pcm_16000`. A pipeline needs `pcm_…`, `ulaw_8000` or `alaw_8000`, which also stream. */
  readonly outputFormat?: GammaTTSFormat;
  /** ISO 639-1. `turbo_v2`, `flash_v2` and `multilingual_v2` reject it. Default: that of the text. */
  readonly language?: string;
  /** Synthesizes each piece of text at once. Default: true, unless `chunkLengthSchedule` is set. */
  readonly autoMode?: boolean;
  /** Characters to wait for before the first, second, … generation; each 50 to 500. */
  readonly chunkLengthSchedule?: readonly number[];
  /** Seconds without a message after which the service ends a context; 1 to 180. Default: 180. */
  readonly inactivityTimeout?: number;
  /** Whether numbers and dates are spelled out. Default: the service's, `auto`. */
  readonly applyTextNormalization?: 'auto' | 'on' | 'off' | (string & {});
  /** Whether SSML in the text is interpreted. Default: the service's, false. */
  readonly enableSsmlParsing?: boolean;
  /** False stores nothing at the vendor; enterprise accounts only. Default: the service's, true. */
  readonly enableLogging?: boolean;
  /** 0 to 4,294,967,295: the same seed gives much the same speech. */
  readonly seed?: number;
  /** Pronunciation dictionaries, in order. */
  readonly pronunciationDictionaries?: readonly GammaTTSDictionary[];
}

const formats: Readonly<Record<string, Pick<AudioMetadata, 'encoding' | 'bitDepth' | 'container' | 'mimeType'>>> = {
  pcm: { encoding: 'linear16', bitDepth: 16 },
  ulaw: { encoding: 'mulaw', bitDepth: 8 },
  alaw: { encoding: 'alaw', bitDepth: 8 },
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  opus: { encoding: 'opus', container: 'ogg', mimeType: 'audio/ogg; codecs=opus' },
};
const rates = (name: string, ...values: readonly number[]): string[] => values.map((value) => `${name}_${value}`);
const outputFormats = [
  ...rates('pcm', 16000, 22050, 24000, 8000, 32000, 44100, 48000),
  ...['mp3_22050_32', ...rates('mp3_44100', 32, 64, 96, 128, 192), 'ulaw_8000', 'alaw_8000'],
  ...rates('opus_48000', 32, 64, 96, 128, 192),
];

/** Longest text in characters, by model; 10,000 for others. */
const textLimits: Readonly<Record<string, number>> = {
  eleven_turbo_v2_5: 40_000,
  eleven_flash_v2_5: 40_000,
  eleven_turbo_v2: 30_000,
  eleven_flash_v2: 30_000,
  eleven_v3: 5_000,
  eleven_v3_conversational: 5_000,
};

function modelOf({ modelId = 'eleven_turbo_v2_5' }: GammaTTSConfig): string {
  return /^(turbo|flash|multilingual|v\d)/.test(modelId) ? `eleven_${modelId}` : modelId;
}

/** Whether a model is only served as dialogue. Source: elevenlabs.io/docs/eleven-api/guides/how-to/websockets/tts-vs-ttd-websockets. */
function isDialogue(config: GammaTTSConfig): boolean {
  return /^eleven_v[34](_|$)/.test(modelOf(config));
}

/** What dialogue has no word for. */
const speechOnly = [
  ...(['similarityBoost', 'style', 'useSpeakerBoost', 'speed'] as const),
  ...(['autoMode', 'chunkLengthSchedule', 'inactivityTimeout', 'enableSsmlParsing'] as const),
];

const part = { min: 0, max: 1 };

const wire: LateSocketWire<GammaTTSConfig> = {
  name: 'GammaTTS',
  baseUrl: 'https://api.elevenlabs.io',
  rules: () => ({
    ...{
      language: {},
      useSpeakerBoost: {},
      autoMode: {},
      chunkLengthSchedule: {},
      enableSsmlParsing: {},
      enableLogging: {},
      pronunciationDictionaries: {},
      extraBody: {},
    },
    voiceId: { required: true, type: 'text' },
    modelId: { type: 'text' },
    outputFormat: { oneOf: outputFormats },
    stability: part,
    similarityBoost: part,
    style: part,
    speed: { min: 0.7, max: 1.2 },
    inactivityTimeout: { min: 1, max: 180, integer: true },
    applyTextNormalization: { known: ['auto', 'on', 'off'] },
    seed: { min: 0, max: 4_294_967_295, integer: true },
  }),
  problem: (config) => {
    const isLength = (length: number): boolean => Number.isInteger(length) && length >= 50 && length <= 500;
    if (config.chunkLengthSchedule?.every(isLength) !== false) return undefined;
    return 'chunkLengthSchedule must contain whole numbers from 50 to 500';
  },
  advice: (config) =>
    speechOnly
      .filter((key) => isDialogue(config) && config[key] !== undefined)
      .map((key) => `${key} is not supported by ${modelOf(config)}, and was not sent`),
  model: modelOf,
  retiring: gammaTTS,
  format: ({ outputFormat = 'pcm_16000' }) => {
    const [name, rate] = outputFormat.split('_');
    return { encoding: 'linear16', ...ownEntry(formats, name), sampleRate: Number(rate), channels: 1 };
  },
  normalizesText: ({ applyTextNormalization }) => applyTextNormalization === 'on',
  maxTextLength: (config) => ownEntry(textLimits, modelOf(config)) ?? 10_000,
  // In Node the key is a header; a page can only use a single-use token, fetched by an `apiKey` factory.
  credentials: (key, { apiKey }) => {
    const query = { single_use_token: key };
    if (key.startsWith('sutkn_')) return { query };
    return { headers: { 'xi-api-key': key }, ...(typeof apiKey === 'function' && { query }) };
  },
  load: async (name) => {
    const { gammaDialects } = await new OnDemand(name, () => import('./gamma-dialect.ts')).load();
    return gammaDialects({ modelOf, isDialogue });
  },
};

/**
 * ElevenLabs streaming text-to-speech (`/v1/text-to-speech/{voice}/multi-stream-input`),
 * `https://api.elevenlabs.io`,
 * https://elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-multi-stream-input
 *
 * One connection speaks all utterances, at most five at once (four with v3 and v4 models), each in its own context. The
 * service reports when each character sounds, so `words$` has real times.
 *
 * The v3 and v4 models speak over `/v1/text-to-dialogue/multi-stream-input`:
 * https://elevenlabs.io/docs/api-reference/text-to-dialogue/ttd-multi-websocket
 */
export class GammaTTS extends RemoteTTS<GammaTTSConfig> {
  constructor(config: GammaTTSConfig, logger?: Logger) {
    super(overSocket(wire), config, logger);
  }
}
