import { concat, EMPTY, from, of, switchMap, type Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { entry, num, obj, objs, str, type WireObject } from '../../core/guard.ts';
import type { HttpErrorOf } from '../../transport/http-error.ts';
import { httpRequest, readJson, type HttpRequestHeaders, type HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/sse.ts';
import type { TTSCallOptions } from './base-tts.ts';
import { RestTTS, type SpeechRequest } from './rest-tts.ts';
import type { SigmaTTSConfig, SigmaTTSFormat, SigmaTTSModel } from './sigma-tts-config.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { SynthesisEvent } from './utterance.ts';

type Format = Omit<AudioMetadata, 'sampleRate' | 'channels'>;

const formats: Readonly<Record<SigmaTTSFormat, Format>> = {
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  flac: { encoding: 'flac', container: 'flac', mimeType: 'audio/flac' },
  alaw: { encoding: 'alaw', bitDepth: 8, mimeType: 'audio/alaw' },
  ulaw: { encoding: 'mulaw', bitDepth: 8, mimeType: 'audio/basic' },
  pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
};

/** Longest answer, in bytes: a whole recording in base64. */
const maxAnswerBytes = 64 * 1024 * 1024;

/**
 * SigmaTTS: Murf text-to-speech (`POST /v1/speech/generate`, streaming `POST /v1/speech/stream`), `https://api.murf.ai`
 * (streaming: `https://global.api.murf.ai`), https://murf.ai/api/docs
 *
 * At most 3,000 characters a request; longer texts are cut at sentences.
 */
export class SigmaTTS extends RestTTS<SigmaTTSConfig> {
  override readonly name: string = 'SigmaTTS';
  // Of accounts outside us-east.
  protected override readonly maxConcurrency: number = 2;
  // A wrong key is forbidden to it, and a busy account says nothing else.
  protected override readonly errorOf: HttpErrorOf = ({ status }) =>
    status === 403 ? { code: 'unauthorized' } : undefined;

  protected override get defaultBaseUrl(): string {
    return this.#isStreamed ? `https://${this.config.region ?? 'global'}.api.murf.ai` : 'https://api.murf.ai';
  }

  override get maxTextLength(): number {
    return 3000;
  }

  // Whether the service counts code points or units of UTF-16 it does not say: the latter are never fewer.
  protected override lengthOf(character: string): number {
    return character.length;
  }

  /**
   * The voices of a model; by default of the configured one.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  async voices({ model = this.#model, signal }: { readonly model?: SigmaTTSModel } & TTSCallOptions = {}): Promise<
    readonly TTSVoice[]
  > {
    const request = { path: '/v1/speech/voices', query: { model } };
    return objs(await this.fetchJson(request, signal ? { signal } : {})).flatMap(voiceOf);
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    const change = { min: -50, max: 50, integer: true };
    const isFixed = this.#isG711;
    const rates = [8000, 24_000, 44_100, 48_000, ...(this.#isStreamed ? [16_000] : [])];
    return {
      voiceId: { required: true, type: 'text' },
      format: { oneOf: Object.keys(formats) },
      style: { type: 'text' },
      ...{ rate: change, pitch: change, variation: { min: 0, max: 5, integer: true } },
      locale: { type: 'text' },
      region: { type: 'text' },
      sampleRate: { oneOf: isFixed ? [8000] : rates },
      channelType: { oneOf: isFixed ? ['MONO'] : ['MONO', 'STEREO'] },
      audioDuration: { min: 0, max: 3600 },
    };
  }

  protected override wireFormat(): AudioMetadata {
    return { sampleRate: this.#sampleRate, channels: this.config.channelType === 'STEREO' ? 2 : 1, ...this.#format };
  }

  protected override request(text: string): SpeechRequest {
    const { config } = this;
    const { voiceId, format = 'mp3', style, rate, pitch, variation, locale, pronunciationDictionary } = config;
    const { audioDuration, wordDurationsAsOriginalText } = config;
    // Raw samples tell neither their rate nor their channels.
    const isTold = !this.#format.container;
    const whole = {
      ...{ modelVersion: this.#model, encodeAsBase64: true },
      ...{ audioDuration, wordDurationsAsOriginalText },
    };
    return {
      path: this.#isStreamed ? '/v1/speech/stream' : '/v1/speech/generate',
      json: {
        ...{ text, voiceId, ...(this.#isStreamed ? { model: this.#model } : whole), format: format.toUpperCase() },
        sampleRate: config.sampleRate ?? (isTold ? this.#sampleRate : undefined),
        channelType: config.channelType ?? (isTold ? 'MONO' : undefined),
        ...{ style, rate, pitch, variation, locale, pronunciationDictionary },
      },
    };
  }

  protected override async credentialHeaders(): Promise<HttpRequestHeaders> {
    return this.isProxyMode ? {} : { 'api-key': await this.resolveApiKey() };
  }

  protected override readResponse(response: HttpResponse): Observable<SynthesisEvent> {
    if (mediaType(response.headers) !== 'application/json') return super.readResponse(response);
    return of(response).pipe(
      readJson(maxAnswerBytes),
      switchMap((json) => {
        const answer = obj(json) ?? {};
        const warning = str(answer['warning']);
        if (warning) this.logger.debug(`${this.name}: ${warning}`);
        return concat(this.#audioOf(answer), from(objs(answer['wordDurations']).flatMap(wordOf)));
      }),
    );
  }

  /** The audio in an answer, or of the file that it names. */
  #audioOf(answer: WireObject): Observable<SynthesisEvent> {
    const encoded = str(answer['encodedAudio']);
    const data = encoded ? decodeBase64(encoded) : undefined;
    if (data?.length) return of({ type: 'audio', data });
    const address = str(answer['audioFile']) ?? '';
    if (encoded || !/^https?:/.test(address) || !URL.canParse(address)) {
      throw this.error(`${this.name}: the answer has no audio`, { code: 'protocol' });
    }
    return httpRequest({ ...this.transportOptions, url: address }).pipe(
      switchMap((response) =>
        mediaType(response.headers) === 'application/json' ? EMPTY : super.readResponse(response),
      ),
    );
  }

  get #model(): string {
    return this.config.model ?? 'GEN2';
  }

  get #isStreamed(): boolean {
    return this.config.streaming ?? this.#model !== 'GEN2';
  }

  get #format(): Format {
    return entry(formats, this.config.format) ?? formats.mp3;
  }

  get #isG711(): boolean {
    return this.config.format === 'alaw' || this.config.format === 'ulaw';
  }

  get #sampleRate(): number {
    if (this.#isG711) return 8000;
    return this.config.sampleRate ?? (this.#model === 'GEN2' ? 44_100 : 24_000);
  }
}

function wordOf(duration: WireObject): SynthesisEvent[] {
  const [text, startMs, endMs] = [str(duration['word'])?.trim(), num(duration['startMs']), num(duration['endMs'])];
  return text && startMs !== undefined && endMs !== undefined ? [{ type: 'word', text, startMs, endMs }] : [];
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = str(voice['voiceId']);
  if (id === undefined) return [];
  const locales = obj(voice['supportedLocales']) ?? {};
  const styles = Object.values(locales).flatMap((locale) => obj(locale)?.['availableStyles'] ?? []);
  const [gender, description] = [str(voice['gender'])?.toLowerCase(), str(voice['description'])];
  return [
    {
      ...{ id, name: str(voice['displayName']) ?? id },
      languages: [...new Set([str(voice['locale']) ?? [], Object.keys(locales)].flat())],
      styles: [...new Set(styles.flatMap((style) => str(style) ?? []))],
      ...(gender && { gender }),
      ...(description && { description }),
    },
  ];
}
