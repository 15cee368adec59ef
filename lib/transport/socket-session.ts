import { failRefused, openSocket as runtimeSocket } from '#websocket';
import {
  asyncScheduler,
  concat,
  defer,
  EMPTY,
  endWith,
  exhaustMap,
  filter,
  finalize,
  from,
  ignoreElements,
  interval,
  map,
  merge,
  mergeMap,
  NEVER,
  of,
  ReplaySubject,
  retry,
  startWith,
  Subject,
  switchMap,
  take,
  takeUntil,
  takeWhile,
  tap,
  throwError,
  timer,
  type Observable,
  type SchedulerLike,
  type Subscription,
} from 'rxjs';
import { asFatal, createBackoff } from '../core/backoff.ts';
import { messageOf, VoiceError, type VoiceErrorOptions } from '../core/errors.ts';
import { silentLogger, type Logger } from '../core/logger.ts';
import { redact as redactText, redactUrl } from '../core/redact.ts';
import type { ConnectionEvent } from '../core/roles.ts';
import { Outbox } from './outbox.ts';
import { patientTimer } from './patient-timer.ts';
import type { SocketCloseOptions, SocketSessionOptions } from './socket-session-options.ts';
import {
  connectSocket,
  type RawSocket,
  type SocketData,
  type SocketEvent,
  type SocketRefusal,
  type SocketRequest,
} from './socket.ts';

export type { SocketClose, SocketData, SocketRequest } from './socket.ts';
export type {
  SocketCloseOptions,
  SocketKeepAlive,
  SocketRequestContext,
  SocketSessionOptions,
} from './socket-session-options.ts';

const mebibyte = 1024 * 1024;

/** How often a full buffer is looked at, in milliseconds. */
const drainMs = 20;

/** A connection that lasts longer was refused no credential, in milliseconds. */
const refusalMs = 5_000;

/** Close codes that answer a farewell: done, going away, none given. */
const answers: ReadonlySet<number> = new Set([1000, 1001, 1005]);

/** A new connection that was asked for, not one that failed. */
const restart = Symbol('restart');

/**
 * One conversation with a service over as many WebSocket connections as it takes: it connects, waits until the service
 * is ready, keeps order and bounds, keeps the connection alive, replaces a lost one, and ends gracefully.
 */
export class SocketSession {
  /** What the service sends: text frames as strings, binary ones as bytes. Hot. */
  readonly messages$: Observable<SocketData>;
  /** Hot; the latest value first. */
  readonly connection$: Observable<ConnectionEvent>;
  /** The error that ended the session, and warnings. Hot. */
  readonly errors$: Observable<VoiceError>;

  readonly #options: SocketSessionOptions;
  readonly #scheduler: SchedulerLike;
  readonly #logger: Logger;
  readonly #redact: (text: string) => string;
  readonly #messages$ = new Subject<SocketData>();
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #errors$ = new Subject<VoiceError>();

  /** What the present connection is told to end for. */
  readonly #fail$ = new Subject<VoiceError | typeof restart>();
  /** The outbox has something to wait for. */
  readonly #blocked$ = new Subject<void>();
  /** A connection is ready. */
  readonly #readied$ = new Subject<void>();
  readonly #ended$ = new Subject<void>();

  #state: 'idle' | 'running' | 'closing' | 'ended' = 'idle';
  #life: Subscription | undefined;
  #opened: Deferred<undefined> | undefined;
  #closing: { readonly promise: Promise<boolean>; readonly insists: boolean; isComplete: boolean } | undefined;

  #socket: RawSocket | undefined;
  /** Whether the present connection has got its opening. */
  #hasOpening = false;
  #ready = false;
  /** Whether any connection of this life was ready. */
  #wasReady = false;
  /** A sign of life came since the last keep-alive. */
  #heard = false;

  readonly #outbox: Outbox;

