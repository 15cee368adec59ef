import {
  asapScheduler,
  asyncScheduler,
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  filter,
  finalize,
  from,
  ignoreElements,
  lastValueFrom,
  map,
  mergeMap,
  type MonoTypeOperatorFunction,
  type Observable,
  of,
  Subject,
  subscribeOn,
  Subscription,
  switchMap,
  takeUntil,
  tap,
  toArray,
} from 'rxjs';
import { joinBytes } from '../../audio/concat.ts';
import { frameBytes, isPcmLike } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import { encodeWav, fixWavSizes, isWav } from '../../audio/wav-header.ts';
import { WavReader } from '../../audio/wav-reader.ts';
import { messageOf, VoiceError } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { ProviderType } from '../../core/roles.ts';
import { fromAbort } from '../../stream/bridge.ts';
import { createLock, type Lock } from '../../stream/lock.ts';
import { mapInOrder } from '../../stream/map-in-order.ts';
import { merge } from '../../stream/merge.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import { splitText } from '../../text/split-text.ts';
import {
  httpRequest,
  type HttpRequestHeaders,
  type HttpResponse,
  keepConnections,
  readJson,
  requestRetries,
  warmConnection,
} from '../../transport/http.ts';
import { RemoteTTS } from './remote-tts.ts';
import { readAudio } from './requests/read-audio.ts';
import type { RequestContext, RequestTTSConfig, RequestWire, SpeechRequest } from './requests/request-wire.ts';
import type { SynthesisEvent } from './utterance.ts';
import type { TTSCallOptions } from './voice-service.ts';

/**
 * Runs the wire of a text-to-speech service over HTTP. `speak()` sends a request for each piece of its text, the next
 * one in progress while the first is heard; `synthesize()` returns it all as one file.
 *
 * @typeParam C - The provider's configuration.
 */
export abstract class RequestTTS<C extends RequestTTSConfig> extends RemoteTTS<C> {
  override readonly type: ProviderType = 'rest';

  readonly #wire: RequestWire<C>;
  readonly #context: RequestContext<C>;
  /** The service's limit of simultaneous requests per account. */
  readonly #requests: Lock;
  /** One `finalize()` at a time. */
  readonly #finalizing: Lock = createLock();
  readonly #cancelled$ = new Subject<void>();
  /** Text buffered for `finalize()`. */
  #buffer: string = '';
  #connections: Subscription = Subscription.EMPTY;

