import { firstValueFrom, fromEvent, takeUntil } from 'rxjs';
import { bytesPerMs, frameBytes } from '../../audio/formats.ts';
import type { AudioEncoding, AudioFormat } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { arr, num, obj, oncePerKind, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import { httpRequest, readJson } from '../../transport/http.ts';
import type {
  SocketClose,
  SocketCloseOptions,
  SocketRequest,
  SocketRequestContext,
  SocketSessionOptions,
} from '../../transport/socket-session.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';

const encodings = { 'wav/pcm': 'linear16', 'wav/ulaw': 'mulaw', 'wav/alaw': 'alaw' } as const;
const sampleRates = [16_000, 8_000, 32_000, 44_100, 48_000];

/** A word to listen for, with more or less weight. */
export interface EpsilonVocabulary {
  readonly value: string;
  /** 0 to 1. */
  readonly intensity?: number;
  readonly pronunciations?: readonly string[];
  readonly language?: string;
}

/** Configuration of {@link EpsilonSTT}. */
export interface EpsilonSTTConfig extends StreamingSTTConfig {
  /** Default: `solaria-1`. */
  readonly model?: string;
  /** Default: `wav/pcm`, which is linear16. */
  readonly encoding?: keyof typeof encodings;
  /** 8000, 16000, 32000, 44100 or 48000 Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** 1 to 8; the service bills each. Default: 1. */
  readonly channels?: number;
  /** Languages to expect, ISO 639-1; none lets the service find out. Default: `language`, where it is set. */
  readonly languages?: readonly string[];
  /** Whether the speaker may change the language. Default: false. */
  readonly codeSwitching?: boolean;
  /** Seconds of silence that end an utterance, 0.01 to 10. Default: the service's, 0.05; for conversations 0.3 to 0.8. */
  readonly endpointing?: number;
  /** Seconds after which an utterance ends in the middle of speech, 5 to 60. Default: the service's, 5. */
  readonly maximumDurationWithoutEndpointing?: number;
  /** Words to listen for, such as names. Default: none. */
  readonly customVocabulary?: readonly (string | EpsilonVocabulary)[];
  /** Where the service runs. */
  readonly region?: 'eu-west' | 'us-west';
}

const rules: Readonly<Record<string, ConfigRule>> = {
  model: { type: 'text' },
  encoding: { oneOf: Object.keys(encodings) },
  sampleRate: { oneOf: sampleRates },
  channels: { min: 1, max: 8, integer: true },
  languages: { type: 'texts' },
  codeSwitching: { type: 'boolean' },
  endpointing: { min: 0.01, max: 10 },
  maximumDurationWithoutEndpointing: { min: 5, max: 60 },
  region: { oneOf: ['eu-west', 'us-west'] },
};

const keepAliveMs = 5_000;
/** Keep-alives without audio after which the service wants to hear something. */
const quietTicks = 4;

/** Utterances whose late results are still told from those of the next ones. */
const remembered = 8;

/**
 * Gladia live transcription, API v2, at `https://api.gladia.io/v2/live`: a POST opens a session, whose WebSocket goes on
 * where it was when it is lost. Words and confidence come with final results only. See
 * https://docs.gladia.io/chapters/live-stt/quickstart.
 */
export class EpsilonSTT extends StreamingSTT<EpsilonSTTConfig> {
  readonly name = 'EpsilonSTT';
  override readonly reportsSpeechEnd: boolean = true;
  protected readonly defaultBaseUrl = 'https://api.gladia.io';
  protected readonly handlers: Readonly<Record<string, (message: WireObject) => void>> = {
    audio_chunk: ({ data }) => this.#onAcknowledged(arr(obj(data)?.['byte_range'])),
    speech_start: () => this.#onVoice(true),
    speech_end: () => this.#onVoice(false),
    transcript: ({ data }) => this.#onTranscript(obj(data) ?? {}),
  };

  /** The address of the session, whose token grants it. */
  #address: URL | undefined;
  #resumes: boolean = false;
  /** Bytes of the session's audio that the service has, and where it counts from: it may count from 0 after a loss. */
  #acknowledged: number = 0;
  #base: number | undefined;
  #finished: string[] = [];
  #hasVoice: boolean = false;
  readonly #warn = oncePerKind((reason) => {
    this.report(this.error(`${this.name}: the service reports ${reason}`, { code: 'server', recoverable: true }));
  });
  #heardMs: number = 0;
  #quiet: number = 0;

  /** One row: the configured encoding, at the configured or any possible sample rate. */
  get accepts(): readonly AudioFormat[] {
    const { encoding = 'wav/pcm', sampleRate, channels = 1 } = this.config;
    const wanted: AudioEncoding = encodings[encoding];
    return [{ encoding: wanted, sampleRates: sampleRate ? [sampleRate] : sampleRates, channels: [channels] }];
  }

  protected override async request({ signal }: SocketRequestContext): Promise<SocketRequest> {
    this.#resumes = this.#address !== undefined;
    this.#address ??= await this.#initiate(signal);
    return { url: this.#address };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    const isLast = (type: unknown): boolean => type === 'end_recording' || type === 'end_session';
    return { farewell: ['{"type":"stop_recording"}'], until: (data) => isLast(parseJsonObject(data)?.['type']) };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      keepAlive: { intervalMs: keepAliveMs, message: () => this.#keepAlive() },
      classifyClose: ({ code }: SocketClose) => {
        if (code === 1000 || code === 1001 || (code >= 4400 && code < 4500)) this.forget();
        return 'retry';
      },
      // A session that is over is no reason to end: another can be had.
      errorOf: () => {
        this.forget();
        return { recoverable: true };
      },
    };
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override applyLive(): boolean {
    this.say({ type: 'stop_recording' });
    this.forget();
    return false;
  }

  protected override onConnection(): void {
    this.#quiet = 0;
    if (this.#resumes) return;
    this.#acknowledged = 0;
    this.#finished = [];
  }

  protected override onEnd(): void {
    this.forget();
  }

  protected override forget(): void {
    this.#address = undefined;
  }

  protected override resumeFromMs(): number | undefined {
    this.#base = undefined;
    return this.#resumes ? this.audioMs(this.#acknowledged / bytesPerMs(this.format)) : undefined;
  }

  protected override onMessage({ error }: WireObject): void {
    const failure = obj(error);
    if (!failure) return;
    const reason =
      str(failure['exception']) ?? str(failure['status_code']) ?? num(failure['status_code']) ?? 'an error';
    this.#warn(String(reason));
  }

  async #initiate(signal: AbortSignal): Promise<URL> {
    const url = this.resolveUrl('/v2/live', { region: this.config.region });
    url.protocol = url.protocol.replace(/^ws/, 'http');
    const key = this.isProxyMode ? undefined : await this.resolveApiKey();
    const request$ = httpRequest({
      ...this.transportOptions,
      url,
      headers: { 'x-gladia-key': key },
      json: this.#body(),
    });
    const answer = await firstValueFrom(request$.pipe(readJson(), takeUntil(fromEvent(signal, 'abort'))), {
      defaultValue: undefined,
    });
    const address = str(obj(answer)?.['url']);
    if (!address) throw this.error(`${this.name}: the service gave no session`, { code: 'protocol' });
    const session = new URL(address, url);
    session.protocol = session.protocol.replace(/^http/, 'ws');
    this.assertSecure(session);
    // Who has the token has the session: no text may show it.
    await this.freshCredential(session.searchParams.get('token') ?? session.search);
    return session;
  }

  #body(): WireObject {
    const { model = 'solaria-1', encoding = 'wav/pcm', endpointing, customVocabulary, codeSwitching } = this.config;
    const languages = this.config.languages ?? this.#language;
    const { sampleRate, channels } = this.format;
    return {
      ...{ model, encoding, sample_rate: sampleRate, channels, endpointing },
      bit_depth: encoding === 'wav/pcm' ? 16 : 8,
      maximum_duration_without_endpointing: this.config.maximumDurationWithoutEndpointing,
      ...((languages ?? codeSwitching) !== undefined && {
        language_config: { languages, code_switching: codeSwitching },
      }),
      ...(customVocabulary && {
        realtime_processing: { custom_vocabulary: true, custom_vocabulary_config: { vocabulary: customVocabulary } },
      }),
      messages_config: {
        receive_partial_transcripts: this.config.interimResults ?? true,
        ...{ receive_final_transcripts: true, receive_speech_events: true, receive_acknowledgments: true },
        ...{ receive_errors: true, receive_lifecycle_events: true, receive_pre_processing_events: false },
        ...{ receive_realtime_processing_events: false, receive_post_processing_events: false },
      },
    };
  }

  /** The configured language as the service names it: without a region. */
  get #language(): string[] | undefined {
    const primary = /^[a-z]+/i.exec(this.config.language ?? '')?.[0];
    return primary === undefined ? undefined : [primary];
  }

  #keepAlive(): string | undefined {
    this.#quiet = this.sentMs === this.#heardMs ? this.#quiet + 1 : 0;
    this.#heardMs = this.sentMs;
    return this.#quiet >= quietTicks ? '{"type":"audio_chunk","data":{"chunk":""}}' : undefined;
  }

  #onAcknowledged([first, end]: readonly unknown[]): void {
    const [from, to] = [num(first), num(end)];
    if (from === undefined || to === undefined) return;
    this.#base ??= from < this.#acknowledged ? this.#acknowledged : 0;
    const bytes = this.#base + to;
    this.#acknowledged = Math.max(this.#acknowledged, bytes - (bytes % frameBytes(this.format)));
  }

  #onVoice(hasVoice: boolean): void {
    this.#hasVoice = hasVoice;
    if (hasVoice) this.utterances.started();
    else this.utterances.ended();
  }

  #onTranscript(data: WireObject): void {
    const id = str(data['id']);
    const utterance = obj(data['utterance']) ?? {};
    const text = str(utterance['text'])?.trim();
    const language = str(utterance['language']);
    if (!text || (id !== undefined && this.#finished.includes(id))) return;
    if (data['is_final'] !== true) {
      // A final result can come in the middle of speech.
      if (this.#hasVoice) this.utterances.started();
      this.utterances.result('interim', text, { language });
      return;
    }
    if (id !== undefined) this.#finished = [id, ...this.#finished].slice(0, remembered);
    const speaker = utterance['speaker'];
    const words = this.words(utterance['words'], ({ word }) => str(word)).map((word) =>
      typeof speaker === 'number' || typeof speaker === 'string' ? { ...word, speaker: String(speaker) } : word,
    );
    this.utterances.ended();
    this.utterances.result('complete', text, { words, confidence: num(utterance['confidence']), language });
    const endMs = num(utterance['end']);
    if (endMs !== undefined) this.finalized(endMs * 1000);
  }
}
