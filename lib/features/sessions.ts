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

/** What belongs to one session, and ends with it. */
export interface SessionScope {
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
  /** The session's pipeline, once it has been created: for tools that need it, such as `hangUpTool()`. */
  readonly pipeline: () => Pipeline;
  /** Calls back when the session has ended: to close what was opened for it. The last added is the first called. */
  readonly add: (teardown: () => void) => void;
}

/** Why a request for a session is refused. */
export type SessionRefusal = 'full' | 'draining';

/**
 * Why a session has ended: by itself (the call ended, the pipeline stopped), because its start failed, because nothing
 * happened in it, or by `end()`, `drain()` or `dispose`.
 */
export type SessionEnd = 'ended' | 'failed' | 'idle' | 'asked' | 'drained';

/** Options of {@link sessions}. */
export interface SessionsOptions<R> {
  /**
   * What a session's pipeline is made of: its providers at least, which are its own. Takes precedence over `config`.
   * What it throws comes out of `open()`.
   */
  readonly create: (request: R, scope: SessionScope) => PipelineOptions;
  /** Options that all sessions share. Default: none. */
  readonly config?: Partial<PipelineOptions>;
  /** Most sessions at once, from 0; those that are ending count. Default: 100. */
  readonly maxSessions?: number;
  /**
   * A session in which nobody has spoken, typed or pressed a key for so long is ended, in milliseconds; `Infinity` for
   * never. Default: 600,000 (ten minutes).
   */
  readonly idleMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** One of many conversations. */
export interface Session<R> {
  /** Unique among the sessions of this process. */
  readonly id: string;
  readonly request: R;
  readonly pipeline: Pipeline;
  /** Resolves when everything of it was disposed. Never rejects. */
  readonly ended: Promise<SessionEnd>;
  /**
   * Ends it; the agent may finish what it is saying for up to `lastWordsMs`.
   *
   * @param options - `lastWordsMs`: milliseconds. Default: 0.
   */
  end(options?: { readonly lastWordsMs?: number }): Promise<SessionEnd>;
}

/** What happens to sessions. */
export type SessionEvent<R> =
  | { readonly type: 'opened'; readonly session: Session<R> }
  /** `error`: why its start or its end has failed. */
  | { readonly type: 'closed'; readonly session: Session<R>; readonly reason: SessionEnd; readonly error?: VoiceError }
  | { readonly type: 'refused'; readonly request: R; readonly reason: SessionRefusal };

/** Options of {@link Sessions.drain}, in milliseconds. */
export interface DrainOptions {
  /** How long sessions may go on until they end by themselves. Default: 30,000. */
  readonly patienceMs?: number;
  /** How long the agents of the rest may go on with what they are saying. Default: 10,000. */
  readonly lastWordsMs?: number;
}

/** Many conversations in one process. */
export interface Sessions<R> extends AsyncDisposable {
  /** The sessions under way, those that are ending included. */
  readonly all: readonly Session<R>[];
  /** The same. Replays the latest. */
  readonly all$: Observable<readonly Session<R>[]>;
  /** What happens. Hot. */
  readonly events$: Observable<SessionEvent<R>>;
  /** Why `open()` would refuse now; `undefined` if it would not. */
  readonly refusal: SessionRefusal | undefined;
  /**
   * Creates a pipeline for a request, and starts it.
   *
   * @throws VoiceError `overloaded` when it refuses (see `refusal`), else what `create` or the pipeline's constructor throws.
   */
  open(request: R): Session<R>;
  /** Takes no more sessions, lets those under way end, ends the rest, and resolves when all are disposed. */
  drain(options?: DrainOptions): Promise<void>;
}

/** Signs that somebody is there. */
const signs: ReadonlySet<VoiceEventType> = new Set([
  ...(['user.state', 'transcript.interim', 'turn.started', 'dtmf.digit'] as const),
  ...(['speech.started', 'speech.ended', 'tool.call'] as const),
]);

/**
 * Many conversations: a pipeline for each request, as many as the machine can carry. One that is left is ended, each
 * disposes what is its own, and before a deployment they are drained.
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
  /** Why its start or its end has failed. */
  error: VoiceError | undefined;
  readonly #idleMs: number;
  readonly #scheduler: SchedulerLike;
  readonly #own = new Subscription();
  #settle: (end: SessionEnd) => void = () => undefined;
  #closing: Promise<SessionEnd> | undefined;

  constructor(id: string, request: R, { create, config, idleMs = 600_000, scheduler }: SessionsOptions<R>) {
    this.id = id;
    this.request = request;
    this.#idleMs = idleMs;
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
    const started = pipeline.start().then(
      () => undefined,
      (cause: unknown) => VoiceError.from(cause),
    );
    // A start that fails closes its session first.
    const closed$ = pipeline.events$.pipe(
      filter(({ type }) => type === 'session.closed'),
      switchMap(() => started),
    );
    const failed$ = from(started).pipe(filter((error) => error !== undefined));
    const over$ = merge(closed$, failed$).pipe(
      map((error): SessionEnd => {
        // One that is ending has been called off.
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

  /** Ends it once, for the first reason. */
  close(end: SessionEnd, lastWordsMs: number): Promise<SessionEnd> {
    this.#closing ??= this.#close(end, lastWordsMs);
    return this.#closing;
  }

  /** Nobody has said or done anything for too long. */
  #left(): Observable<SessionEnd> {
    if (this.#idleMs === Infinity) return EMPTY;
    const { pipeline } = this;
    return pipeline.events$.pipe(
      filter(({ type }) => signs.has(type)),
      startWith(undefined),
      switchMap(() => interval(this.#idleMs, this.#scheduler)),
      // What takes the agent that long is nobody's silence.
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
