import { bytesPerSample } from '../../audio/formats.ts';
import type { AudioEncoding, AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import { asArray, asNumber, asObject, asString, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { HttpErrorFacts } from '../../transport/http-error.ts';
import { overSocket } from './sockets/over-socket.ts';
import type { SocketWire } from './sockets/socket-wire.ts';
import { piTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byId } from './sockets/by-id.ts';
import type { ContextVoice, SpokenEvent } from './sockets/speech-wire.ts';
import type { TTSConfig } from './voice-service.ts';

/** A model of {@link PiTTS}: `sonic-3`, `sonic-3.5`, `sonic-latest` or a dated one; others are passed through. */
export type PiTTSModel = 'sonic-3' | 'sonic-3.5' | 'sonic-latest' | 'sonic-2' | (string & {});

/** An encoding of {@link PiTTS}: raw samples, mono. */
export type PiTTSEncoding = 'pcm_s16le' | 'pcm_f32le' | 'pcm_mulaw' | 'pcm_alaw';

/** Configuration of {@link PiTTS}. Changes take effect from the next utterance on. */
export interface PiTTSConfig extends TTSConfig {
  /** Additional fields of each message of an utterance, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** The id of a voice, including cloned ones. Required. */
  readonly voiceId: string;
  /** Default: `sonic-3`. The service has retired `sonic`, `sonic-english` and `sonic-multilingual`. */
  readonly modelId?: PiTTSModel;
  /** ISO 639-1; a BCP 47 tag is reduced to its language. Default: `en`. */
  readonly language?: string;
  /** Default: `pcm_s16le`. */
  readonly outputEncoding?: PiTTSEncoding;
  /** 8000, 16000, 22050, 24000, 44100 or 48000 Hz. Default: 24000; 8000 for `pcm_mulaw` and `pcm_alaw`. */
  readonly outputSampleRate?: number;
  /**
   * A word, or 0.6 to 1.5; `slow` is 0.8 and `fast` 1.2. Models before `sonic-3` support only the words. Default: the
   * voice's.
   */
  readonly speed?: 'slow' | 'normal' | 'fast' | number;
  /** 0.5 to 2; `sonic-3` and newer. Default: the service's, 1. */
  readonly volume?: number;
  /**
   * Such as `['curious']`, or older tags such as `['positivity:high']`. The service accepts one: only the first is
   * sent, without its level. `sonic-3` and newer.
   */
  readonly emotion?: readonly string[];
  /**
   * How long the service may wait for more text, in milliseconds, 0 to 5,000. Default: 0, since text arrives in
   * sentences.
   */
  readonly maxBufferDelayMs?: number;
  /** The id of a pronunciation dictionary; `sonic-3` and newer. */
  readonly pronunciationDictId?: string;
  /** Most simultaneous utterances. Default: 2, as the smallest plan allows. */
  readonly concurrency?: number;
}

/** The version whose errors have codes, and whose voices are objects. */
const version = '2026-03-01';

const encodings: Readonly<Record<PiTTSEncoding, AudioEncoding>> = {
  pcm_s16le: 'linear16',
  pcm_f32le: 'linear32',
  pcm_mulaw: 'mulaw',
  pcm_alaw: 'alaw',
};

/** Models without emotions and numeric speeds. */
const isOld = (model: string): boolean => /^sonic(-2|-turbo|-english|-multilingual|$)/.test(model);

const speeds: Readonly<Record<string, number>> = { slow: 0.8, normal: 1, fast: 1.2 };

/** The current names of older versions' tags. */
const emotions: Readonly<Record<string, string>> = {
  anger: 'angry',
  positivity: 'happy',
  surprise: 'surprised',
  sadness: 'sad',
  curiosity: 'curious',
};

/** What the service's error names mean beyond their status. */
const errors: Readonly<Record<string, HttpErrorFacts>> = {
  model_not_found: { code: 'not_found', recoverable: false },
  model_sunsetted: { code: 'not_found', recoverable: false },
  voice_not_found: { code: 'not_found', recoverable: false },
  concurrency_limited: { code: 'rate_limited', recoverable: true },
};

const modelOf = ({ modelId = 'sonic-3' }: PiTTSConfig): string => modelId;

function formatOf({ outputEncoding = 'pcm_s16le', outputSampleRate }: PiTTSConfig): AudioMetadata {
  const encoding = encodings[outputEncoding];
  const sampleRate = outputSampleRate ?? (bytesPerSample(encoding) === 1 ? 8000 : 24_000);
  return { encoding, sampleRate, channels: 1, bitDepth: bytesPerSample(encoding) * 8 };
}

function voiceOf(config: PiTTSConfig): ContextVoice {
  const { voiceId, language = 'en', outputEncoding = 'pcm_s16le', maxBufferDelayMs = 0, pronunciationDictId } = config;
  const settings = {
    model_id: modelOf(config),
    voice: { mode: 'id', id: voiceId },
    language: language.split('-')[0]?.toLowerCase(),
    output_format: { container: 'raw', encoding: outputEncoding, sample_rate: formatOf(config).sampleRate },
    add_timestamps: true,
    max_buffer_delay_ms: maxBufferDelayMs,
    pronunciation_dict_id: pronunciationDictId,
    ...mannerOf(config),
    ...config.extraBody,
  };
  return (id) => {
    const say = (transcript: string, hasMore: boolean): string =>
      JSON.stringify({ context_id: id, ...settings, transcript, continue: hasMore });
    return {
      say: (text) => say(text, true),
      ending: [say('', false)],
      cancel: JSON.stringify({ context_id: id, cancel: true }),
    };
  };
}

function mannerOf(config: PiTTSConfig): object {
  const { speed, volume, emotion: [tag = ''] = [] } = config;
  if (isOld(modelOf(config))) return { speed: typeof speed === 'number' ? nearestWord(speed) : speed };
  const [name = ''] = tag.split(':');
  const manner = {
    speed: typeof speed === 'string' ? ownEntry(speeds, speed) : speed,
    volume,
    emotion: ownEntry(emotions, name) ?? (name || undefined),
  };
  const isSet = Object.values(manner).some((value) => value !== undefined);
  return isSet ? { generation_config: manner } : {};
}

/** Words and their times in seconds; markup in the text is returned as words. */
function wordsOf(timestamps: WireObject = {}): SpokenEvent[] {
  const seconds = (key: string, index: number): number | undefined => asNumber(asArray(timestamps[key])[index]);
  return asArray(timestamps['words']).flatMap((word, index): SpokenEvent[] => {
    const text = asString(word)?.trim() ?? '';
    const start = seconds('start', index);
    const end = seconds('end', index);
    if (!text || text.startsWith('<') || start === undefined || end === undefined) return [];
    return [{ type: 'word', text, startMs: Math.round(start * 1000), endMs: Math.round(end * 1000) }];
  });
}

function nearestWord(speed: number): string {
  return speed < 0.9 ? 'slow' : speed > 1.1 ? 'fast' : 'normal';
}

const wire: SocketWire<PiTTSConfig, undefined> = {
  name: 'PiTTS',
  baseUrl: 'https://api.cartesia.ai',
  normalizesText: () => true,

  rules: ({ speed }) => ({
    ...{ language: {}, pronunciationDictId: {}, extraBody: {} },
    voiceId: { required: true, type: 'text' },
    modelId: { type: 'text' },
    outputEncoding: { oneOf: Object.keys(encodings) },
    outputSampleRate: { oneOf: [8000, 16_000, 22_050, 24_000, 44_100, 48_000] },
    speed: typeof speed === 'string' ? { oneOf: Object.keys(speeds) } : { min: 0.6, max: 1.5 },
    volume: { min: 0.5, max: 2 },
    emotion: { type: 'texts' },
    maxBufferDelayMs: { min: 0, max: 5_000, integer: true },
    concurrency: { min: 1, max: 1_000, integer: true },
  }),
  advice: (config) => {
    const { emotion = [], volume } = config;
    if (isOld(modelOf(config)) && (emotion.length > 0 || volume !== undefined)) {
      return [`${modelOf(config)} does not support emotion and volume: they were not sent`];
    }
    return emotion.length > 1 ? ['only the first emotion was sent'] : [];
  },
  model: modelOf,
  retiring: piTTS,
  format: formatOf,
  // In Node the key is a header; a page can only use an access token, fetched by an `apiKey` factory.
  credentials: (key, { apiKey }) =>
    typeof apiKey === 'function'
      ? { headers: { Authorization: `Bearer ${key}` }, query: { access_token: key } }
      : { headers: { 'X-API-Key': key } },
  address: () => ({ path: '/tts/websocket', query: { cartesia_version: version } }),
  attribution: (_config, live) =>
    byId({
      contextOf: (message) => asString(message['context_id']),
      maxContexts: () => live().concurrency ?? 2,
      endsCancelled: false,
      speaksAtOnce: () => (live().maxBufferDelayMs ?? 0) === 0,
      // The service's own limit is 1 s.
      expiresMs: 700,
    }),
  voice: voiceOf,
  start: undefined,
  typeOf: ({ type }) => asString(type),
  read: {
    chunk: (state, message) => [state, { type: 'audio', data: decodeBase64(asString(message['data']) ?? '') }],
    timestamps: (state, message) => [state, ...wordsOf(asObject(message['word_timestamps']))],
    done: (state) => [state, { type: 'end' }],
    error: (state, message, { errors }) => {
      const error = errors.refusal(message, { status: asNumber(message['status_code']) ?? 500 });
      return [state, { type: 'error', error }];
    },
  },
  errorOf: ({ json }) => {
    const reason = asString(asObject(json)?.['error_code']);
    return { ...ownEntry(errors, reason), reason };
  },
};

/**
 * Cartesia Sonic text-to-speech (`/tts/websocket`, version 2026-03-01), `https://api.cartesia.ai`,
 * https://docs.cartesia.ai/api-reference/tts/websocket
 *
 * One connection speaks all utterances, each in its own context, so that intonation carries over from sentence to
 * sentence. The service reports word times in most languages; in others `words$` are estimates.
 */
export class PiTTS extends RemoteTTS<PiTTSConfig> {
  constructor(config: PiTTSConfig, logger?: Logger) {
    super(overSocket(wire), config, logger);
  }
}
