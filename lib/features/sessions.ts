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
  map,
  Subject,
  Subscription,
  switchMap,
  take,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { callSafely, catchLater, publicStream } from '../core/application-code.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import type { ServiceUsage } from '../conversation/measurements.ts';
import { onCallEnd } from '../pipeline/call-events.ts';
import type { PipelineOptions } from '../pipeline/pipeline-options.ts';
import { Pipeline } from '../pipeline/pipeline.ts';
import { merge } from '../stream/merge.ts';
import { longestTimerMs, patientTimer } from '../stream/patient-timer.ts';
import { idle } from './idle.ts';

/** The scope of one session. */
export interface SessionScope {
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
  /** The session's pipeline, once created: for tools that need it, such as `hangUpTool()`. */
  readonly pipeline: () => Pipeline;
  /**
   * Adds a callback for the end of the session, to close what was opened for it; called in reverse order. Or a promise
   * of work that goes on, such as a recording being written. The end waits for both, for up to `endMs`.
   */
  readonly add: (work: (() => unknown) | PromiseLike<unknown>) => void;
}

/** Why a session was refused. */
export type SessionRefusal = 'full' | 'draining';

/**
 * Why a session ended: by itself (the call ended, the pipeline stopped), because its start failed, because it was idle,
 * or by `end()`, `drain()` or `dispose()`.
 */
export type SessionEnd = 'ended' | 'failed' | 'idle' | 'asked' | 'drained';

/** How a session has ended. */
export interface SessionOutcome {
  readonly reason: SessionEnd;
  /** Why its start, or the end of its pipeline, failed. */
  readonly error?: VoiceError;
  /** From `open()` until the caller hung up or the session was ended, in milliseconds. */
  readonly durationMs: number;
  /** What it used of each service; empty if it has not started. */
  readonly usage: readonly ServiceUsage[];
}

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
  readonly prepare?: (pipeline: Pipeline, request: R, scope: SessionScope) => unknown;
  /**
   * What must be done when a session has ended, such as storing what was said: called once for each, when its pipeline
   * has been disposed, whose history is still there. The session ends when its promise settles. Default: nothing.
   */
  readonly onEnd?: (session: Session<R>, outcome: SessionOutcome) => unknown;
  /**
   * Longest wait, in milliseconds, for `onEnd` and for what was added to the scope. What fails or takes longer is an
   * `error` event, and keeps nothing else from ending. Default: 10,000.
   */
  readonly endMs?: number;
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
  /** Resolves when everything in it has been disposed and `onEnd` is done. Never rejects. */
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
  | ({ readonly type: 'closed'; readonly session: Session<R> } & SessionOutcome)
  /**
   * `onEnd`, or what was added to the scope, has failed, or has taken longer than `endMs`. Without a session: a
   * subscriber of `events$` or `all$` has thrown.
   */
  | { readonly type: 'error'; readonly session?: Session<R>; readonly error: VoiceError }
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
  /** Refuses new sessions, lets current ones end, ends the rest, and resolves when all have ended, `onEnd` included. */
  drain(options?: DrainOptions): Promise<void>;
}