  constructor(options: SocketSessionOptions) {
    this.#options = options;
    this.#outbox = new Outbox({
      maxBufferedBytes: options.maxBufferedBytes,
      maxOutboxBytes: options.maxOutboxBytes,
      onOverflow: (maxBytes) => {
        const message = `more than ${maxBytes} bytes wait for the connection: the oldest are dropped`;
        this.#errors$.next(this.#error(message, { code: 'overflow', recoverable: true }));
      },
    });
    this.#scheduler = options.scheduler ?? asyncScheduler;
    this.#logger = options.logger ?? silentLogger;
    this.#redact = options.redact ?? redactText;
    this.messages$ = this.#messages$.asObservable();
    this.connection$ = this.#connection$.asObservable();
    this.errors$ = this.#errors$.asObservable();
  }

  /** Whether the service takes messages now. */
  get isReady(): boolean {
    return this.#ready;
  }

  /**
   * Connects. Calls at the same time share one connection; after an end it starts anew.
   *
   * @returns Resolves when the service is ready for the first time.
   * @throws VoiceError when the service refuses for good, or when the session is ended first.
   */
  open(): Promise<void> {
    if (this.#closing) return this.#closing.promise.then(() => this.open());
    if (this.#opened) return this.#opened.promise;

    const opened = deferred<undefined>();
    // Who ignores the promise hears of it by errors$.
    opened.promise.catch(() => undefined);
    this.#opened = opened;
    this.#state = 'running';
    this.#wasReady = false;
    this.#connection$.next({ type: 'connecting' });
    const life = this.#connections().subscribe({
      error: (error: unknown) => this.#lose(VoiceError.from(error, { provider: this.#options.provider })),
      complete: () => this.#end(),
    });
    // It may have ended within subscribe.
    if (!life.closed) this.#life = life;
    return opened.promise;
  }

  /**
   * Sends a message, in order: now, or when the service is ready.
   *
   * @returns False when something had to be dropped, or when the session has ended.
   */
  send(data: SocketData): boolean {
    if (this.#state === 'closing' || this.#state === 'ended') return false;
    if (this.#ready && this.#socket && this.#outbox.trySend(this.#socket, data)) return true;
    const kept = this.#outbox.push(data);
    if (this.#ready) this.#blocked$.next();
    return kept;
  }

  /** Replaces the connection: at once without an error, else as if it had been lost to that error. */
  reconnect(error?: VoiceError): void {
    if (this.#state === 'running') this.#fail$.next(error ?? restart);
  }

  /**
   * Ends the session gracefully: sends what waits and the farewell, lets the last messages arrive, closes.
   *
   * @returns Whether the service has said all that it had to say, as far as one can know. Never rejects.
   */
  close(options: SocketCloseOptions = {}): Promise<boolean> {
    if (this.#closing) return this.#closing.promise;
    const { timeoutMs = this.#options.closeTimeoutMs ?? 1_000, reconnect: insists = false } = options;
    if (!this.#ready && !(insists && this.#state === 'running')) {
      this.terminate();
      return Promise.resolve(false);
    }
    const { promise, resolve } = deferred<boolean>();
    const closing = { promise, insists, isComplete: false };
    this.#closing = closing;
    this.#state = 'closing';
    const goodbye$ = (this.#ready ? this.#readied$.pipe(startWith(undefined)) : this.#readied$).pipe(
      switchMap(() => this.#goodbye(options)),
      tap(() => {
        closing.isComplete = true;
        this.#socket?.close(1000);
      }),
      ignoreElements(),
    );
    const late$ = patientTimer(timeoutMs, this.#scheduler).pipe(tap(() => this.#socket?.close(1000)));
    const end = merge(goodbye$, late$)
      .pipe(
        take(1),
        takeUntil(this.#ended$),
        finalize(() => {
          this.#closing = undefined;
          this.#end();
          resolve(closing.isComplete);
        }),
      )
      .subscribe({ error: () => undefined });
    this.#life?.add(end);
    return promise;
  }

  /** Ends the session at once; nothing of it is left. */
  terminate(): void {
    this.#end();
  }

  /** Says goodbye on the present connection; emits when the last message has come. */
  #goodbye({ farewell = [], until }: SocketCloseOptions): Observable<unknown> {
    const flushed$ = concat(of(0), interval(drainMs, this.#scheduler)).pipe(
      filter(() => this.#outbox.length === 0),
      take(1),
    );
    const says = typeof farewell === 'function' || farewell.length > 0;
    const last$ = until ? this.#messages$.pipe(filter(until)) : says ? NEVER : of(0);
    const said$ = defer(() => {
      for (const data of typeof farewell === 'function' ? farewell() : farewell) this.#socket?.send(data);
      return EMPTY;
    });
    // `last$` listens before the farewell is said: the answer may come at once.
    return flushed$.pipe(switchMap(() => merge(last$, said$).pipe(take(1))));
  }

  /** All connections of one life; completes at a normal end, fails when no other connection is worth trying. */
  #connections(): Observable<never> {
    const { reconnect = true, renewsCredential = false } = this.#options;
    const now = (): number => this.#scheduler.now();
    const backoff = createBackoff({ ...(typeof reconnect === 'object' ? reconnect : {}), now });
    let attempt = 0;
    let refused: VoiceError | undefined;
    let readyAt: number | undefined;

    const retryAfter = (error: VoiceError): number | undefined => {
      // A service may take a connection and then refuse its credential: it has not taken that one either.
      const wasTaken = readyAt !== undefined && !(isRefusedCredential(error) && now() - readyAt < refusalMs);
      if (wasTaken) refused = undefined;
      readyAt = undefined;
      const renews = renewsCredential && !refused && isRefusedCredential(error);
      refused = renews ? error : undefined;
      if (renews) return 0;
      return this.#closing?.insists === false || reconnect === false ? undefined : backoff.next(error);
    };

    return defer(() =>
      this.#connection(++attempt, refused, () => {
        readyAt = now();
        backoff.succeeded();
      }),
    ).pipe(
      retry({
        delay: (cause: unknown) => {
          if (cause === restart) return this.#reconnectAfter(0, backoff.tries);
          const error = VoiceError.is(cause) ? cause : this.#error(messageOf(cause), { code: 'internal', cause });
          const delayMs = retryAfter(error);
          return delayMs === undefined
            ? throwError(() => asFatal(error, backoff.tries))
            : this.#reconnectAfter(delayMs, backoff.tries, error);
        },
      }),
    );
  }

  #reconnectAfter(delayMs: number, attempt: number, error?: VoiceError): Observable<unknown> {
    this.#connection$.next({ type: 'reconnecting', attempt, delayMs, ...(error && { error }) });
    return timer(delayMs, this.#scheduler);
  }

  /** One connection, from its credential to its end. */
  #connection(attempt: number, refused: VoiceError | undefined, succeeded: () => void): Observable<never> {
    const {
      provider,
      request,
      connectTimeoutMs = 10_000,
      maxMessageBytes = mebibyte,
      maxFragments = 1_024,
    } = this.#options;
    const { openSocket = runtimeSocket } = this.#options;

    return defer(() => {
      const abort = new AbortController();
      const ready$ = new Subject<void>();
      let address = 'the service';

      const wire$ = defer(() => from(request({ attempt, signal: abort.signal, ...(refused && { refused }) }))).pipe(
        switchMap((target) => {
          address = redactUrl(target.url);
          return connectSocket(openSocket, target, { maxMessageBytes, maxFragments }).pipe(
            mergeMap((event) => this.#receive(event, target, ready$)),
          );
        }),
        endWith('end' as const),
      );
      const late$ = patientTimer(connectTimeoutMs, this.#scheduler).pipe(
        map(() => {
          throw this.#error(`${address} was not ready within ${connectTimeoutMs} ms`, {
            code: 'timeout',
            recoverable: true,
          });
        }),
        takeUntil(ready$),
      );
      const upkeep$ = ready$.pipe(
        tap(succeeded),
        switchMap(() => merge(this.#keepAlive(), this.#drainage())),
      );
      const told$ = this.#fail$.pipe(mergeMap((cause) => throwError(() => cause)));

      // `upkeep$` listens before `wire$` can say that it is ready.
      return merge(upkeep$, late$, told$, wire$).pipe(
        take(1),
        ignoreElements(),
        finalize(() => {
          // What was sent before is replay's to say again.
          if (this.#ready && this.#options.replay) this.#outbox.clear();
          abort.abort(new VoiceError('the connection was given up', { code: 'aborted', provider }));
          this.#ready = false;
          this.#socket = undefined;
        }),
      );
    });
  }

  #receive(event: SocketEvent, target: SocketRequest, ready$: Subject<void>): Observable<never> {
    const { opensAfter, isReady } = this.#options;
    switch (event.type) {
      case 'opened':
        this.#socket = event.socket;
        this.#hasOpening = false;
        if (!opensAfter) this.#sayOpening();
        // A callback or a listener may have ended the session.
        if (!isReady && this.#socket === event.socket) this.#becomeReady(ready$);
        return EMPTY;
      case 'message':
        this.#heard = true;
        this.#messages$.next(event.data);
        if (opensAfter?.(event.data)) this.#sayOpening();
        if (!this.#ready && this.#socket && isReady?.(event.data)) this.#becomeReady(ready$);
        return EMPTY;
      case 'alive':
        this.#heard = true;
        return EMPTY;
      case 'refused':
        return this.#refusal(event.refusal, target);
      case 'closed':
        return this.#closure(event, target);
    }
  }

  #sayOpening(): void {
    const socket = this.#socket;
    if (!socket || this.#hasOpening) return;
    this.#hasOpening = true;
    for (const data of this.#options.opening?.() ?? []) socket.send(data);
  }

  #becomeReady(ready$: Subject<void>): void {
    const again = this.#wasReady;
    this.#ready = true;
    this.#wasReady = true;
    this.#heard = true;
    ready$.next();
    if (again) this.#outbox.unshift(this.#options.replay?.() ?? []);
    this.#drain();
    if (!this.#socket) return;
    if (this.#outbox.length > 0) this.#blocked$.next();
    this.#opened?.resolve(undefined);
    this.#connection$.next({ type: 'connected' });
    this.#readied$.next();
  }

  /** Fails with what an HTTP answer in place of the upgrade means. */
  #refusal({ status, headers, body }: SocketRefusal, target: SocketRequest): Observable<never> {
    if (status < 300) {
      return throwError(() =>
        this.#error(`${redactUrl(target.url)} is no WebSocket service (${status})`, { code: 'protocol', status }),
      );
    }
    return failRefused({ status, headers, body }, this.#options.provider, {
      url: new URL(target.url),
      scheduler: this.#scheduler,
      logger: this.#logger,
      redact: this.#redact,
      errorOf: this.#options.errorOf,
    });
  }

  /** Completes after a normal end, else fails with what it means. */
  #closure({ close, cause }: SocketEvent & { type: 'closed' }, target: SocketRequest): Observable<never> {
    if (this.#closing) {
      const { isComplete, insists } = this.#closing;
      this.#closing.isComplete ||= answers.has(close.code);
      if (isComplete || !insists || answers.has(close.code)) return EMPTY;
    }
    const verdict = this.#options.classifyClose?.(close) ?? (close.code === 1000 ? 'normal' : 'retry');
    if (verdict === 'normal' && this.#ready) return EMPTY;
    if (VoiceError.is(verdict)) return throwError(() => verdict);
    if (VoiceError.is(cause)) return throwError(() => this.#error(cause.message, { code: cause.code }));

    const why = close.reason || (cause === undefined ? '' : messageOf(cause));
    const what = this.#ready
      ? 'closed the connection'
      : this.#socket
        ? 'closed before it was ready'
        : 'cannot be reached';
    return throwError(() =>
      this.#error(`${redactUrl(target.url)} ${what} (${[close.code, why].filter(Boolean).join(' ')})`, {
        code: 'connection',
        recoverable: true,
        status: close.code,
        cause,
      }),
    );
  }

  #keepAlive(): Observable<never> {
    const { keepAlive: { intervalMs = 8_000, message } = {} } = this.#options;
    let asked = false;
    let misses = 0;
    return interval(intervalMs, this.#scheduler).pipe(
      mergeMap(() => {
        misses = this.#heard || !asked ? 0 : misses + 1;
        if (misses >= 2) {
          return throwError(() =>
            this.#error(`the service has not answered for ${misses} keep-alives of ${intervalMs} ms`, {
              code: 'connection',
              recoverable: true,
            }),
          );
        }
        this.#heard = false;
        const socket = this.#socket;
        asked = socket?.ping !== undefined;
        const data = message?.(asked);
        if (data !== undefined) socket?.send(data);
        socket?.ping?.();
        return EMPTY;
      }),
    );
  }

  /** Sends what waits as the connection takes it; fails when it takes nothing any more. */
  #drainage(): Observable<never> {
    const { stallTimeoutMs = 5_000 } = this.#options;
    return this.#blocked$.pipe(
      exhaustMap(() => {
        let stalledMs = 0;
        let least = Infinity;
        return interval(drainMs, this.#scheduler).pipe(
          mergeMap(() => {
            this.#drain();
            const buffered = this.#socket?.bufferedAmount ?? 0;
            stalledMs = buffered < least ? 0 : stalledMs + drainMs;
            least = buffered;
            if (stalledMs < stallTimeoutMs) return of(this.#outbox.length);
            return throwError(() =>
              this.#error(`the service has taken nothing for ${stallTimeoutMs} ms`, {
                code: 'connection',
                recoverable: true,
              }),
            );
          }),
          takeWhile((waiting) => waiting > 0),
          ignoreElements(),
        );
      }),
    );
  }

  #drain(): void {
    if (this.#socket && this.#ready) this.#outbox.drainInto(this.#socket);
  }

  /** The session cannot go on. */
  #lose(error: VoiceError): void {
    if (this.#closing?.insists === false) {
      this.#end();
      return;
    }
    this.#errors$.next(error);
    this.#end({ type: 'lost', error });
  }

  #end(event: Extract<ConnectionEvent, { type: 'closed' | 'lost' }> = { type: 'closed' }): void {
    if (this.#state === 'idle' || this.#state === 'ended') return;
    this.#state = 'ended';
    const { provider } = this.#options;
    const life = this.#life;
    const opened = this.#opened;
    this.#life = undefined;
    this.#opened = undefined;
    this.#outbox.clear();
    this.#ended$.next();
    life?.unsubscribe();
    opened?.reject(
      event.type === 'lost'
        ? event.error
        : new VoiceError(`${provider}: the session was ended`, { code: 'aborted', provider }),
    );
    this.#connection$.next(event);
  }

  #error(message: string, options: VoiceErrorOptions): VoiceError {
    const { provider } = this.#options;
    return new VoiceError(this.#redact(`${provider}: ${message}`), { ...options, provider });
  }
}

function isRefusedCredential({ status, code }: VoiceError): boolean {
  return status === 401 || status === 403 || (status !== undefined && code === 'unauthorized');
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: VoiceError) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: VoiceError) => void = () => undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
