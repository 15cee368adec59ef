import { concat, concatMap, defer, EMPTY, from, of, type Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { entry, num, obj, objs, oncePerKind, str, type WireObject } from '../../core/guard.ts';
import type { AuthType } from '../../core/remote-provider.ts';
import type { HttpErrorFacts, HttpErrorOf } from '../../transport/http-error.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { jsonObjects } from '../../transport/json-objects.ts';
import { mediaType } from '../../transport/sse.ts';
import type { TTSCallOptions } from './base-tts.ts';
import type { Markup } from './text/markup.ts';
import { RestTTS, type SpeechRequest } from './rest-tts.ts';
import type { RhoTTSConfig } from './rho-tts-config.ts';
import { rhoFormats, type RhoFormat } from './rho-tts-formats.ts';
import { rhoDocument, rhoInput } from './rho-tts-input.ts';
import { rhoVoices, type RhoTTSVoiceFilter } from './rho-tts-voices.ts';
import { SpeechMarks, type SpeechMark } from './words/speech-marks.ts';
import { escapeXml, isSsml, ssml } from './text/ssml.ts';
import type { TTSVoice } from './tts-voice.ts';
import type { SynthesisEvent } from './utterance.ts';

/** The newest version in which the service takes all models. */
const version = { 'Speechify-Version': '2026-09-13' };

/** Models that others speak for. */
const retired = { 'simba-english': 'simba-3.2', 'simba-multilingual': 'simba-3.0' };

/** What the service's words for an error mean where its status does not say, as in the middle of a stream. */
const errors: Readonly<Record<string, HttpErrorFacts>> = {
  model_retired: { code: 'not_found' },
  rate_limited: { code: 'rate_limited', recoverable: true },
  concurrency_limit_reached: { code: 'rate_limited', recoverable: true },
  content_policy_violation: { code: 'forbidden', recoverable: false },
  spend_cap_exceeded: { code: 'quota', recoverable: false },
};

/** Longest event or answer, in characters: a whole recording in base64. */
const maxLength = 48 * 1024 * 1024;

/**
 * RhoTTS: Speechify text-to-speech (Simba; `POST /v1/audio/stream/with-timestamps`, `POST /v1/audio/speech` for WAV),
 * `https://api.speechify.ai`, https://docs.speechify.ai
 *
 * Text that begins with `<speak` is SSML; plain text is spoken with the configured emotion, pitch and speed. The free
 * plan has one request at a time, so that is the default of `concurrency`.
 */
export class RhoTTS extends RestTTS<RhoTTSConfig> {
  override readonly name: string = 'RhoTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.speechify.ai';
  protected override readonly defaultAuthType: AuthType = 'bearer';
  protected override readonly maxConcurrency: number = 1;
  /** Models that have refused to mark words. */
  readonly #unmarked = new Set<string>();
  readonly #ignore: (kind: string) => void = oncePerKind((kind) => {
    this.logger.warn(`${this.name}: ${kind} of the service is ignored`);
  });

  protected override readonly errorOf: HttpErrorOf = ({ reason }) => {
    if (reason !== 'speech_marks_unsupported') return entry(errors, reason);
    // It is asked again without them.
    this.#unmarked.add(this.#model);
    return { recoverable: true, retryAfterMs: 0 };
  };

  override get maxTextLength(): number {
    return (this.#isStreamed ? 20_000 : 2_000) - rhoDocument('', this.config).length;
  }

  /**
   * The voices that an account can use.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  async voices({ signal, ...filter }: RhoTTSVoiceFilter & TTSCallOptions = {}): Promise<readonly TTSVoice[]> {
    const voices: TTSVoice[] = [];
    let cursor: string | undefined;
    do {
      const query = { limit: 200, cursor, ...filter };
      const page = await this.fetchJson({ path: '/v1/voices', query, headers: version }, signal ? { signal } : {});
      voices.push(...rhoVoices(page));
      const next: string | undefined = obj(page)?.['has_more'] === true ? str(obj(page)?.['next_cursor']) : undefined;
      cursor = next === cursor ? undefined : next;
    } while (cursor !== undefined);
    return voices;
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    return {
      voiceId: { required: true, type: 'text' },
      audioFormat: { oneOf: Object.keys(rhoFormats) },
      sampleRate: { oneOf: this.#format.sampleRates },
      bitrate: { oneOf: [32, 64, 96, 128, 160] },
      emotion: { type: 'text' },
      pitch: { min: -83, max: 100 },
      speed: { min: 0.5, max: 100 },
      volume: { min: -100, max: 100 },
    };
  }

  protected override onInitialize(signal: AbortSignal): Promise<void> {
    this.warnOfRetired(this.config.model, retired);
    return super.onInitialize(signal);
  }

  protected override lengthOf(character: string): number {
    return escapeXml(character).length;
  }

  protected override markupOf(text: string): Markup | undefined {
    return isSsml(text) ? ssml : undefined;
  }

  protected override wireFormat(): AudioMetadata {
    return { sampleRate: this.#sampleRate, channels: 1, ...this.#format.metadata };
  }

  protected override request(text: string): SpeechRequest {
    const { voiceId, audioFormat = 'mp3', bitrate = 128, language, sampleRate, safetyIdentifier } = this.config;
    const { loudnessNormalization, textNormalization, wordTimings = true } = this.config;
    const isMarked = wordTimings && !this.#unmarked.has(this.#model);
    const options = { loudness_normalization: loudnessNormalization, text_normalization: textNormalization };
    const stream = isMarked ? '/v1/audio/stream/with-timestamps' : '/v1/audio/stream';
    const format = `${audioFormat}_${this.#sampleRate}${audioFormat === 'mp3' ? `_${bitrate}` : ''}`;
    return {
      path: this.#isStreamed ? stream : '/v1/audio/speech',
      headers: {
        ...version,
        Accept: this.#isStreamed ? (isMarked ? 'text/event-stream' : this.#format.metadata.mimeType) : undefined,
      },
      json: {
        ...{ input: rhoInput(text, this.config), voice_id: voiceId, model: this.#model },
        ...(!this.#isStreamed && { audio_format: audioFormat }),
        output_format: this.#isStreamed || sampleRate !== undefined ? format : undefined,
        language,
        options: Object.values(options).some((value) => value !== undefined) ? options : undefined,
        safety_identifier: safetyIdentifier,
      },
    };
  }

  protected override readResponse(response: HttpResponse): Observable<SynthesisEvent> {
    const type = mediaType(response.headers);
    if (type !== 'application/json' && type !== 'text/event-stream') return super.readResponse(response);
    const marks = new SpeechMarks();
    let isDone = false;
    const events$ = of(response).pipe(
      jsonObjects({ maxLength, onGarbage: () => this.#ignore('a message that is no JSON object') }),
      concatMap((message) => {
        if (obj(message['error']) ?? str(message['error']))
          throw this.refusalIn(message, { headers: response.headers });
        const whole = str(message['audio_data']);
        isDone ||= whole !== undefined || message['type'] === 'speech.done';
        const data = decodeBase64(whole ?? str(message['audio']) ?? '');
        if (!data) throw this.error(`${this.name}: the audio is not base64`, { code: 'protocol' });
        const told = obj(message['speech_marks'])?.['chunks'] ?? message['speech_marks'];
        const words = [...marks.push(objs(told).flatMap(markOf)), ...(isDone ? marks.flush() : [])];
        return from<SynthesisEvent[]>([
          ...(data.length > 0 ? [{ type: 'audio' as const, data }] : []),
          ...words.map((word) => ({ type: 'word' as const, ...word })),
        ]);
      }),
    );
    const end$ = defer(() => {
      if (isDone) return EMPTY;
      throw this.error(`${this.name}: the audio ends before its end`, { code: 'connection', recoverable: true });
    });
    return concat(events$, end$);
  }

  get #model(): string {
    const { model, voiceId } = this.config;
    return model ?? (voiceId.endsWith('_32') ? 'simba-3.2' : 'simba-3.0');
  }

  get #format(): RhoFormat {
    return entry(rhoFormats, this.config.audioFormat) ?? rhoFormats.mp3;
  }

  get #sampleRate(): number {
    return this.config.sampleRate ?? this.#format.sampleRates[0] ?? 24_000;
  }

  get #isStreamed(): boolean {
    return this.config.audioFormat !== 'wav';
  }
}

function markOf(mark: WireObject): SpeechMark[] {
  const [text, startMs, endMs] = [str(mark['value']), num(mark['start_time']), num(mark['end_time'])];
  if (!text?.trim() || (mark['type'] ?? 'word') !== 'word' || startMs === undefined || endMs === undefined) return [];
  return [{ text, startMs, endMs, start: num(mark['start']), end: num(mark['end']) }];
}
