import {
  asyncScheduler,
  concat,
  defer,
  EMPTY,
  filter,
  finalize,
  firstValueFrom,
  ignoreElements,
  interval,
  map,
  NEVER,
  of,
  ReplaySubject,
  Subject,
  Subscription,
  switchMap,
  take,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { ConnectionEvent } from '../core/roles.ts';
import { isRecoverable, online$ } from '../stream/backoff.ts';
import { merge } from '../stream/merge.ts';
import { retryBackoff } from '../stream/retry-backoff.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import { drainMs, Outbox } from './outbox.ts';
import { connectOnce, socketError } from './socket-connection.ts';
import type { SocketCloseOptions, ReconnectingSocketOptions } from './reconnecting-socket-options.ts';
import type { RawSocket, SocketClose, SocketData } from './socket.ts';

export type { SocketClose, SocketData, SocketRequest } from './socket.ts';
export type {
  SocketCloseOptions,
  SocketKeepAlive,
  SocketRequestContext,
  ReconnectingSocketOptions,
} from './reconnecting-socket-options.ts';

/** A service that accepts a connection but rejects its credential within this time has not really accepted it. */
const lateRefusalMs = 5_000;

/** Close codes that answer a farewell: done, going away, none given. */
const answers: ReadonlySet<number> = new Set([1000, 1001, 1005]);

/** A requested reconnect, not a failure. */
const restart = new VoiceError('a new connection was requested', { code: 'aborted' });

/** The state of the connections, from one `open()` to its end. */
type Life =
  | { readonly phase: 'idle' }
  | { readonly phase: 'ended' }
  | ({ readonly phase: 'running' } & Running)
  | ({ readonly phase: 'closing' } & Running & Closing);

interface Running {
  /** Resolves when the service is ready for the first time. */
  readonly opened: Promise<void>;
  readonly subscription: Subscription;
}

interface Closing {
  /** Resolves with `hasLastWord` when closed. */
  readonly done: Promise<boolean>;
  /** Whether a connection lost while closing is replaced. */
  readonly insists: boolean;
  /** Whether the service has sent everything it had to send. */
  hasLastWord: boolean;
}

/**
 * A durable WebSocket: across connections, it connects, waits until the service is ready, sends in order and within
 * limits, keeps the connection alive, replaces a lost one, and closes gracefully.
 */
export class ReconnectingSocket {
  /** Messages from the service: text frames as strings, binary ones as bytes. Hot. */
  readonly messages$: Observable<SocketData>;
  /** State of the connection. Hot; replays the latest value. */
  readonly connection$: Observable<ConnectionEvent>;
  /** The error that ended it for good, and warnings. Hot. */
  readonly errors$: Observable<VoiceError>;

  readonly #options: ReconnectingSocketOptions;
  readonly #scheduler: SchedulerLike;
  readonly #outbox: Outbox;
  readonly #messages$ = new Subject<SocketData>();
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #errors$ = new Subject<VoiceError>();
  /** Errors that end the current connection. */
  readonly #failure$ = new Subject<VoiceError>();

  #life: Life = { phase: 'idle' };
  /** The connection on which the service is ready. */
  #socket: RawSocket | undefined;
  /** The rejection of the previous credential. */
  #refused: VoiceError | undefined;
  /** When the service was last ready, until that connection fails. */
  #readyAt: number | undefined;

  constructor(options: ReconnectingSocketOptions) {
    this.#options = options;
    this.#scheduler = options.scheduler ?? asyncScheduler;
    this.#outbox = new Outbox({
      onOverflow: (maxBytes) => {
        const message = `more than ${maxBytes} bytes queued for the connection: the oldest are dropped`;
        this.#errors$.next(socketError(options, message, { code: 'overflow', recoverable: true }));
      },
      stalled: (ms) =>
        socketError(options, `the service read nothing for ${ms} ms`, { code: 'connection', recoverable: true }),
      ...options,
    });
    this.messages$ = this.#messages$.asObservable();
    this.connection$ = this.#connection$.asObservable();
    this.errors$ = this.#errors$.asObservable();
  }

  /** The service's id of the connection, in its answer to the upgrade, if there is one: in Node. */
  get requestId(): string | undefined {
    return this.#socket?.requestId;
  }

  /** Whether the service accepts messages now. */
  get isReady(): boolean {
    return this.#socket !== undefined;
  }

  /**
   * Connects. Concurrent calls share one connection; after a close it starts over.
   *
   * @returns Resolves when the service is ready for the first time.
   * @throws VoiceError when the service refuses for good, or when the socket is closed first.
   */
  open(): Promise<void> {
    const life = this.#life;
    if (life.phase === 'closing') return life.done.then(() => this.open());
    if (life.phase === 'running') return life.opened;

    this.#connection$.next({ type: 'connecting' });
    const opened = firstValueFrom(
      this.#connection$.pipe(
        filter((event) => this.#isOpen(event)),
        map(() => undefined),
      ),
      { defaultValue: undefined },
    );
    // Callers that ignore the promise learn of a failure from errors$.
    opened.catch(() => undefined);
    const subscription = new Subscription();
    this.#life = { phase: 'running', opened, subscription };
    subscription.add(
      this.#connections()
        .pipe(map((socket, index) => this.#becomeReady(socket, index === 0)))
        .subscribe({
          error: (error: unknown) => this.#lose(VoiceError.from(error, { provider: this.#options.provider })),
          complete: () => this.#end(),
        }),
    );
    return opened;
  }

  /**
   * Sends a message, in order: now, or when the service is ready.
   *
   * @returns False when something was dropped, or when the socket is closed.
   */
  send(data: SocketData): boolean {
    const { phase } = this.#life;
    return phase !== 'closing' && phase !== 'ended' && this.#outbox.send(data, this.#socket);
  }

  /** Sends several messages in one system call, where the runtime can: whatever `send` passes to {@link send}. */
  together(send: () => void): void {
    if (this.#socket?.together) this.#socket.together(send);
    else send();
  }

  /** Replaces the connection: at once without an error, else as if it had been lost to that error. */
  reconnect(error?: VoiceError): void {
    if (this.#life.phase === 'running') this.#failure$.next(error ?? restart);
  }

  /**
   * Closes gracefully: sends what is queued and the farewell, waits for the last messages, closes.
   *
   * @returns Whether the service has sent everything it had to send, as far as can be known. Never rejects.
   */
  close(options: SocketCloseOptions = {}): Promise<boolean> {
    const life = this.#life;
    const { timeoutMs = this.#options.closeTimeoutMs ?? 1_000, reconnect: insists = false } = options;
    if (life.phase === 'closing') return life.done;
    if (life.phase !== 'running' || !(this.isReady || insists)) {
      this.terminate();
      return Promise.resolve(false);
    }
    const done$ = new Subject<boolean>();
    const done = firstValueFrom(done$, { defaultValue: false });
    const closing: Life & Closing = { done, insists, hasLastWord: false, ...life, phase: 'closing' };
    this.#life = closing;
    const goodbye$ = this.#connection$.pipe(
      filter(({ type }) => type === 'connected'),
      switchMap(() => this.#goodbye(options)),
      tap(() => {
        closing.hasLastWord = true;
        this.#socket?.close(1000);
      }),
      ignoreElements(),
      stallTimeout({ firstMs: timeoutMs, scheduler: this.#scheduler }),
      finalize(() => {
        this.#end();
        done$.next(closing.hasLastWord);
      }),
    );
    life.subscription.add(goodbye$.subscribe({ error: () => this.#socket?.close(1000) }));
    return done;
  }

  /** Closes at once and releases everything. */
  terminate(): void {
    this.#end();
  }

  /** Sends the farewell on the current connection; emits when the last message has arrived. */
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
    // `last$` is subscribed to first: the answer may come at once.
    return flushed$.pipe(switchMap(() => merge(last$, said$).pipe(take(1))));
  }

  /** The sockets of one life, each when ready; completes on a normal end, fails when reconnecting is pointless. */
  #connections(): Observable<RawSocket> {
    const { reconnect = true } = this.#options;
    const backoff = typeof reconnect === 'object' ? reconnect : {};
    const { shouldRetry = isRecoverable } = backoff;
    let attempts = 0;
    this.#refused = this.#readyAt = undefined;
    return defer(() => this.#connection(++attempts)).pipe(
      retryBackoff({
        ...backoff,
        wake$: online$,
        scheduler: this.#scheduler,
        isRestart: (error) => error === restart || this.#renews(error),
        shouldRetry: (error) => reconnect !== false && !this.#isLeaving() && shouldRetry(error),
        onRetry: ({ error: cause, attempt, delayMs }) => {
          const error = VoiceError.from(cause);
          // After any other failure, a rejected credential may be renewed again.
          if (attempt > 0) this.#refused = this.#readyAt = undefined;
          this.#connection$.next({ type: 'reconnecting', attempt, delayMs, ...(error !== restart && { error }) });
        },
      }),
    );
  }

  /** Whether a new credential may succeed where one was rejected. */
  #renews(cause: unknown): boolean {
    const readyAt = this.#readyAt;
    this.#readyAt = undefined;
    if (!VoiceError.is(cause) || !isRefusedCredential(cause)) return false;
    const wasAccepted = readyAt !== undefined && this.#scheduler.now() - readyAt >= lateRefusalMs;
    const renews = this.#options.renewsCredential === true && (this.#refused === undefined || wasAccepted);
    if (renews) this.#refused = cause;
    return renews;
  }

  #connection(attempt: number): Observable<RawSocket> {
    return connectOnce(this.#options, {
      attempt,
      refused: this.#refused,
      failure$: this.#failure$,
      onMessage: (data) => this.#messages$.next(data),
      isExpected: (close) => this.#isExpected(close),
      upkeep$: (socket) => this.#outbox.drain(socket),
      onEnd: () => {
        // `replay` sends again what is needed of earlier messages.
        if (this.#socket && this.#options.replay) this.#outbox.clear();
        this.#socket = undefined;
      },
    });
  }

  #becomeReady(socket: RawSocket, isFirst: boolean): void {
    this.#socket = socket;
    this.#readyAt = this.#scheduler.now();
    const { prologue, replay } = this.#options;
    this.#outbox.unshift([...(prologue?.() ?? []), ...(isFirst ? [] : (replay?.() ?? []))]);
    this.#outbox.drainInto(socket);
    if (this.#socket !== socket) return;
    this.#connection$.next({ type: 'connected' });
  }

  /** Whether it is closing, so that a lost connection only hastens the end. */
  #isLeaving(): boolean {
    return this.#life.phase === 'closing' && !this.#life.insists;
  }

  #isExpected({ code }: SocketClose): boolean {
    const life = this.#life;
    if (life.phase !== 'closing') return false;
    const isExpected = life.hasLastWord || !life.insists || answers.has(code);
    life.hasLastWord ||= answers.has(code);
    return isExpected;
  }

  /** Gives up for good. */
  #lose(error: VoiceError): void {
    if (this.#isLeaving()) {
      this.#end();
      return;
    }
    this.#errors$.next(error);
    this.#end({ type: 'lost', error });
  }

  #end(event: Extract<ConnectionEvent, { type: 'closed' | 'lost' }> = { type: 'closed' }): void {
    const life = this.#life;
    if (life.phase === 'idle' || life.phase === 'ended') return;
    this.#life = { phase: 'ended' };
    this.#outbox.clear();
    life.subscription.unsubscribe();
    this.#connection$.next(event);
  }

  /** Whether an event means that the service is ready; throws when it never will be. */
  #isOpen(event: ConnectionEvent): boolean {
    const { provider } = this.#options;
    if (event.type === 'lost') throw event.error;
    if (event.type === 'closed')
      throw new VoiceError(`${provider}: the connection was closed`, { code: 'aborted', provider });
    return event.type === 'connected';
  }
}

function isRefusedCredential({ status, code }: VoiceError): boolean {
  return status === 401 || status === 403 || (status !== undefined && code === 'unauthorized');
}
