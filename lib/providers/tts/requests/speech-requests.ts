import {
  asapScheduler,
  asyncScheduler,
  catchError,
  concat,
  concatMap,
  defer,
  filter,
  finalize,
  forkJoin,
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
  type Subscription,
  switchMap,
  takeUntil,
  toArray,
} from 'rxjs';
import { WavReader } from '../../../audio/wav-reader.ts';
import { messageOf, VoiceError, withChanges } from '../../../core/errors.ts';
import { asObject } from '../../../core/guard.ts';
import { oncePerKind } from '../../../core/application-code.ts';
import { OnDemand } from '../../../core/on-demand.ts';
import { wireParameters } from '../../../core/wire-parameters.ts';
import { withRequestId } from '../../../core/request-id.ts';
import { isRecoverable } from '../../../stream/backoff.ts';
import { fromAbort } from '../../../stream/bridge.ts';
import { incremental } from '../../../stream/incremental.ts';
import { createLock, type Lock } from '../../../stream/lock.ts';
import { mapInOrder } from '../../../stream/map-in-order.ts';
import { merge } from '../../../stream/merge.ts';
import { retryBackoff } from '../../../stream/retry-backoff.ts';
import { stallTimeout } from '../../../stream/stall-timeout.ts';
import { splitText } from '../../../text/split-text.ts';
import { hasWords } from '../../../text/words.ts';
import {
  httpRequest,
  type HttpRequestHeaders,
  type HttpResponse,
  keepConnections,
  readJson,
  requestRetries,
  warmConnection,
} from '../../../transport/http.ts';
import { requestIdOf } from '../../../transport/http-error.ts';
import { assembleUtterance, type SynthesisEvent, type UtteranceEvent, type UtteranceOptions } from '../utterance.ts';
import type { TTSCallOptions, VoiceHost } from '../voice-service.ts';
import { withErrorsOf, wireErrors } from '../wire-errors.ts';
import { answerReader } from './read-audio.ts';
import type { ExchangeContext, RequestContext, RequestTTSConfig, RequestWire, SpeechRequest } from './request-wire.ts';

/** A provider's requests: sends one for each piece of a text, the next one in progress while the first is heard. */
export class SpeechRequests<C extends RequestTTSConfig> {
  readonly #wire: RequestWire<C>;
  readonly #host: VoiceHost<C>;
  readonly #context: RequestContext<C>;
  /** The service's limit of simultaneous requests per account. */
  readonly #requests: Lock;
  /** One `finalize()` at a time. */
  readonly #finalizing: Lock = createLock();
  readonly #cancelled$ = new Subject<void>();
  readonly #connections: Subscription = keepConnections();