  constructor(wire: RequestWire<C>, config: C, logger?: Logger) {
    super(wire, config, logger);
    this.#wire = wire;
    this.#requests = createLock(() => this.config.concurrency ?? wire.concurrency ?? Infinity);
    const currentConfig = (): Readonly<C> => this.config;
    this.#context = {
      get config() {
        return currentConfig();
      },
      ...this.errors,
      warn: oncePerKind((text) => this.logger.warn(`${this.name}: ${text}`)),
      note: (text) => this.logger.debug(`${this.name}: ${text}`),
      download: (address) => defer(() => httpRequest({ ...this.transportOptions, url: address })),
    } satisfies RequestContext<C>;
  }

  /** Opens a connection for the next request unless one is open. */
  override warm(): void {
    if (!this.#connections.closed) warmConnection(this.resolveUrl(''));
  }

  /** Buffers text for {@link RequestTTS.finalize}; sends nothing. */
  override processChunk(text: string): void {
    this.#buffer += text;
  }

  /**
   * Synthesizes all text since the last call and delivers it on `audio$`. The text is then cleared, even after a
   * failure. Concurrent calls run one after the other.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, and when `signal` aborts it.
   */
  override async finalize({ signal }: TTSCallOptions = {}): Promise<void> {
    const text = this.#buffer;
    this.#buffer = '';
    // Deferred: `cancel()` ends them one by one, and none that waits may start meanwhile.
    const run$ = this.#finalizing
      .hold(this.#deliver(text).pipe(subscribeOn(asapScheduler)))
      .pipe(takeUntil(this.#cancelled$), takeUntil(fromAbort(signal)));
    await lastValueFrom(run$, { defaultValue: undefined });
  }

  /** Drops the buffered text and aborts a `finalize()` in progress, which then resolves. */
  override cancel(): void {
    this.#buffer = '';
    this.#cancelled$.next();
  }

  /**
   * Returns the complete audio of a text, in the configured format. A text too long for one request is sent in parts.
   *
   * @throws VoiceError when the provider is not initialized, when the request fails, when `signal` aborts it, and when
   * a text of several parts is requested in a format whose files cannot be joined (opus, flac).
   */
  async synthesize(text: string, { signal }: TTSCallOptions = {}): Promise<Blob> {
    this.assertReady('synthesize');
    const pieces = this.#split(text);
    if (pieces.length === 0) throw this.error(`${this.name} has no text to synthesize`, { code: 'configuration' });
    const { requestTimeoutMs = 60_000 } = this.config;
    const format = this.#wire.format(this.config);
    const audio$ = from(pieces).pipe(
      concatMap((piece) =>
        this.#send(piece, requestTimeoutMs).pipe(
          filter((event) => event.type === 'audio'),
          map(({ data }) => data),
          toArray(),
        ),
      ),
      toArray(),
      takeUntil(merge(this.aborted$('was disposed while speaking'), fromAbort(signal))),
    );
    return joinAudio(await lastValueFrom(audio$, { defaultValue: [] }), format, this.name);
  }

  /** Reads one response. */
  protected readResponse(response: HttpResponse): Observable<SynthesisEvent> {
    return this.#wire.read?.(response, this.#context) ?? readAudio(response, this.#context);
  }

  /** One request, from its credential to the end of its body. */
  protected exchange(text: string, firstAudioMs: number): Observable<SynthesisEvent> {
    return defer(() => {
      // The configuration may change before the answer arrives.
      const metadata = this.#wire.format(this.config);
      return defer(async () => this.#wire.request(text, this.#context)).pipe(
        switchMap((request) => this.ask(request, firstAudioMs)),
        switchMap((response) => this.readResponse(response)),
        map((event) => (event.type === 'audio' ? { metadata, ...event } : event)),
      );
    });
  }

  /** Fetches JSON with a request without a body, for catalogs. Retried like any other. */
  protected async fetchJson(request: SpeechRequest, { signal }: TTSCallOptions = {}): Promise<unknown> {
    this.assertReady('fetch');
    const { requestTimeoutMs = 60_000 } = this.config;
    return lastValueFrom(
      this.ask(request, requestTimeoutMs).pipe(
        readJson(),
        this.#retried(),
        takeUntil(merge(this.aborted$('was disposed while speaking'), fromAbort(signal))),
      ),
      { defaultValue: undefined },
    );
  }

  /** Sends one request, with its credential, without retries. */
  protected ask(request: SpeechRequest, firstByteMs: number): Observable<HttpResponse> {
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

  /** The headers that carry a request's credential; none in proxy mode. */
  protected async credentialHeaders(_request: SpeechRequest): Promise<HttpRequestHeaders> {
    if (this.isProxyMode) return {};
    const key = await this.resolveApiKey();
    return this.#wire.credential?.(key, this.config) ?? { Authorization: this.authHeader(key) };
  }

  protected override onInitialize(signal: AbortSignal): Promise<void> | void {
    const ready = super.onInitialize(signal);
    this.#connections = keepConnections();
    this.warm();
    return ready;
  }

  protected override onDispose(): void {
    this.cancel();
    this.#connections.unsubscribe();
  }

  protected override synthesis(text$: Observable<string>): Observable<SynthesisEvent> {
    const { firstAudioTimeoutMs = 5_000 } = this.config;
    return text$.pipe(
      mergeMap((text) => this.#split(text)),
      mapInOrder(
        (text) => concat(this.#send(text, firstAudioTimeoutMs), of(this.#segmentOf(text))),
        this.#wire.lookahead ?? 2,
      ),
    );
  }

  /** One text's audio: in its turn, within its time, retried until any of it has arrived. */
  #send(text: string, firstAudioMs: number): Observable<SynthesisEvent> {
    const { scheduler = asyncScheduler } = this.config;
    const late = (): VoiceError =>
      this.error(`${this.name}: no audio arrived within ${firstAudioMs} ms`, { code: 'timeout', recoverable: true });
    return defer(() => {
      const attempt$ = defer(() => this.exchange(text, firstAudioMs)).pipe(
        stallTimeout({ firstMs: firstAudioMs, scheduler, error: late }),
        this.#audible(text),
        this.#judged(),
        this.#retried(),
      );
      return this.#requests.hold(attempt$);
    });
  }

  /** Fails when a text with words in it has ended without audio: silence would pass for speech. */
  #audible(text: string): MonoTypeOperatorFunction<SynthesisEvent> {
    return (attempt$) =>
      defer(() => {
        let isHeard = !/[\p{L}\p{N}]/u.test(text);
        return concat(
          attempt$.pipe(tap((event) => (isHeard ||= event.type === 'audio' && isSound(event.data)))),
          defer(() => {
            if (isHeard) return EMPTY;
            throw this.error(`${this.name}: the answer has no audio`, { code: 'protocol', recoverable: true });
          }),
        );
      });
  }

  /** Decides on retries: for anything recoverable except a second timeout, and once for an expired credential. */
  #judged(): (attempt$: Observable<SynthesisEvent>) => Observable<SynthesisEvent> {
    let timeouts = 0;
    let { renewsCredential } = this.transportOptions;
    return catchError((cause: unknown) => {
      const error = VoiceError.from(cause, { provider: this.name });
      const { code, status, message } = error;
      if (code === 'timeout' && status === undefined) timeouts++;
      if (code === 'unauthorized' && !error.recoverable && renewsCredential) {
        renewsCredential = false;
        throw this.error(message, { code, status, cause: error.cause, recoverable: true, retryAfterMs: 0 });
      }
      // Two timeouts are enough waiting.
      throw timeouts < 2 ? error : this.error(message, { code, cause: error });
    });
  }

  #retried<T>(): (attempt$: Observable<T>) => Observable<T> {
    const { scheduler = asyncScheduler } = this.config;
    return retryBackoff({
      ...{ ...requestRetries, scheduler },
      onRetry: ({ error }) => this.logger.warn(`retrying: ${messageOf(error)}`),
    });
  }

  #split(text: string): string[] {
    const { split } = this.#wire.markupOf?.(text, this.config) ?? { split: splitText };
    return split(text, this.maxTextLength, (character) => this.#wire.lengthOf?.(character) ?? 1);
  }

  #segmentOf(text: string): SynthesisEvent {
    return { type: 'segment', text: this.#wire.markupOf?.(text, this.config)?.textOf(text) ?? text };
  }

  /** Synthesizes a text as a whole and delivers it. */
  #deliver(text: string): Observable<never> {
    return defer(() => {
      this.assertReady('finalize');
      if (!text.trim()) return [];
      const abort = new AbortController();
      return from(this.synthesize(text, { signal: abort.signal })).pipe(
        finalize(() => abort.abort()),
        switchMap((blob) => blob.arrayBuffer()),
        switchMap((bytes) => {
          const events: SynthesisEvent[] = [{ type: 'audio', data: new Uint8Array(bytes) }, this.#segmentOf(text)];
          return this.outputs.deliver({
            ...{ events$: from(events), format: this.#wire.format(this.config), text: () => text },
            ended$: this.aborted$('was disposed while speaking'),
          });
        }),
        ignoreElements(),
      );
    });
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Whether there is more than the header of a WAV file. */
const isSound = (data: Bytes): boolean => data.length > (data[0] === 0x52 && data[1] === 0x49 ? 44 : 0);

/** Formats that are runs of frames, so that concatenated files form a file. */
const joinable: readonly AudioMetadata['encoding'][] = ['mp3', 'aac'];

/**
 * Joins the results of several requests, each received in chunks, into one file. Corrects the sizes of WAV files.
 *
 * @throws VoiceError `configuration` when files of this format cannot be joined.
 */
function joinAudio(files: readonly (readonly Bytes[])[], format: AudioMetadata, provider: string): Blob {
  const bodies = files.map((pieces) => joinBytes(pieces)).filter((body) => body.length > 0);
  const [first = new Uint8Array(0)] = bodies;
  if (isWav(first))
    return new Blob([bodies.length === 1 ? fixWavSizes(first) : joinWav(bodies)], { type: 'audio/wav' });
  if (bodies.length > 1 && !isPcmLike(format.encoding) && !joinable.includes(format.encoding)) {
    throw new VoiceError(
      `${provider}: the text needs ${bodies.length} requests, and ${format.encoding} files cannot be joined: ` +
        'use speak(), or the format wav, pcm or mp3',
      { code: 'configuration', provider },
    );
  }
  // Half a sample at the end of one would shift everything after it.
  const whole = isPcmLike(format.encoding) ? bodies.map((body) => wholeFrames(body, frameBytes(format))) : bodies;
  const isOggOpus = isOgg(first) && format.encoding === 'opus';
  const type = isOggOpus ? 'audio/ogg; codecs=opus' : (format.mimeType ?? '');
  return new Blob([joinBytes(whole)], { type });
}

function joinWav(files: readonly Bytes[]): Bytes {
  const readers = files.map((file) => {
    const reader = new WavReader();
    return { samples: reader.push(file), metadata: reader.metadata };
  });
  const metadata = readers[0]?.metadata;
  const samples = joinBytes(readers.map((reader) => reader.samples));
  return metadata ? encodeWav(samples, metadata) : samples;
}

function wholeFrames(bytes: Bytes, size: number): Bytes {
  return bytes.subarray(0, bytes.length - (bytes.length % size));
}

function isOgg(bytes: Bytes): boolean {
  return bytes.length >= 4 && String.fromCharCode(...bytes.subarray(0, 4)) === 'OggS';
}
