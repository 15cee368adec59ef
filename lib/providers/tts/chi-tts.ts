import { catchError, concat, concatMap, defer, EMPTY, from, of, type Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import type { ConfigRule } from '../../core/config-rule.ts';
import { entry, num, obj, objs, oncePerKind, str, type WireObject } from '../../core/guard.ts';
import { decodeHex } from '../../core/hex.ts';
import type { AuthType } from '../../core/remote-provider.ts';
import type { HttpErrorFacts, HttpErrorOf } from '../../transport/http-error.ts';
import { httpRequest, readJson, type HttpResponse } from '../../transport/http.ts';
import { jsonObjects } from '../../transport/json-objects.ts';
import { mediaType } from '../../transport/sse.ts';
import type { ChiTTSConfig, ChiTTSFormat } from './chi-tts-config.ts';
import { RestTTS, type SpeechRequest } from './rest-tts.ts';
import type { SynthesisEvent } from './utterance.ts';

const formats: Readonly<Record<ChiTTSFormat, Omit<AudioMetadata, 'sampleRate' | 'channels'>>> = {
  mp3: { encoding: 'mp3', container: 'mp3', mimeType: 'audio/mpeg' },
  wav: { encoding: 'linear16', bitDepth: 16, container: 'wav', mimeType: 'audio/wav' },
  flac: { encoding: 'flac', container: 'flac', mimeType: 'audio/flac' },
  pcm: { encoding: 'linear16', bitDepth: 16, mimeType: 'audio/pcm' },
};

const facts = (
  codes: readonly number[],
  code: HttpErrorFacts['code'],
  recoverable: boolean = false,
): Record<string, HttpErrorFacts> => Object.fromEntries(codes.map((each) => [each, { code, recoverable }]));

/** What `base_resp.status_code` means, whatever the status of the answer, which mostly is 200. */
const meanings: Readonly<Record<string, HttpErrorFacts>> = {
  ...facts([1000, 1001, 1013, 1024, 1033], 'server', true),
  ...facts([1002, 1039, 1041], 'rate_limited', true),
  ...facts([1004, 2049], 'unauthorized'),
  ...facts([1008, 1028, 1030], 'quota'),
  ...facts([1026, 1027, 1042, 2013, 20132], 'configuration'),
  ...facts([2038, 2042, 2061], 'forbidden'),
};

const codeOf = (message: WireObject): number | undefined => num(obj(message['base_resp'])?.['status_code']);

/** One event can hold all audio again, in two digits a byte. */
const maxLength = 64 * 1024 * 1024;

/**
 * ChiTTS: MiniMax text-to-speech (T2A v2, `POST /v1/t2a_v2`), `https://api.minimax.io`,
 * https://platform.minimax.io/docs/api-reference/speech-t2a-http
 *
 * Below 10,000 characters a request; longer texts are cut at sentences.
 */
export class ChiTTS extends RestTTS<ChiTTSConfig> {
  override readonly name: string = 'ChiTTS';
  protected override readonly defaultBaseUrl: string = 'https://api.minimax.io';
  protected override readonly defaultAuthType: AuthType = 'bearer';
  protected override readonly errorOf: HttpErrorOf = ({ json }) => {
    const code = codeOf(obj(json) ?? {});
    if (code === undefined) return undefined;
    const message = str(obj(obj(json)?.['base_resp'])?.['status_msg']);
    return { code: 'server', ...entry(meanings, String(code)), reason: String(code), message };
  };
  readonly #ignore: (kind: string) => void = oncePerKind((kind) => {
    this.logger.warn(`${this.name}: ${kind} of the service is ignored`);
  });

  /** Longer answers should stream, which WAV files do not. */
  override get maxTextLength(): number {
    return this.#isStreamed ? 9_999 : 3_000;
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    const change = { min: -100, max: 100 };
    return {
      voiceId: { required: true },
      groupId: { type: 'text' },
      audioFormat: { oneOf: Object.keys(formats) },
      speed: { min: 0.5, max: 2 },
      volume: { min: 0.01, max: 10 },
      pitch: { min: -12, max: 12, integer: true },
      sampleRate: { oneOf: [8000, 16000, 22050, 24000, 32000, 44100] },
      bitrate: { oneOf: [32000, 64000, 128000, 256000] },
      channels: { oneOf: [1, 2] },
      pronunciationDict: { type: 'texts' },
      ...{ 'voiceModify.pitch': change, 'voiceModify.intensity': change, 'voiceModify.timbre': change },
    };
  }

  protected override configProblem(): string | undefined {
    // Where a compressed sentence ends, and so when the next one's words sound, nobody here knows.
    const lacksTimes = this.config.wordTimings && entry(formats, this.#format)?.bitDepth === undefined;
    return lacksTimes ? 'wordTimings needs audioFormat pcm or wav' : super.configProblem();
  }

  protected override wireFormat(): AudioMetadata {
    const { sampleRate = 32_000, channels = 1 } = this.config;
    return { sampleRate, channels, ...formats[this.#format] };
  }

  protected override request(text: string): SpeechRequest {
    const { config } = this;
    const { voiceId, model = 'speech-2.8-turbo', emotion, groupId, sampleRate, wordTimings, voiceModify } = config;
    const modify = voiceModify && {
      ...{ pitch: voiceModify.pitch, intensity: voiceModify.intensity, timbre: voiceModify.timbre },
      sound_effects: voiceModify.soundEffects,
    };
    return {
      path: '/v1/t2a_v2',
      query: { GroupId: groupId },
      json: {
        ...{ model, text, stream: this.#isStreamed },
        // Without it the last event repeats all that was said.
        ...(this.#isStreamed && { stream_options: { exclude_aggregated_audio: true } }),
        voice_setting: {
          ...{ voice_id: voiceId, speed: config.speed, vol: config.volume, pitch: config.pitch },
          // What the service does by itself has no name on the wire.
          emotion: emotion === 'auto' ? undefined : emotion,
          ...{ text_normalization: config.textNormalization, latex_read: config.latexRead },
        },
        audio_setting: {
          format: this.#format,
          // Raw samples do not tell their rate.
          sample_rate: sampleRate ?? (this.#format === 'pcm' ? this.wireFormat().sampleRate : undefined),
          ...{ bitrate: config.bitrate, channel: config.channels },
        },
        language_boost: config.languageBoost,
        pronunciation_dict: config.pronunciationDict && { tone: config.pronunciationDict },
        voice_modify: modify,
        ...(wordTimings && { subtitle_enable: true, subtitle_type: 'word' }),
      },
    };
  }

  protected override readResponse(response: HttpResponse): Observable<SynthesisEvent> {
    if (!['application/json', 'text/event-stream'].includes(mediaType(response.headers))) {
      return super.readResponse(response);
    }
    let isHeard = false;
    const onGarbage = (): void => this.#ignore('a message that is no JSON object');
    const events$ = of(response).pipe(
      jsonObjects({ maxLength, onGarbage }),
      concatMap((message) => {
        const code = codeOf(message);
        if ((code ?? 0) !== 0 || obj(message['error'])) throw this.refusalIn(message, response);
        const data = obj(message['data']);
        if (!data) this.#ignore('a message without data');
        const hex = str(data?.['audio']) ?? '';
        // The last event may hold all that was said before.
        const audio = data?.['status'] === 2 && isHeard ? undefined : this.#audioOf(hex);
        isHeard ||= audio !== undefined;
        return concat(
          audio ? of({ type: 'audio' as const, data: audio }) : EMPTY,
          this.#words(str(data?.['subtitle_file'])),
        );
      }),
    );
    const end$ = defer(() => {
      if (isHeard) return EMPTY;
      // Seen when the service is busy.
      throw this.error(`${this.name}: the answer has no audio`, { code: 'protocol', recoverable: true });
    });
    return concat(events$, end$);
  }

  #audioOf(hex: string): Uint8Array<ArrayBuffer> | undefined {
    const audio = decodeHex(hex);
    if (!audio) throw this.error(`${this.name}: the audio is not hexadecimal`, { code: 'protocol' });
    return audio.length > 0 ? audio : undefined;
  }

  /** When each word sounds, from a file of the service's; without it the words are estimated. */
  #words(address: string | undefined): Observable<SynthesisEvent> {
    if (!this.config.wordTimings || address === undefined) return EMPTY;
    return defer(() => httpRequest({ ...this.transportOptions, url: address })).pipe(
      readJson(),
      concatMap((segments) => from(objs(segments).flatMap(({ timestamped_words }) => objs(timestamped_words)))),
      concatMap(({ word, time_begin, time_end }) => {
        const [text, startMs, endMs] = [str(word)?.trim(), num(time_begin), num(time_end)];
        if (!text || startMs === undefined || endMs === undefined) return EMPTY;
        return of({ type: 'word' as const, text, startMs, endMs });
      }),
      catchError((error: unknown) => {
        this.logger.warn(`${this.name}: no word times`, error);
        return EMPTY;
      }),
    );
  }

  get #isStreamed(): boolean {
    return this.#format !== 'wav';
  }

  get #format(): ChiTTSFormat {
    return this.config.audioFormat ?? 'mp3';
  }
}
