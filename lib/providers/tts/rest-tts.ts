import {
  asyncScheduler,
  catchError,
  concat,
  concatMap,
  defer,
  filter,
  from,
  lastValueFrom,
  map,
  merge,
  mergeMap,
  of,
  Subscription,
  switchMap,
  takeUntil,
  toArray,
  type Observable,
} from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { fromAbort } from '../../core/bridge.ts';
import { VoiceError } from '../../core/errors.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { ProviderType } from '../../core/roles.ts';
import {
  httpRequest,
  keepConnections,
  readJson,
  warmConnection,
  type HttpRequestHeaders,
  type HttpResponse,
} from '../../transport/http.ts';
import { patientTimer } from '../../transport/patient-timer.ts';
import { retryBeforeFirst } from '../../transport/retry-before-first.ts';
import { BaseTTS, type TTSCallOptions, type TTSConfig } from './base-tts.ts';
import { firstWithin } from './requests/first-within.ts';
import { joinAudio } from './requests/join-audio.ts';
import { mapInOrder } from './requests/map-in-order.ts';
import type { Markup } from './text/markup.ts';
import { splitText } from './text/split-text.ts';
import { Turnstile } from './requests/turnstile.ts';
import { rawFormat, type SynthesisEvent } from './utterance.ts';

/** Configuration keys of every text-to-speech provider that answers requests. */
export interface RestTTSConfig extends TTSConfig {
  /** Most requests at once, of all utterances together. Default: what the service's smallest plan allows. */
  readonly concurrency?: number;
  /** Longest wait of `synthesize()` and `finalize()` for the first audio of a request, in milliseconds. Default: 60,000. */
  readonly requestTimeoutMs?: number;
}

/** What a service is asked for one text. */
export interface SpeechRequest {
  readonly path: string;
  readonly query?: Query;
  /** Beside the credential's. */
  readonly headers?: HttpRequestHeaders;
  readonly json?: unknown;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/**
 * Text-to-speech by one request for each text. `speak()` sends a request for each piece of its text, the next one under
 * way while the first is heard; `synthesize()` gives one file of it all.
 */
export abstract class RestTTS<C extends RestTTSConfig> extends BaseTTS<C> {
  readonly type: ProviderType = 'rest';

  /** Requests of one utterance at once: one is heard while the next is made. */
  protected readonly lookahead: number = 2;
  /** Requests that the service takes at once from one account. */
  protected readonly maxConcurrency: number = Infinity;

  readonly #turnstile: Turnstile = new Turnstile(() => this.config.concurrency ?? this.maxConcurrency);
  #connections: Subscription = Subscription.EMPTY;
  /** Text that waits for `finalize()`. */
  readonly #buffer: string[] = [];
  #finalizing: Promise<void> = Promise.resolve();
  #cancelled: AbortController = new AbortController();

  /** The request for one text. */
  protected abstract request(text: string): SpeechRequest | Promise<SpeechRequest>;

  /** The format of a response's body. */
  protected abstract override wireFormat(): AudioMetadata;

  override getMetadata(): AudioMetadata {
    return rawFormat(this.wireFormat());
  }

  /** Opens a connection for the next request, unless one is open. */
  warm(): void {
    if (!this.#connections.closed) warmConnection(this.resolveUrl(''));
  }

  /** Adds text to what {@link RestTTS.finalize} synthesizes; sends nothing. */
  override processChunk(text: string): void {
    this.#buffer.push(text);
  }

  /**
   * Synthesizes all text since the last call and delivers it on `audio$`. The text is then gone, also when it failed.
   * Calls at the same time run one after the other.
   */
  override finalize({ signal }: TTSCallOptions = {}): Promise<void> {
    const text = this.#buffer.splice(0).join('');
    const cancelled = this.#cancelled.signal;
    const run = this.#finalizing.then(() => this.#speakText(text, cancelled, signal));
    this.#finalizing = run.catch(() => undefined);
    return run;
  }

  /** Forgets the buffered text and aborts the request of a `finalize()` under way, which then resolves. */
  override cancel(): void {
    this.#buffer.length = 0;
    this.#cancelled.abort();
    this.#cancelled = new AbortController();
  }

  /**
   * The complete audio of a text, in the configured format. A text that is too long for one request is sent in parts.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, when `signal` aborts it, and when a
   * text of several parts is asked for in a format whose files cannot be joined (opus, flac).
   */
  async synthesize(text: string, { signal }: TTSCallOptions = {}): Promise<Blob> {
    this.assertReady('synthesize');
    const pieces = this.#split(text);
    if (pieces.length === 0) throw this.error(`${this.name} has no text to synthesize`, { code: 'configuration' });
    const { requestTimeoutMs = 60_000 } = this.config;
    const format = this.wireFormat();
    const audio$ = from(pieces).pipe(
      concatMap((piece) =>
        this.#send(piece, requestTimeoutMs).pipe(
          filter((event) => event.type === 'audio'),
          map(({ data }) => data),
          toArray(),
        ),
      ),
      toArray(),
      takeUntil(merge(this.aborted$('was disposed while it spoke'), fromAbort(signal))),
    );
    return joinAudio(await lastValueFrom(audio$, { defaultValue: [] }), format, this.name);
  }

  /** What one request gives. Default: its body, as audio. */
  protected readResponse({ headers, body$ }: HttpResponse): Observable<SynthesisEvent> {
    const contentType = headers['content-type'] ?? '';
    if (/^(text\/|application\/(json|xml))/.test(contentType)) {
      throw this.error(`${this.name}: the service answers ${contentType} in place of audio`, { code: 'protocol' });
    }
    return body$.pipe(map((data) => ({ type: 'audio', data })));
  }

