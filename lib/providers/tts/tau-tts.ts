import { concat, of, from, switchMap, type Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { entry, num, obj, objs, str, type WireObject } from '../../core/guard.ts';
import { readJson, type HttpRequestHeaders, type HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/sse.ts';
import type { TTSCallOptions } from './base-tts.ts';
import { RestTTS, type RestTTSConfig, type SpeechRequest } from './rest-tts.ts';
import { SpeechMarks, type SpeechMark } from './words/speech-marks.ts';
import type { WordTiming } from './words/spread-words.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { SynthesisEvent } from './utterance.ts';

/** A model of {@link TauTTS}; later ones pass through. */
export type TauTTSModel = 'blizzard' | (string & {});

/** A format of {@link TauTTS}, mono. */
export type TauTTSFormat = 'mp3' | 'wav' | 'aac' | 'ulaw' | 'webm' | 'pcm_s16le' | 'pcm_f32le';

/** Configuration of {@link TauTTS}. What is absent is left to the service. */
export interface TauTTSConfig extends RestTTSConfig {
  /** The id of a voice, such as `leah`, or of a cloned one; `voices()` lists them. Required. */
  readonly voice: string;
  /** Default: `blizzard`. */
  readonly model?: TauTTSModel;
  /** Default: `mp3`; a pipeline on a server needs `pcm_s16le`, `pcm_f32le`, `ulaw` or `wav`. `wav` and `aac` do not stream. */
  readonly format?: TauTTSFormat;
  /** ISO 639-1, one of 31 languages; naming it is faster. Default: automatic. */
  readonly language?: string;
  /** 0.0001 to 5: lower is more neutral. Default: the service's, 1. */
  readonly temperature?: number;
  /** 0 to 1: lower is more consistent. Default: the service's, 0.8. */
  readonly topP?: number;
  /** 8000, 16000 or 24000 Hz. Default: 24000; `ulaw` 8000. */
  readonly sampleRate?: 8000 | 16000 | 24000;
  /** Asks when each word sounds; the answer then comes whole. Default: false, words are estimated. */
  readonly wordTimings?: boolean;
  /** Also saves a recording in the account. Default: the service's, false. */
  readonly debug?: boolean;
}

/** Which voices {@link TauTTS.voices} lists. */
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
  // With a WAV header, also where it streams.
  ulaw: { encoding: 'mulaw', bitDepth: 8, container: 'wav', mimeType: 'audio/wav' },
  webm: { encoding: 'opus', container: 'webm', mimeType: 'audio/webm' },
  pcm_s16le: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
  pcm_f32le: { encoding: 'linear32', bitDepth: 32, mimeType: 'audio/pcm' },
};

/** The version whose errors have types. */
const version = { 'lmnt-version': '1.1' };

const retired = { aurora: 'blizzard', 'blizzard-dialogue': 'blizzard' };

/** Longest answer, in bytes: a whole recording in base64. */
const maxAnswerBytes = 64 * 1024 * 1024;

/**
 * TauTTS: LMNT text-to-speech (`POST /v1/ai/speech/bytes`, with word times `POST /v1/ai/speech`),
 * `https://api.lmnt.com`, https://docs.lmnt.com
 *
 * At most 5,000 characters a request; longer texts are cut at sentences.
 */
export class TauTTS extends RestTTS<TauTTSConfig> {
  override readonly name: string = 'TauTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.lmnt.com';

  override get maxTextLength(): number {
    return 5000;
  }

  // Whether the service counts code points or units of UTF-16 it does not say: the latter are never fewer.
  protected override lengthOf(character: string): number {
    return character.length;
  }

  /**
   * The voices that can speak now.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  async voices({ signal, ...query }: TauTTSVoiceFilter & TTSCallOptions = {}): Promise<readonly TTSVoice[]> {
    const request = { path: '/v1/ai/voice/list', query: { ...query }, headers: version };
    const all = objs(await this.fetchJson(request, signal ? { signal } : {}));
    return all.filter(({ state }) => state === undefined || state === 'ready').flatMap(voiceOf);
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    return {
      voice: { required: true, type: 'text' },
      format: { oneOf: Object.keys(formats) },
      language: { type: 'text' },
      temperature: { min: 0.0001, max: 5 },
      topP: { min: 0, max: 1 },
      sampleRate: { oneOf: [8000, 16_000, 24_000] },
    };
  }

  protected override onInitialize(signal: AbortSignal): Promise<void> {
    this.warnOfRetired(this.config.model, retired);
    return super.onInitialize(signal);
  }

  protected override wireFormat(): AudioMetadata {
    const { format, sampleRate = format === 'ulaw' ? 8000 : 24_000 } = this.config;
    return { sampleRate, channels: 1, ...(entry(formats, format) ?? formats.mp3) };
  }

  protected override request(text: string): SpeechRequest {
    const { voice, model = 'blizzard', format = 'mp3', language, temperature, topP, sampleRate } = this.config;
    const { wordTimings = false, debug } = this.config;
    return {
      path: wordTimings ? '/v1/ai/speech' : '/v1/ai/speech/bytes',
      headers: { ...version, Accept: wordTimings ? 'application/json' : 'application/octet-stream' },
      json: {
        ...{ text, voice, model, format, language, temperature, top_p: topP, sample_rate: sampleRate, debug },
        ...(wordTimings && { return_timestamps: true }),
      },
    };
  }

  protected override async credentialHeaders(): Promise<HttpRequestHeaders> {
    return this.isProxyMode ? {} : { 'X-API-Key': await this.resolveApiKey() };
  }

  protected override readResponse(response: HttpResponse): Observable<SynthesisEvent> {
    if (mediaType(response.headers) !== 'application/json') return super.readResponse(response);
    return of(response).pipe(
      readJson(maxAnswerBytes),
      switchMap((json) => {
        const data = decodeBase64(str(obj(json)?.['audio']) ?? '');
        if (!data?.length) throw this.error(`${this.name}: the answer has no audio`, { code: 'protocol' });
        const words = wordsOf(objs(obj(json)?.['timestamps']));
        return concat(
          of({ type: 'audio' as const, data }),
          from(words.map((word) => ({ type: 'word' as const, ...word }))),
        );
      }),
    );
  }
}

/** The service times words, spaces and punctuation apart, in seconds. */
function wordsOf(timestamps: readonly WireObject[]): WordTiming[] {
  let at = 0;
  const marks = timestamps.flatMap(({ text, start, duration }): SpeechMark[] => {
    const [piece, seconds, length] = [str(text) ?? ' ', num(start), num(duration)];
    const from = at;
    at += piece.length;
    if (!piece.trim() || seconds === undefined || length === undefined) return [];
    const startMs = Math.round(seconds * 1000);
    return [{ text: piece.trim(), startMs, endMs: Math.round((seconds + length) * 1000), start: from, end: at }];
  });
  const words = new SpeechMarks();
  return [...words.push(marks), ...words.flush()].filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = str(voice['id']);
  if (id === undefined) return [];
  const optional = {
    gender: str(voice['gender']),
    description: str(voice['description']),
    previewUrl: str(voice['preview_url']),
  };
  const told = Object.fromEntries(Object.entries(optional).filter(([, value]) => value));
  return [{ id, name: str(voice['name']) ?? id, languages: [], ...told }];
}