  constructor(wire: RequestWire<C>, host: VoiceHost<C>) {
    this.#wire = wire;
    this.#host = withErrorsOf(wire, host);
    const { provider, logger, transport } = this.#host;
    this.#requests = createLock(() => provider.config.concurrency ?? wire.concurrency ?? Infinity);
    const errors = wireErrors(this.#host);
    const warn = oncePerKind((text) => logger().warn(`${provider.name}: ${text}`));
    this.#context = {
      get config() {
        return provider.config;
      },
      get parameters() {
        return wireParameters(provider.config, wire.rules(provider.config));
      },
      get format() {
        return wire.format(provider.config);
      },
      ...errors,
      warn,
      answers: answerReader({ ...errors, warn }),
      note: (text) => logger().debug(`${provider.name}: ${text}`),
      download: (address) => defer(() => httpRequest({ ...transport(), url: this.#fileAt(address) })),
    } satisfies RequestContext<C>;
  }

  /** A file's address: an answer must not have this machine ask any host of its network. */
  #fileAt(address: string): URL {
    const { error, url } = this.#host;
    const file = URL.canParse(address) ? new URL(address) : undefined;
    const isVendors = file?.protocol === 'https:' && !file.port && this.#wire.fileHosts?.test(file.hostname);
    if (file && (isVendors || file.origin === url('').origin)) return file;
    throw error(`refused a file at ${file?.origin ?? 'no address'}: not a host of the service`, {
      code: 'protocol',
    });
  }

  warm(): void {
    if (!this.#connections.closed && !this.#host.transport().fetch) warmConnection(this.#host.url(''));
  }

  /** Synthesizes a text as a whole and delivers it; waits for earlier ones. */
  async deliver(text: string, { signal }: TTSCallOptions = {}): Promise<void> {
    // Deferred: `cancel()` ends them one by one, and none that waits may start meanwhile.
    const run$ = this.#finalizing
      .hold(this.#deliverWhole(text).pipe(subscribeOn(asapScheduler)))
      .pipe(takeUntil(this.#cancelled$), takeUntil(fromAbort(signal)));
    await lastValueFrom(run$, { defaultValue: undefined });
  }

  /** Ends all of `deliver()`. */
  cancel(): void {
    this.#cancelled$.next();
  }

  async synthesize(text: string, { signal }: TTSCallOptions = {}): Promise<Blob> {
    const { provider, ended$ } = this.#host;
    const pieces = this.#split(text);
    if (pieces.length === 0) throw this.#context.error('no text to synthesize', { code: 'configuration' });
    const { requestTimeoutMs = 60_000 } = this.#config;
    const format = this.#wire.format(this.#config);
    const files$ = from(pieces).pipe(
      concatMap((piece) =>
        this.#send(piece, requestTimeoutMs).pipe(
          filter((event) => event.type === 'audio'),
          map(({ data }) => data),
          toArray(),
        ),
      ),
      toArray(),
    );
    // Only `synthesize()` needs this code.
    const code = new OnDemand(provider.name, () => import('./join-audio.ts'));
    const file$ = forkJoin([files$, defer(() => code.load())]).pipe(
      map(([files, { joinAudio }]) => joinAudio(files, format, provider.name)),
      takeUntil(merge(ended$, fromAbort(signal))),
    );
    return lastValueFrom(file$, { defaultValue: new Blob([]) });
  }

  /** Fetches JSON with a request without a body. Retried like any other. */
  async fetchJson(request: SpeechRequest, { signal }: TTSCallOptions = {}): Promise<unknown> {
    const { requestTimeoutMs = 60_000 } = this.#config;
    return lastValueFrom(
      this.#ask(request, requestTimeoutMs).pipe(
        readJson(),
        this.#retried(),
        takeUntil(merge(this.#host.ended$, fromAbort(signal))),
      ),
      { defaultValue: undefined },
    );
  }

  /** Reads one response. */
  read(response: HttpResponse): Observable<SynthesisEvent> {
    return this.#wire.read?.(response, this.#context) ?? this.#context.answers.audio(response);
  }

  speak(text$: Observable<string>, options: UtteranceOptions): Observable<UtteranceEvent> {
    const { firstAudioTimeoutMs = 5_000 } = this.#config;
    return text$.pipe(
      mergeMap((text) => this.#split(text)),
      mapInOrder(
        (text) => concat(this.#send(text, firstAudioTimeoutMs), of(this.#segmentOf(text))),
        this.#wire.lookahead ?? 2,
      ),
      assembleUtterance(options),
    );
  }

  close(): void {
    this.cancel();
    this.#connections.unsubscribe();
  }

  get #config(): Readonly<C> {
    return this.#host.provider.config;
  }

  /** One text's audio: in its turn, within its time, retried until any of it has arrived. */
  #send(text: string, firstAudioMs: number): Observable<SynthesisEvent> {
    const { scheduler = asyncScheduler } = this.#config;
    const late = (): VoiceError =>
      this.#context.error(`no audio arrived within ${firstAudioMs} ms`, { code: 'timeout', recoverable: true });
    return defer(() => {
      const attempt$ = defer(() => {
        const answered: Answered = { requestId: undefined };
        return this.#exchange(text, firstAudioMs, answered).pipe(
          stallTimeout({ firstMs: firstAudioMs, scheduler, error: late }),
          this.#audible(text),
          catchError((cause: unknown) => {
            throw withRequestId(VoiceError.from(cause, { provider: this.#host.provider.name }), answered.requestId);
          }),
        );
      }).pipe(this.#judged(), this.#retried());
      return this.#requests.hold(attempt$);
    });
  }

  /** What is said of one text: its answer, and what the wire adds to it. */
  #exchange(text: string, firstByteMs: number, answered: Answered): Observable<SynthesisEvent> {
    const events$ = this.#answer(text, firstByteMs, answered);
    const context = {
      ...this.#context,
      ask: (request) => this.#ask(request, firstByteMs),
    } satisfies ExchangeContext<C>;
    return this.#wire.exchange?.(text, events$, context) ?? events$;
  }

  /** One text's answer, from the request's credential to the end of its body. */
  #answer(text: string, firstByteMs: number, answered: Answered): Observable<SynthesisEvent> {
    return defer(() => {
      // The configuration may change before the answer arrives.
      const metadata = this.#wire.format(this.#config);
      return defer(async () => this.#wire.request(text, this.#context)).pipe(
        switchMap((request) => this.#ask(withFields(request, this.#config.extraBody), firstByteMs)),
        switchMap((response) => {
          answered.requestId = requestIdOf(response.headers);
          return this.read(response);
        }),
        map((event) => (event.type === 'audio' ? { metadata, requestId: answered.requestId, ...event } : event)),
      );
    });
  }

  /** Sends one request, with its credential, without retries. */
  #ask(request: SpeechRequest, firstByteMs: number): Observable<HttpResponse> {
    const { idleTimeoutMs = 5_000 } = this.#config;
    return defer(() => {
      const url = this.#host.url(request.path, request.query);
      return httpRequest({
        ...this.#host.transport(),
        url,
        json: request.json,
        body: request.body,
        headers: async () => ({ ...request.headers, ...(await this.#credential(request, url)) }),
        timeouts: { firstByteMs, idleMs: idleTimeoutMs },
      });
    });
  }

  /** The headers that carry a request's credential; none in proxy mode. */
  async #credential(request: SpeechRequest, url: URL): Promise<HttpRequestHeaders> {
    const { provider } = this.#host;
    if (provider.isProxyMode) return {};
    if (this.#wire.sign) return this.#wire.sign(request, url, this.#config.extraHeaders ?? {});
    if (!this.#wire.credential) return { Authorization: await provider.resolveAuthHeader() };
    return this.#wire.credential(await provider.resolveApiKey(), this.#config);
  }

  /**
   * Fails when a text with words in it has ended without audio: silence would pass for speech. What comes before audio,
   * such as the head of an empty file, waits for it.
   */
  #audible(text: string): MonoTypeOperatorFunction<SynthesisEvent> {
    return incremental(() => {
      let isHeard = !hasWords(text);
      const reader = new WavReader();
      const early: SynthesisEvent[] = [];
      return {
        push: (event) => {
          if (isHeard) return [event];
          early.push(event);
          isHeard = event.type === 'audio' && isSound(reader, event.data);
          return isHeard ? early : [];
        },
        flush: () => {
          if (isHeard) return [];
          throw this.#context.error('the answer has no audio', { code: 'protocol', recoverable: true });
        },
      };
    });
  }

  /** Decides on retries: for anything recoverable except a second timeout, and once for an expired credential. */
  #judged(): (attempt$: Observable<SynthesisEvent>) => Observable<SynthesisEvent> {
    let timeouts = 0;
    const { name: provider } = this.#host.provider;
    let { renewsCredential } = this.#host.transport();
    return catchError((cause: unknown) => {
      const error = VoiceError.from(cause, { provider });
      const { code, status } = error;
      if (code === 'timeout' && status === undefined) timeouts++;
      if (code === 'unauthorized' && !error.recoverable && renewsCredential) {
        renewsCredential = false;
        throw withChanges(error, { provider, recoverable: true, retryAfterMs: 0 });
      }
      // Two timeouts are enough waiting.
      throw timeouts < 2 ? error : withChanges(error, { provider, recoverable: false, cause: error });
    });
  }

  #retried<T>(): (attempt$: Observable<T>) => Observable<T> {
    const { scheduler = asyncScheduler } = this.#config;
    let useless = 0;
    return retryBackoff({
      ...requestRetries,
      scheduler,
      // A second answer without audio is not asked for a third.
      shouldRetry: (error) => isRecoverable(error) && !(error.code === 'protocol' && ++useless > 1),
      onRetry: ({ error }) => this.#host.logger().warn(`retrying: ${messageOf(error)}`),
    });
  }

  #split(text: string): string[] {
    const { split } = this.#wire.markupOf?.(text, this.#config) ?? { split: splitText };
    return split(text, this.#host.provider.maxTextLength, (character) => this.#wire.lengthOf?.(character) ?? 1);
  }

  #segmentOf(text: string): SynthesisEvent {
    return { type: 'segment', text: this.#wire.markupOf?.(text, this.#config)?.textOf(text) ?? text };
  }

  /** Synthesizes a text as a whole and delivers it. */
  #deliverWhole(text: string): Observable<never> {
    return defer(() => {
      this.#host.assertReady('finalize');
      if (!text.trim()) return [];
      const abort = new AbortController();
      return from(this.#host.provider.synthesize(text, { signal: abort.signal })).pipe(
        finalize(() => abort.abort()),
        switchMap((blob) => blob.arrayBuffer()),
        switchMap((bytes) => {
          const events: SynthesisEvent[] = [{ type: 'audio', data: new Uint8Array(bytes) }, this.#segmentOf(text)];
          return this.#host.deliver((options) => from(events).pipe(assembleUtterance(options)), text);
        }),
        ignoreElements(),
      );
    });
  }
}

/** What is known of an attempt's answer. */
interface Answered {
  requestId: string | undefined;
}

/** A request with the application's own fields; a wire whose body is not JSON adds them itself. */
function withFields(request: SpeechRequest, extraBody: RequestTTSConfig['extraBody']): SpeechRequest {
  const json = asObject(request.json);
  return json && extraBody ? { ...request, json: { ...json, ...extraBody } } : request;
}

/** Whether a piece of audio has more than the header of a WAV file, or than a part of one. */
function isSound(reader: WavReader, data: Uint8Array<ArrayBuffer>): boolean {
  return reader.push(data).length > 0 || reader.kind === 'unsupported';
}