/** With the defaults. */
type Resolved<R> = SessionsOptions<R> & Required<Pick<SessionsOptions<R>, 'maxSessions' | 'idleMs' | 'endMs'>>;

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
  readonly #options: Resolved<R>;
  readonly #scheduler: SchedulerLike;
  readonly #all$ = new BehaviorSubject<readonly OpenSession<R>[]>([]);
  readonly all$: Observable<readonly Session<R>[]> = this.#handOut('all$', this.#all$);
  readonly #events$ = new Subject<SessionEvent<R>>();
  readonly events$: Observable<SessionEvent<R>> = this.#handOut('events$', this.#events$);
  #isDraining = false;
  #opened = 0;

  constructor(options: SessionsOptions<R>) {
    const { maxSessions = 100, idleMs = 600_000, endMs = 10_000, scheduler = asyncScheduler } = options;
    if (!Number.isSafeInteger(maxSessions) || maxSessions < 0) {
      throw refused(`maxSessions must be a whole number from 0, not ${maxSessions}`);
    }
    if (!(idleMs > 0 && (idleMs <= longestTimerMs || idleMs === Infinity))) {
      throw refused(`idleMs must be from 1 to ${longestTimerMs} ms, or Infinity, not ${idleMs}`);
    }
    if (!(endMs > 0 && endMs <= longestTimerMs)) {
      throw refused(`endMs must be from 1 to ${longestTimerMs} ms, not ${endMs}`);
    }
    this.#options = { ...options, maxSessions, idleMs, endMs };
    this.#scheduler = scheduler;
  }

  get all(): readonly Session<R>[] {
    return this.#all$.value;
  }

  get refusal(): SessionRefusal | undefined {
    if (this.#isDraining) return 'draining';
    return this.all.length >= this.#options.maxSessions ? 'full' : undefined;
  }

  open(request: R): Session<R> {
    const reason = this.refusal;
    if (reason) {
      this.#events$.next({ type: 'refused', request, reason });
      const why = reason === 'full' ? `full, with ${this.all.length} of ${this.#options.maxSessions}` : 'draining';
      throw new VoiceError(`sessions: ${why}`, { code: 'overloaded', recoverable: true });
    }
    const session = new OpenSession(`session-${(this.#opened += 1)}`, request, this.#options, (error) =>
      this.#events$.next({ type: 'error', session, error }),
    );
    this.#all$.next([...this.#all$.value, session]);
    this.#events$.next({ type: 'opened', session });
    void session.ended.then((reason) => {
      this.#all$.next(this.#all$.value.filter((other) => other !== session));
      this.#events$.next({ type: 'closed', session, ...session.outcome(reason) });
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

  /** A hot stream for the application; what its subscribers throw is an error event. */
  #handOut<T>(name: string, stream$: Observable<T>): Observable<T> {
    return publicStream(stream$, (cause) => {
      const message = `sessions: a subscriber of ${name} threw: ${messageOf(cause)}`;
      this.#events$.next({ type: 'error', error: new VoiceError(message, { code: 'internal', cause }) });
    });
  }
}

class OpenSession<R> implements Session<R> {
  readonly id: string;
  readonly request: R;
  readonly pipeline: Pipeline;
  readonly ended: Promise<SessionEnd>;
  readonly #options: Resolved<R>;
  readonly #scheduler: SchedulerLike;
  readonly #tell: (error: VoiceError) => void;
  readonly #scope: SessionScope;
  readonly #work: (() => unknown)[] = [];
  readonly #own = new Subscription();
  readonly #openedAt: number;
  /** When the caller hung up, or the session was ended. */
  #overAt: number | undefined;
  #usage: readonly ServiceUsage[] = [];
  #error: VoiceError | undefined;
  #settle: (end: SessionEnd) => void = () => undefined;
  #closing: Promise<SessionEnd> | undefined;

  /** @param tell - Called with what fails in the application's code at the end. */
  constructor(id: string, request: R, options: Resolved<R>, tell: (error: VoiceError) => void) {
    const { create, config, scheduler } = options;
    this.id = id;
    this.request = request;
    this.#options = options;
    this.#scheduler = scheduler ?? asyncScheduler;
    this.#tell = tell;
    this.#openedAt = this.#scheduler.now();
    this.ended = new Promise((resolve) => (this.#settle = resolve));
    const abort = new AbortController();
    this.#work.push(() => abort.abort());
    this.#scope = {
      signal: abort.signal,
      pipeline: () => this.pipeline,
      add: (added) => {
        const work = typeof added === 'function' ? added : (): unknown => added;
        catchLater(added, () => undefined); // told at the end
        if (abort.signal.aborted) void this.#finish(work);
        else this.#work.push(work);
      },
    };
    try {
      const all = { ...config, ...(scheduler && { scheduler }), ...create(request, this.#scope) };
      this.pipeline = new Pipeline(all);
      this.#own.add(onCallEnd(all.providers, () => this.#hangUp()));
    } catch (cause) {
      for (const work of this.#work.reverse()) callSafely(work, undefined, () => undefined);
      throw cause;
    }
  }

  /** How it has ended. */
  outcome(reason: SessionEnd): SessionOutcome {
    const durationMs = (this.#overAt ?? this.#scheduler.now()) - this.#openedAt;
    return { reason, durationMs, usage: this.#usage, ...(this.#error && { error: this.#error }) };
  }

  end({ lastWordsMs = 0 }: { readonly lastWordsMs?: number } = {}): Promise<SessionEnd> {
    return this.close('asked', lastWordsMs);
  }

  /** Starts the pipeline; the session ends with it. */
  start(): void {
    if (this.#closing) return;
    const { pipeline } = this;
    this.#own.add(pipeline.on('session.closed', ({ usage }) => (this.#usage = usage)));
    const started = this.#started().then(
      () => undefined,
      // Nothing has failed if the other side hung up meanwhile.
      (cause: unknown) => (this.#overAt === undefined ? VoiceError.from(cause) : undefined),
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
        if (!this.#closing) this.#error = error;
        return error ? 'failed' : 'ended';
      }),
    );
    const idle$ = idle(pipeline, this.#options.idleMs, this.#scheduler).pipe(map((): SessionEnd => 'idle'));
    const ends$ = merge(over$, idle$).pipe(
      take(1),
      switchMap((end) => this.close(end, 0)),
    );
    this.#own.add(ends$.subscribe());
  }

  /** The caller has hung up. A pipeline that has been started ends by itself. */
  #hangUp(): void {
    // It is the pipeline that hangs up, and says why when it has done so.
    if (this.pipeline.isGivingUp) return;
    this.#overAt ??= this.#scheduler.now();
    if (this.pipeline.state === 'idle') void this.close('ended', 0);
  }

  /** Prepared, then started, unless it was disposed meanwhile. */
  async #started(): Promise<void> {
    if (this.#options.prepare) await this.#options.prepare(this.pipeline, this.request, this.#scope);
    await this.pipeline.start();
  }

  /** Ends it once, for the first reason. */
  close(end: SessionEnd, lastWordsMs: number): Promise<SessionEnd> {
    this.#closing ??= this.#close(end, lastWordsMs);
    return this.#closing;
  }

  async #close(end: SessionEnd, lastWordsMs: number): Promise<SessionEnd> {
    if (lastWordsMs > 0) {
      const said$ = defer(() => this.pipeline.stop({ drain: true })).pipe(catchError(() => EMPTY));
      await firstValueFrom(merge(said$, patientTimer(lastWordsMs, this.#scheduler)), { defaultValue: undefined });
    }
    this.#overAt ??= this.#scheduler.now();
    await this.pipeline.dispose().catch((cause: unknown) => (this.#error ??= VoiceError.from(cause)));
    this.#own.unsubscribe();
    const last = (): unknown => this.#options.onEnd?.(this, this.outcome(end));
    await Promise.all([...this.#work.reverse(), last].map((work) => this.#finish(work)));
    this.#settle(end);
    return end;
  }

  /** Waits for the application's code at the end, for as long as it may take. What fails is told. */
  async #finish(work: () => unknown): Promise<void> {
    const { endMs } = this.#options;
    const late$ = patientTimer(endMs, this.#scheduler).pipe(
      map(() => {
        throw new VoiceError(`sessions: the end of ${this.id} takes longer than ${endMs} ms`, { code: 'timeout' });
      }),
    );
    const done$ = defer(() => Promise.resolve(work()));
    const done = firstValueFrom(merge(done$, late$), { defaultValue: undefined });
    await done.catch((cause: unknown) => this.#tell(VoiceError.from(cause)));
  }
}

function refused(problem: string): VoiceError {
  return new VoiceError(`sessions: ${problem}`, { code: 'configuration' });
}
