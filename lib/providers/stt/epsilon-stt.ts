import { firstValueFrom, fromEvent, takeUntil } from 'rxjs';
import { bytesPerMs, frameBytes } from '../../audio/formats.ts';
import type { AudioFormat } from '../../audio/types.ts';
import type { ConfigRules } from '../../core/config-rule.ts';
import { arr, num, obj, str, wireWord, type WireObject } from '../../core/guard.ts';
import { httpRequest, readJson } from '../../transport/http.ts';
import type {
  SocketClose,
  SocketCloseOptions,
  SocketRequest,
  SocketRequestContext,
  SocketSessionOptions,
} from '../../transport/socket-session.ts';
import {
  epsilonEncodings,
  epsilonRules,
  epsilonSampleRates,
  epsilonSession,
  type EpsilonEncoding,
  type EpsilonSTTOptions,
} from './epsilon-stt-settings.ts';
import { Recent } from './streaming/recent.ts';
import { StreamingSTT, type StreamingSTTConfig } from './streaming-stt.ts';

/** Configuration of {@link EpsilonSTT}. */
export interface EpsilonSTTConfig extends StreamingSTTConfig, EpsilonSTTOptions {
  /** Default: `solaria-1`. */
  readonly model?: string;
  /** Default: `wav/pcm`, which is linear16. */
  readonly encoding?: EpsilonEncoding;
  /** 8000, 16000, 32000, 44100 or 48000 Hz. Default: that of the audio. */
  readonly sampleRate?: number;
  /** Languages to expect, ISO 639-1; none lets the service find out. Default: `language`, where it is set. */
  readonly languages?: readonly string[];
  /** Seconds of silence that end an utterance, 0.01 to 10. Default: the service's, 0.05; for conversations 0.3 to 0.8. */
  readonly endpointing?: number;
  /** Whether the speaker may change the language; name the `languages`. Default: false. */
  readonly codeSwitching?: boolean;
}

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
  protected override readonly rules: ConfigRules = epsilonRules;
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
  readonly #finished = new Recent(remembered);
  #hasVoice: boolean = false;

  /** One row: the configured encoding, at the configured or any possible sample rate. */
  get accepts(): readonly AudioFormat[] {
    const { encoding = 'wav/pcm', sampleRate, channels = 1 } = this.config;
    const sampleRates = sampleRate ? [sampleRate] : epsilonSampleRates;
    return [{ encoding: epsilonEncodings[encoding], sampleRates, channels: [channels] }];
  }

  protected override async request({ signal }: SocketRequestContext): Promise<SocketRequest> {
    this.#resumes = this.#address !== undefined;
    this.#address ??= await this.#initiate(signal);
    return { url: this.#address };
  }

  protected override farewell(): Pick<SocketCloseOptions, 'farewell' | 'until'> {
    return { farewell: ['{"type":"stop_recording"}'], until: this.isOf('end_recording', 'end_session') };
  }

  protected override socketOptions(): Partial<SocketSessionOptions> {
    return {
      // The service ends a session that hears nothing for some 30 s.
      keepAlive: { message: () => this.whenQuiet({ type: 'audio_chunk', data: { chunk: '' } }) },
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

  protected override applyLive(): boolean {
    this.say({ type: 'stop_recording' });
    this.forget();
    return false;
  }

  protected override onConnection(): void {
    if (this.#resumes) return;
    this.#acknowledged = 0;
    this.#finished.clear();
  }

  protected override onEnd(): void {
    super.onEnd();
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
    this.reportOnce(`the service reports ${wireWord(failure['exception'] ?? failure['status_code'])}`);
  }

  async #initiate(signal: AbortSignal): Promise<URL> {
    const { codeSwitching = false, language, languages = [language ?? []].flat() } = this.config;
    if (codeSwitching && languages.length === 0) {
      this.logger.warn(`${this.name}: codeSwitching without languages chooses among a hundred, and errs: name some`);
    }
    const url = this.resolveUrl('/v2/live', { region: this.config.region });
    url.protocol = url.protocol.replace(/^ws/, 'http');
    const key = this.isProxyMode ? undefined : await this.resolveApiKey();
    const request$ = httpRequest({
      ...this.transportOptions,
      url,
      headers: { 'x-gladia-key': key },
      json: epsilonSession(this.config, this.format),
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
    if (!text || this.#finished.has(id)) return;
    if (data['is_final'] !== true) {
      // A final result can come in the middle of speech.
      if (this.#hasVoice) this.utterances.started();
      this.utterances.result('interim', text, { language });
      return;
    }
    this.#finished.add(id);
    const speaker = utterance['speaker'];
    const words = this.words(utterance['words'], ({ word }) => str(word)).map((word) =>
      typeof speaker === 'number' || typeof speaker === 'string' ? { ...word, speaker: String(speaker) } : word,
    );
    this.utterances.complete(text, { words, confidence: num(utterance['confidence']), language });
    const endMs = num(utterance['end']);
    if (endMs !== undefined) this.finalized(endMs * 1000);
  }
}
