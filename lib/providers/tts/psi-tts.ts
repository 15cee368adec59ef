import type { Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { entry } from '../../core/guard.ts';
import { loadOptionalPeer, rethrow } from '../../core/optional-peer.ts';
import type { AuthType } from '../../core/remote-provider.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/sse.ts';
import { readPsiTimings } from './psi-tts-timings.ts';
import { RestTTS, type RestTTSConfig, type SpeechRequest } from './rest-tts.ts';
import type { SynthesisEvent } from './utterance.ts';

/** A model of {@link PsiTTS}; the service takes an id that it does not know for `s2.1-pro`, and bills that. */
export type PsiTTSModel = 's1' | 's2-pro' | 's2.1-pro' | 's2.1-pro-free' | (string & {});

/** A format of {@link PsiTTS}. */
export type PsiTTSFormat = 'mp3' | 'wav' | 'pcm' | 'opus';

/** A voice sample for cloning within the request: 10 to 30 s of a WAV, MP3 or FLAC file. */
export interface PsiTTSReference {
  readonly audio: Uint8Array | ArrayBuffer | Blob;
  /** Its exact words. */
  readonly text: string;
}

/** Configuration of {@link PsiTTS}. What is absent is left to the service. */
export interface PsiTTSConfig extends RestTTSConfig {
  /** Default: `s2.1-pro`. */
  readonly model?: PsiTTSModel;
  /** The voice's id; several for a text with several speakers. */
  readonly referenceId?: string | readonly string[];
  /** Voices to clone, in place of `referenceId`; they travel with every request. */
  readonly references?: readonly PsiTTSReference[];
  /** Default: `mp3`, which browsers play; a pipeline on a server needs `pcm` or `wav`, which also stream. */
  readonly format?: PsiTTSFormat;
  /** `balanced` answers sooner, `low` soonest. Default: `normal`. */
  readonly latency?: 'normal' | 'balanced' | 'low';
  /** wav, pcm: 8000 to 44100 Hz (default 44100); mp3: 32000 or 44100 (default); opus: 48000. */
  readonly sampleRate?: number;
  /** 0.5 to 2. */
  readonly speed?: number;
  /** Gain in dB. */
  readonly volume?: number;
  /** Evens out the loudness; `s1` ignores it. Default: the service's, true. */
  readonly normalizeLoudness?: boolean;
  /** Text normalization: numbers and dates are written out, in English and Chinese. */
  readonly normalize?: boolean;
  /** kbit/s: 64, 128 or 192. */
  readonly mp3Bitrate?: 64 | 128 | 192;
  /** bit/s: -1000 (automatic), 24000, 32000, 48000 or 64000. */
  readonly opusBitrate?: -1000 | 24000 | 32000 | 48000 | 64000;
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
  /** Longest audio for a piece of the text, in tokens of the service. Default: the service's, 1024. */
  readonly maxNewTokens?: number;
  /** Whether earlier audio keeps the voice even. Default: the service's, true. */
  readonly conditionOnPreviousChunks?: boolean;
  /** 0 to 1. */
  readonly earlyStopThreshold?: number;
  /** Such as `quality-guard`. */
  readonly features?: readonly string[];
  /** Whether the service is asked when each word sounds; else words are estimated. Default: false. */
  readonly wordTimings?: boolean;
}

interface Format {
  readonly metadata: Omit<AudioMetadata, 'sampleRate' | 'channels'>;
  /** In Hz; the last one is the service's default. */
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

/** MessagePack's encoder. */
type Encode = (value: unknown, options: { readonly ignoreUndefined: boolean }) => Uint8Array<ArrayBuffer>;

/**
 * PsiTTS: Fish Audio text-to-speech (`POST /v1/tts`, MessagePack), `https://api.fish.audio`, https://docs.fish.audio
 *
 * Needs the optional package @msgpack/msgpack (>= 3.0.0).
 */
export class PsiTTS extends RestTTS<PsiTTSConfig> {
  override readonly name: string = 'PsiTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.fish.audio';
  protected override readonly defaultAuthType: AuthType = 'bearer';
  // Of an account that has not spent 100 USD yet.
  protected override readonly maxConcurrency: number = 5;
  #encode: Encode | undefined;

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    const part = { min: 0, max: 1 };
    return {
      format: { oneOf: Object.keys(formats) },
      latency: { oneOf: ['normal', 'balanced', 'low'] },
      sampleRate: { oneOf: this.#format.sampleRates },
      speed: { min: 0.5, max: 2 },
      mp3Bitrate: { oneOf: [64, 128, 192] },
      opusBitrate: { oneOf: [-1000, 24000, 32000, 48000, 64000] },
      chunkLength: { min: 100, max: 300 },
      minChunkLength: { min: 0, max: 100 },
      ...{ temperature: part, topP: part, earlyStopThreshold: part },
    };
  }

  protected override wireFormat(): AudioMetadata {
    const { metadata, sampleRates } = this.#format;
    return { sampleRate: this.config.sampleRate ?? sampleRates.at(-1) ?? 44_100, channels: 1, ...metadata };
  }

  protected override configProblem(): string | undefined {
    const { referenceId, references } = this.config;
    const isTwice = referenceId !== undefined && references !== undefined;
    return isTwice ? 'set referenceId or references, not both' : super.configProblem();
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    this.#encode = await loadOptionalPeer(this.name, '@msgpack/msgpack', '>= 3.0.0', () => this.importEncoder());
    await super.onInitialize(signal);
  }

  /** @internal */
  protected async importEncoder(): Promise<Encode> {
    return (await import('@msgpack/msgpack').catch(rethrow)).encode;
  }

  protected override async request(text: string): Promise<SpeechRequest> {
    const { config } = this;
    const references = config.references && (await Promise.all(config.references.map(readReference)));
    const prosody = { speed: config.speed, volume: config.volume, normalize_loudness: config.normalizeLoudness };
    const body = {
      text,
      format: config.format ?? 'mp3',
      latency: config.latency ?? 'normal',
      reference_id: config.referenceId,
      references,
      sample_rate: config.sampleRate,
      mp3_bitrate: config.mp3Bitrate,
      opus_bitrate: config.opusBitrate,
      normalize: config.normalize,
      prosody: Object.values(prosody).some((value) => value !== undefined) ? prosody : undefined,
      chunk_length: config.chunkLength,
      min_chunk_length: config.minChunkLength,
      temperature: config.temperature,
      top_p: config.topP,
      repetition_penalty: config.repetitionPenalty,
      max_new_tokens: config.maxNewTokens,
      condition_on_previous_chunks: config.conditionOnPreviousChunks,
      early_stop_threshold: config.earlyStopThreshold,
      features: config.features,
    };
    return {
      path: config.wordTimings ? '/v1/tts/stream/with-timestamp' : '/v1/tts',
      headers: { 'Content-Type': 'application/msgpack', model: config.model ?? 's2.1-pro' },
      // A view on the encoder's larger buffer.
      ...(this.#encode && { body: this.#encode(body, { ignoreUndefined: true }) }),
    };
  }

  protected override readResponse(response: HttpResponse): Observable<SynthesisEvent> {
    const isTimed = mediaType(response.headers) === 'text/event-stream';
    return isTimed ? readPsiTimings(response, this.name) : super.readResponse(response);
  }

  get #format(): Format {
    return entry(formats, this.config.format) ?? formats.mp3;
  }
}

async function readReference({ audio, text }: PsiTTSReference): Promise<{ audio: Uint8Array; text: string }> {
  // A Buffer, too, becomes a plain Uint8Array: the encoder writes only those as binary.
  const bytes = audio instanceof Blob ? await audio.arrayBuffer() : audio;
  return { audio: bytes instanceof Uint8Array ? new Uint8Array(bytes) : new Uint8Array(bytes), text };
}
