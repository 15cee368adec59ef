import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { asNumber, asObjects, asString, ownEntry, type WireObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { tauTTS } from '../retiring.ts';
import { RemoteTTS } from './remote-tts.ts';
import { byRequests, type RequestVoice } from './requests/by-requests.ts';
import type { RequestTTSConfig, RequestWire } from './requests/request-wire.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { TTSCallOptions } from './voice-service.ts';
import { endMarks, hearMarks, type SpeechMark } from './words/speech-marks.ts';
import type { WordTiming } from './words/spread-words.ts';

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

const wire: RequestWire<TauTTSConfig> = {
  name: 'TauTTS',
  baseUrl: 'https://api.lmnt.com',
  credential: (key) => ({ 'X-API-Key': key }),
  rules: () => tauTTSRules,
  retiring: tauTTS,
  openFormat: () => ({ key: 'format', samples: 'pcm_s16le' }),
  format: ({ format, sampleRate = format === 'ulaw' ? 8000 : 24_000 }) => ({
    sampleRate,
    channels: 1,
    ...(ownEntry(formats, format) ?? formats.mp3),
  }),
  maxTextLength: () => 5000,
  // It is undocumented whether the service counts code points or UTF-16 units: the latter are never fewer.
  lengthOf: ({ length }) => length,
  request: (text, { config }) => ({
    path: config.wordTimings ? '/v1/ai/speech' : '/v1/ai/speech/bytes',
    headers: { ...version, Accept: config.wordTimings ? 'application/json' : 'application/octet-stream' },
    json: { text, ...wireParameters(config, tauTTSRules) },
  }),
  read: (response, context) =>
    context.answers.object(response, ({ audio, timestamps }) => {
      const data = decodeBase64(asString(audio) ?? '');
      if (!data?.length) throw context.error('the answer has no audio', { code: 'protocol', recoverable: true });
      const words = wordsOf(asObjects(timestamps)).map((word) => ({ type: 'word', ...word }) as const);
      return [{ type: 'audio', data }, ...words];
    }),
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
    const all = asObjects(await this.speaker.fetchJson(request, signal ? { signal } : {}));
    return all.filter(({ state }) => state === undefined || state === 'ready').flatMap(voiceOf);
  }
}

/** The service times words, spaces and punctuation separately, in seconds. */
function wordsOf(timestamps: readonly WireObject[]): WordTiming[] {
  let at = 0;
  const marks = timestamps.flatMap(({ text, start, duration }): SpeechMark[] => {
    const [piece, seconds, length] = [asString(text) ?? ' ', asNumber(start), asNumber(duration)];
    const from = at;
    at += piece.length;
    if (!piece.trim() || seconds === undefined || length === undefined) return [];
    const startMs = Math.round(seconds * 1000);
    return [{ text: piece.trim(), startMs, endMs: Math.round((seconds + length) * 1000), start: from, end: at }];
  });
  const [open, ...words] = hearMarks(undefined, marks);
  const [, ...last] = endMarks(open);
  return [...words, ...last].filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = asString(voice['id']);
  if (id === undefined) return [];
  const optional = {
    gender: asString(voice['gender']),
    description: asString(voice['description']),
    previewUrl: asString(voice['preview_url']),
  };
  const told = Object.fromEntries(Object.entries(optional).filter(([, value]) => value));
  return [{ id, name: asString(voice['name']) ?? id, languages: [], ...told }];
}