  /** The headers that carry the credential of a request; none in proxy mode. */
  protected async credentialHeaders(_request: SpeechRequest): Promise<HttpRequestHeaders> {
    return { Authorization: await this.resolveAuthHeader() };
  }

  /** Length of one character as the service counts it. Default: 1. */
  protected lengthOf(_character: string): number {
    return 1;
  }

  /** How a text is cut, and its words found, that is a document in a markup language. Default: no text is one. */
  protected markupOf(_text: string): Markup | undefined {
    return undefined;
  }

  protected override synthesis(text$: Observable<string>): Observable<SynthesisEvent> {
    const { firstAudioTimeoutMs = 5_000 } = this.config;
    return text$.pipe(
      mergeMap((text) => this.#split(text)),
      mapInOrder((text) => concat(this.#send(text, firstAudioTimeoutMs), of(this.#segmentOf(text))), this.lookahead),
    );
  }

  /** One request, from its credential to the end of its body. */
  protected exchange(text: string, firstAudioMs: number): Observable<SynthesisEvent> {
    return defer(() => {
      // The configuration may change before the answer comes.
      const metadata = this.wireFormat();
      return defer(async () => this.request(text)).pipe(
        switchMap((request) => this.#ask(request, firstAudioMs)),
        switchMap((response) => this.readResponse(response)),
        map((event) => (event.type === 'audio' ? { metadata, ...event } : event)),
      );
    });
  }

  /** What the service answers to a request without a body, as JSON; for its catalogs. Tried again like any other. */
  protected async fetchJson(request: SpeechRequest, { signal }: TTSCallOptions = {}): Promise<unknown> {
    this.assertReady('fetch');
    const { requestTimeoutMs = 60_000, scheduler = asyncScheduler } = this.config;
    return lastValueFrom(
      this.#ask(request, requestTimeoutMs).pipe(
        readJson(),
        retryBeforeFirst({ scheduler, onRetry: (error) => this.logger.warn(`trying again: ${error.message}`) }),
        takeUntil(merge(this.aborted$('was disposed while it spoke'), fromAbort(signal))),
      ),
      { defaultValue: undefined },
    );
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    // What is wrong with the address is said here, not at the first sentence.
    this.resolveUrl('');
    this.#connections = keepConnections();
    this.warm();
  }

  protected override onDispose(): void {
    this.cancel();
    this.#connections.unsubscribe();
  }

  #ask(request: SpeechRequest, firstByteMs: number): Observable<HttpResponse> {
    const { idleTimeoutMs = 5_000 } = this.config;
    return defer(() =>
      httpRequest({
        ...this.transportOptions,
        url: this.resolveUrl(request.path, request.query),
        headers: async () => ({ ...request.headers, ...(await this.credentialHeaders(request)) }),
        ...{ json: request.json, body: request.body, errorOf: this.errorOf },
        timeouts: { firstByteMs, idleMs: idleTimeoutMs },
      }),
    );
  }

  /** One text's audio: when its turn has come, within its time, tried again while nothing of it came. */
  #send(text: string, firstAudioMs: number): Observable<SynthesisEvent> {
    const { scheduler = asyncScheduler } = this.config;
    const late = (): VoiceError =>
      this.error(`${this.name}: no audio came within ${firstAudioMs} ms`, { code: 'timeout', recoverable: true });
    return defer(() => {
      let timeouts = 0;
      // A factory may have given a credential that has expired since: it is asked for another, once.
      let { renewsCredential } = this.transportOptions;
      const attempt$ = defer(() => this.exchange(text, firstAudioMs)).pipe(
        firstWithin(() => patientTimer(firstAudioMs, scheduler), late),
        catchError((cause: unknown) => {
          const error = VoiceError.from(cause, { provider: this.name });
          if (error.code === 'timeout' && error.status === undefined) timeouts++;
          if (error.code === 'unauthorized' && !error.recoverable && renewsCredential) {
            renewsCredential = false;
            const { code, status } = error;
            throw this.error(error.message, { code, status, cause: error.cause, recoverable: true, retryAfterMs: 0 });
          }
          // Who has waited in vain twice waits no more.
          throw timeouts < 2 ? error : this.error(error.message, { code: error.code, cause: error });
        }),
        retryBeforeFirst({ scheduler, onRetry: (error) => this.logger.warn(`trying again: ${error.message}`) }),
      );
      return this.#turnstile.pass(attempt$);
    });
  }

  #split(text: string): string[] {
    const { split } = this.markupOf(text) ?? { split: splitText };
    return split(text, this.maxTextLength, (character) => this.lengthOf(character));
  }

  #segmentOf(text: string): SynthesisEvent {
    return { type: 'segment', text: this.markupOf(text)?.textOf(text) ?? text };
  }

  async #speakText(text: string, cancelled: AbortSignal, signal: AbortSignal | undefined): Promise<void> {
    this.assertReady('finalize');
    const isCancelled = (): boolean => cancelled.aborted;
    if (isCancelled() || !text.trim()) return;
    try {
      const blob = await this.synthesize(text, { signal: signal ? AbortSignal.any([signal, cancelled]) : cancelled });
      const data = new Uint8Array(await blob.arrayBuffer());
      if (isCancelled()) return;
      const events: SynthesisEvent[] = [{ type: 'audio', data }, this.#segmentOf(text)];
      const chunks$ = this.deliver(
        () => from(events),
        () => text,
      );
      await lastValueFrom(chunks$, { defaultValue: undefined });
    } catch (error) {
      if (!isCancelled()) throw error;
    }
  }
}
