import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { missingPackage } from '../../core/optional-peer.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { psiTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests } from './requests/by-requests.ts';
import type { LateRequestWire, RequestTTSConfig } from './requests/request-wire.ts';

/** A model of {@link PsiTTS}; the service treats an unknown id as `s2.1-pro`, and bills that. */
export type PsiTTSModel = 's1' | 's2-pro' | 's2.1-pro' | 's2.1-pro-free' | (string & {});

/** A format of {@link PsiTTS}. */
export type PsiTTSFormat = 'mp3' | 'wav' | 'pcm' | 'opus';

/** A voice sample for cloning in the request: 10 to 30 s of a WAV, MP3 or FLAC file. */
export interface PsiTTSReference {
  readonly audio: Uint8Array | ArrayBuffer | Blob;
  /** Its exact words. */
  readonly text: string;
}

/** Configuration of {@link PsiTTS}. Anything omitted is left to the service. */
export interface PsiTTSConfig extends RequestTTSConfig {
  /** Default: `s2.1-pro`. */
  readonly model?: PsiTTSModel;
  /** The voice's id; several for a text with several speakers. */
  readonly referenceId?: string | readonly string[];
  /** Voices to clone, instead of `referenceId`; they are sent with every request. */
  readonly references?: readonly PsiTTSReference[];
  /** Default: `mp3`; `wav` for an output that cannot decode, such as a phone. All stream. */
  readonly format?: PsiTTSFormat | 'auto';
  /** `balanced` answers sooner, `low` soonest. Default: `normal`. */
  readonly latency?: 'normal' | 'balanced' | 'low' | (string & {});
  /** wav, pcm: 8000 to 44100 Hz (default 44100); mp3: 32000 or 44100 (default); opus: 48000. */
  readonly sampleRate?: number;
  /** 0.5 to 2. */
  readonly speed?: number;
  /** Gain in dB. */
  readonly volume?: number;
  /** Levels the volume; `s1` ignores it. Default: the service's, true. */
  readonly normalizeLoudness?: boolean;
  /** Text normalization: numbers and dates are spelled out, in English and Chinese. */
  readonly normalize?: boolean;
  /** kbit/s: 64, 128 or 192. */
  readonly mp3Bitrate?: number;
  /** bit/s: -1000 (automatic), 24000, 32000, 48000 or 64000. */
  readonly opusBitrate?: number;
  /** 100 to 300; 100 gives the most even flow. */
  readonly chunkLength?: number;
  /** 0 to 100. */
  readonly minChunkLength?: number;
  /** 0 to 1. */
  readonly temperature?: number;
  /** 0 to 1. */
  readonly topP?: number;
  /** Above 1 makes repetitions rarer. Default: the service's, 1.2. */
  readonly repetitionPenalty?: number;
  /** Longest audio per part of the text, in the service's tokens. Default: the service's, 1024. */
  readonly maxNewTokens?: number;
  /** Whether earlier audio keeps the voice consistent. Default: the service's, true. */
  readonly conditionOnPreviousChunks?: boolean;
  /** 0 to 1. */
  readonly earlyStopThreshold?: number;
  /** Such as `quality-guard`. */
  readonly features?: readonly string[];
  /** Whether to request word times; otherwise words are estimated. Default: false. */
  readonly wordTimings?: boolean;
}

interface Format {
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz; the last is the service's default. */
  readonly sampleRates: readonly number[];
}

const pcmRates = [8000, 16000, 24000, 32000, 44100];
const formats: Readonly<Record<PsiTTSFormat, Format>> = {
  mp3: { metadata: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' }, sampleRates: [32000, 44100] },
  wav: {
    metadata: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
    sampleRates: pcmRates,
  },
  pcm: { metadata: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' }, sampleRates: pcmRates },
  opus: { metadata: { encoding: 'opus', container: 'ogg', mimeType: 'audio/opus' }, sampleRates: [48000] },
};

const part = { min: 0, max: 1, wire: true } as const;

/** Rules for the keys, and their names in a request. */
export const psiTTSRules: ConfigRules = {
  ...{ model: {}, references: {}, wordTimings: {} },
  format: { oneOf: Object.keys(formats), wire: true, default: 'mp3' },
  latency: { known: ['normal', 'balanced', 'low'], wire: true, default: 'normal' },
  referenceId: { wire: true },
  sampleRate: { wire: true },
  mp3Bitrate: { known: [64, 128, 192], wire: true },
  opusBitrate: { known: [-1000, 24000, 32000, 48000, 64000], wire: true },
  speed: { min: 0.5, max: 2, wire: true },
  volume: { wire: true },
  normalizeLoudness: { wire: true },
  normalize: { wire: true },
  chunkLength: { min: 100, max: 300, wire: true },
  minChunkLength: { min: 0, max: 100, wire: true },
  temperature: part,
  topP: part,
  repetitionPenalty: { wire: true },
  maxNewTokens: { wire: true },
  conditionOnPreviousChunks: { wire: true },
  earlyStopThreshold: part,
  features: { wire: true },
};

function formatOf({ format }: PsiTTSConfig): Format {
  return ownEntry(formats, format) ?? formats.mp3;
}

/** MessagePack's encoder. */
export type Encode = (value: unknown, options: { readonly ignoreUndefined: boolean }) => Uint8Array<ArrayBuffer>;

const wire: LateRequestWire<PsiTTSConfig> = {
  name: 'PsiTTS',
  baseUrl: 'https://api.fish.audio',
  authType: 'bearer',
  rules: (config) => ({ ...psiTTSRules, sampleRate: { oneOf: formatOf(config).sampleRates, wire: true } }),
  problem: ({ referenceId, references }) =>
    referenceId !== undefined && references !== undefined ? 'set referenceId or references, not both' : undefined,
  normalizesText: ({ normalize = true }) => normalize && ['en', 'zh'],
  retiring: psiTTS,
  openFormat: () => ({ key: 'format', samples: 'wav' }),
  format: (config) => {
    const { metadata, sampleRates } = formatOf(config);
    return { sampleRate: config.sampleRate ?? sampleRates.at(-1) ?? 44_100, channels: 1, ...metadata };
  },
  load: async (name) => {
    const code = new OnDemand(name, () => import('./psi-dialect.ts'));
    const [encode, { psiDialect }] = await Promise.all([loadEncoder(name), code.load()]);
    return psiDialect(encode);
  },
};

/**
 * Fish Audio text-to-speech (`POST /v1/tts`, MessagePack), `https://api.fish.audio`, https://docs.fish.audio
 *
 * Needs the optional package @msgpack/msgpack (>= 3.0.0).
 */
export class PsiTTS extends RemoteTTS<PsiTTSConfig> {
  constructor(config: PsiTTSConfig, logger?: Logger) {
    super(byRequests(wire), config, logger);
  }
}

async function loadEncoder(name: string): Promise<Encode> {
  try {
    return (await import('@msgpack/msgpack')).encode;
  } catch (cause) {
    throw missingPackage(name, '@msgpack/msgpack', '>= 3.0.0', cause);
  }
}
