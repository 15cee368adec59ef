/// <reference lib="esnext.disposable" preserve="true" />
import {
  asyncScheduler,
  BehaviorSubject,
  catchError,
  defer,
  EMPTY,
  filter,
  firstValueFrom,
  from,
  interval,
  map,
  startWith,
  Subject,
  Subscription,
  switchMap,
  take,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { VoiceEventType } from '../conversation/events.ts';
import type { PipelineOptions } from '../pipeline/pipeline-options.ts';
import { Pipeline } from '../pipeline/pipeline.ts';
import { merge } from '../stream/merge.ts';
import { longestTimerMs, patientTimer } from '../stream/patient-timer.ts';

/** The scope of one session. */
export interface SessionScope {
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
  /** The session's pipeline, once created: for tools that need it, such as `hangUpTool()`. */
  readonly pipeline: () => Pipeline;
  /** Registers a callback for the end of the session, to close what was opened for it. Called in reverse order. */
  readonly add: (teardown: () => void) => void;
}

/** Why a session was refused. */
export type SessionRefusal = 'full' | 'draining';

/**
 * Why a session ended: by itself (the call ended, the pipeline stopped), because its start failed, because it was idle,
 * or by `end()`, `drain()` or `dispose()`.
 */
export type SessionEnd = 'ended' | 'failed' | 'idle' | 'asked' | 'drained';

/** Options of {@link sessions}. */
export interface SessionsOptions<R> {
  /**
   * Creates the options of a session's pipeline: at least its providers, which must not be shared. Takes precedence
   * over `config`. If it throws, so does `open()`.
   */
  readonly create: (request: R, scope: SessionScope) => PipelineOptions;
  /**
   * What must be done before a session's pipeline starts, such as {@link remember}. The start waits for it; if it fails,
   * the session ends as `failed`. Default: nothing.
   */
  readonly prepare?: (pipeline: Pipeline, request: R) => unknown;
  /** Options shared by all sessions. Default: none. */
  readonly config?: Partial<PipelineOptions>;
  /** Most sessions at once, from 0, including those that are ending. Default: 100. */
  readonly maxSessions?: number;
  /**
   * Ends a session in which nobody has spoken, typed or pressed a key for this long, in milliseconds; `Infinity` for
   * never. Default: 600,000 (ten minutes).
   */
  readonly idleMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** One conversation of many. */
export interface Session<R> {
  /** Unique among the sessions of this process. */
  readonly id: string;
  readonly request: R;
  readonly pipeline: Pipeline;
  /** Resolves when everything in it has been disposed. Never rejects. */
  readonly ended: Promise<SessionEnd>;
  /**
   * Ends the session; the agent may finish what it is saying, for up to `lastWordsMs`.
   *
   * @param options - `lastWordsMs`: milliseconds. Default: 0.
   */
  end(options?: { readonly lastWordsMs?: number }): Promise<SessionEnd>;
}

/** An event in the life of a session. */
export type SessionEvent<R> =
  | { readonly type: 'opened'; readonly session: Session<R> }
  /** `error`: why its start or end failed. */
  | { readonly type: 'closed'; readonly session: Session<R>; readonly reason: SessionEnd; readonly error?: VoiceError }
  | { readonly type: 'refused'; readonly request: R; readonly reason: SessionRefusal };

/** Options of {@link Sessions.drain}, in milliseconds. */
export interface DrainOptions {
  /** How long sessions may continue to their own end. Default: 30,000. */
  readonly patienceMs?: number;
  /** How long the remaining agents may finish what they are saying. Default: 10,000. */
  readonly lastWordsMs?: number;
}

/** Manages many conversations in one process. */
export interface Sessions<R> extends AsyncDisposable {
  /** The current sessions, including those that are ending. */
  readonly all: readonly Session<R>[];
  /** The same, as a stream. Replays the latest. */
  readonly all$: Observable<readonly Session<R>[]>;
  /** The sessions' events. Hot. */
  readonly events$: Observable<SessionEvent<R>>;
  /** Why `open()` would refuse now, if it would. */
  readonly refusal: SessionRefusal | undefined;
  /**
   * Creates and starts a pipeline for a request.
   *
   * @throws VoiceError `overloaded` when it refuses (see `refusal`), else whatever `create` or the pipeline's
   * constructor throws.
   */
  open(request: R): Session<R>;
  /** Refuses new sessions, lets current ones end, ends the rest, and resolves when all are disposed. */
  drain(options?: DrainOptions): Promise<void>;
}

/** Signs of activity. */
const signs: ReadonlySet<VoiceEventType> = new Set([
  ...(['user.state', 'transcript.interim', 'turn.started', 'dtmf.digit'] as const),
  ...(['speech.started', 'speech.ended', 'tool.call'] as const),
]);

/**
 * Runs many conversations: one pipeline per request, up to a limit that the machine can carry. Idle ones are ended,
 * each disposes of its own resources, and before a deployment they can be drained.
 *
 * @example
 * ```ts
 * import { PhoneStreamA, sessions, type AnyProvider, type PlatformSocket } from 'rxvoice';
 *
 * declare const services: () => AnyProvider[];
 *
 * const calls = sessions({
 *   maxSessions: 80,
 *   config: { systemPrompt: 'You are a concise assistant on the telephone.', greeting: 'Hello!' },
 *   create: (socket: PlatformSocket) => {
 *     const phone = new PhoneStreamA();
 *     phone.attach(socket);
 *     return { providers: [phone, ...services()] };
 *   },
 * });
 * process.on('SIGTERM', () => void calls.drain().then(() => process.exit(0)));
 * ```
 *
 * @throws VoiceError `configuration` when an option cannot work.
 */
export function sessions<R>(options: SessionsOptions<R>): Sessions<R> {
  return new SessionPool(options);
}

class SessionPool<R> implements Sessions<R> {
  readonly #options: SessionsOptions<R>;
  readonly #maxSessions: number;
  readonly #scheduler: SchedulerLike;
  readonly #all$ = new BehaviorSubject<readonly OpenSession<R>[]>([]);
  readonly all$: Observable<readonly Session<R>[]> = this.#all$.asObservable();
  readonly #events$ = new Subject<SessionEvent<R>>();
  readonly events$: Observable<SessionEvent<R>> = this.#events$.asObservable();
  #isDraining = false;
  #opened = 0;

  constructor(options: SessionsOptions<R>) {
    const { maxSessions = 100, idleMs = 600_000, scheduler = asyncScheduler } = options;
    if (!Number.isSafeInteger(maxSessions) || maxSessions < 0) {
      throw refused(`maxSessions must be a whole number from 0, not ${maxSessions}`);
    }
    if (!(idleMs > 0 && (idleMs <= longestTimerMs || idleMs === Infinity))) {
      throw refused(`idleMs must be from 1 to ${longestTimerMs} ms, or Infinity, not ${idleMs}`);
    }
    this.#options = options;
    this.#maxSessions = maxSessions;
    this.#scheduler = scheduler;
  }

  get all(): readonly Session<R>[] {
    return this.#all$.value;
  }

  get refusal(): SessionRefusal | undefined {
    if (this.#isDraining) return 'draining';
    return this.all.length >= this.#maxSessions ? 'full' : undefined;
  }

  open(request: R): Session<R> {
    const reason = this.refusal;
    if (reason) {
      this.#events$.next({ type: 'refused', request, reason });
      const why = reason === 'full' ? `full, with ${this.all.length} of ${this.#maxSessions}` : 'draining';
      throw new VoiceError(`sessions: ${why}`, { code: 'overloaded', recoverable: true });
    }
    const session = new OpenSession(`session-${(this.#opened += 1)}`, request, this.#options);
    this.#all$.next([...this.#all$.value, session]);
    this.#events$.next({ type: 'opened', session });
    void session.ended.then((end) => {
      this.#all$.next(this.#all$.value.filter((other) => other !== session));
      this.#events$.next({ type: 'closed', session, reason: end, ...(session.error && { error: session.error }) });
    });
    session.start();
    return session;
  }

  async drain({ patienceMs = 30_000, lastWordsMs = 10_000 }: DrainOptions = {}): Promise<void> {
    this.#isDraining = true;
    const empty$ = this.#all$.pipe(filter(({ length }) => length === 0));
    await firstValueFrom(merge(empty$, patientTimer(patienceMs, this.#scheduler)), { defaultValue: undefined });
    await Promise.all(this.#all$.value.map((session) => session.close('drained', lastWordsMs)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain({ patienceMs: 0, lastWordsMs: 0 });
  }
}

class OpenSession<R> implements Session<R> {
  readonly id: string;
  readonly request: R;
  readonly pipeline: Pipeline;
  readonly ended: Promise<SessionEnd>;
  /** Why its start or end failed. */
  error: VoiceError | undefined;
  readonly #idleMs: number;
  readonly #prepare: SessionsOptions<R>['prepare'];
  readonly #scheduler: SchedulerLike;
  readonly #own = new Subscription();
  #settle: (end: SessionEnd) => void = () => undefined;
  #closing: Promise<SessionEnd> | undefined;
  #hasHungUp = false;

  constructor(id: string, request: R, { create, prepare, config, idleMs = 600_000, scheduler }: SessionsOptions<R>) {
    this.id = id;
    this.request = request;
    this.#idleMs = idleMs;
    this.#prepare = prepare;
    this.#scheduler = scheduler ?? asyncScheduler;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const abort = new AbortController();
    const teardowns: (() => void)[] = [() => abort.abort()];
    this.#own.add(() => {
      for (const teardown of teardowns.reverse()) this.#try(teardown);
    });
    const scope: SessionScope = {
      signal: abort.signal,
      pipeline: () => this.pipeline,
      add: (teardown) => {
        if (abort.signal.aborted) this.#try(teardown);
        else teardowns.push(teardown);
      },
    };
    try {
      this.pipeline = new Pipeline({ ...config, ...(scheduler && { scheduler }), ...create(request, scope) });
    } catch (cause) {
      this.#own.unsubscribe();
      throw cause;
    }
  }

  end({ lastWordsMs = 0 }: { readonly lastWordsMs?: number } = {}): Promise<SessionEnd> {
    return this.close('asked', lastWordsMs);
  }

  /** Starts the pipeline; the session ends with it. */
  start(): void {
    const { pipeline } = this;
    this.#own.add(pipeline.on('call.ended', () => (this.#hasHungUp = true)));
    const started = this.#started().then(
      () => undefined,
      // Nothing has failed if the other side hung up meanwhile.
      (cause: unknown) => (this.#hasHungUp ? undefined : VoiceError.from(cause)),
    );
    // A failed start closes the pipeline's session first.
    const closed$ = pipeline.events$.pipe(
      filter(({ type }) => type === 'session.closed'),
      switchMap(() => started),
    );
    const failed$ = from(started).pipe(filter((error) => error !== undefined));
    const over$ = merge(closed$, failed$).pipe(
      map((error): SessionEnd => {
        // If it is already ending, the start was cancelled.
        if (!this.#closing) this.error = error;
        return error ? 'failed' : 'ended';
      }),
    );
    const ends$ = merge(over$, this.#left()).pipe(
      take(1),
      tap((end) => void this.close(end, 0)),
    );
    this.#own.add(ends$.subscribe());
  }

  /** Prepared, then started, unless it was disposed meanwhile. */
  async #started(): Promise<void> {
    if (this.#prepare) await this.#prepare(this.pipeline, this.request);
    await this.pipeline.start();
  }

  /** Ends it once, for the first reason. */
  close(end: SessionEnd, lastWordsMs: number): Promise<SessionEnd> {
    this.#closing ??= this.#close(end, lastWordsMs);
    return this.#closing;
  }

  /** Emits when the session has been idle for too long. */
  #left(): Observable<SessionEnd> {
    if (this.#idleMs === Infinity) return EMPTY;
    const { pipeline } = this;
    return pipeline.events$.pipe(
      filter(({ type }) => signs.has(type)),
      startWith(undefined),
      switchMap(() => interval(this.#idleMs, this.#scheduler)),
      // Time that the agent takes is not idleness.
      filter(() => pipeline.agentState !== 'speaking' && pipeline.agentState !== 'thinking'),
      map((): SessionEnd => 'idle'),
    );
  }

  async #close(end: SessionEnd, lastWordsMs: number): Promise<SessionEnd> {
    const { pipeline } = this;
    if (lastWordsMs > 0) {
      const said$ = defer(() => pipeline.stop({ drain: true })).pipe(catchError(() => EMPTY));
      await firstValueFrom(merge(said$, patientTimer(lastWordsMs, this.#scheduler)), { defaultValue: undefined });
    }
    await pipeline.dispose().catch((cause: unknown) => (this.error ??= VoiceError.from(cause)));
    this.#own.unsubscribe();
    this.#settle(end);
    return end;
  }

  #try(teardown: () => void): void {
    try {
      teardown();
    } catch (cause) {
      this.error ??= VoiceError.from(cause);
    }
  }
}

function refused(problem: string): VoiceError {
  return new VoiceError(`sessions: ${problem}`, { code: 'configuration' });
}
