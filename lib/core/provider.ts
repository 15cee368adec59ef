/// <reference lib="esnext.disposable" preserve="true" />
import { BehaviorSubject, filter, Subject, type Observable } from 'rxjs';
import { oncePerKind, publicStream, safeLogger } from './application-code.ts';
import { messageOf, ProviderInitializationError, VoiceError } from './errors.ts';
import { silentLogger, type Logger } from './logger.ts';
import type { InitializeOptions, ProviderContract, ProviderRole, ProviderState, ProviderType } from './roles.ts';

/** A call of `initialize()` in progress. */
interface Run {
  readonly promise: Promise<void>;
  readonly abort: AbortController;
}

/**
 * Base of all provider classes: configuration and lifecycle.
 *
 * @typeParam C - The provider's configuration.
 */
export abstract class Provider<C extends object> implements ProviderContract, AsyncDisposable {
  /** The class's name as a literal: bundlers shorten `constructor.name`. */
  abstract readonly name: string;
  abstract readonly roles: readonly ProviderRole[];
  abstract readonly type: ProviderType;

  // Private fields keep the configuration, which may hold a credential, out of `inspect()` and `JSON.stringify()`.
  #config: C;
  readonly #state$ = new BehaviorSubject<ProviderState>('uninitialized');
  /** Created when it is read. */
  #disposing$: Observable<unknown> | undefined;
  readonly #errors$ = new Subject<VoiceError>();
  /** Created when somebody asks. */
  #droppedMs$: Subject<number> | undefined;
  /**
   * The public stream handed out for each source: reading it again, as a rendering component does, gives the same
   * object.
   */
  #handedOut: WeakMap<Observable<unknown>, Observable<unknown>> | undefined;
  readonly #adviseOnce = oncePerKind((sentence) => this.logger.warn(`${this.name}: ${sentence}`));
  /** Logs a warning about the configuration, once, as soon as the provider is initialized. */
  protected readonly advise = (sentence: string): void => {
    if (this.#state$.value !== 'uninitialized') this.#adviseOnce(sentence);
  };
  #logger: Logger | undefined;
  #starting: Run | undefined;
  /** That of the latest run. */
  #signal: AbortSignal | undefined;
  #stopping: Promise<void> | undefined;

  /** @param logger - Default: the logger of the first pipeline to initialize the provider, if any. */
  constructor(config: C, logger?: Logger) {
    this.#config = { ...config };
    this.#adopt(logger);
  }

  /** The current configuration. */
  get config(): Readonly<C> {
    return this.#config;
  }

  /** The provider's lifecycle state; replays the latest value. */
  get state$(): Observable<ProviderState> {
    return this.handOut('state$', this.#state$);
  }

  /** Errors outside any call. Hot. */
  get errors$(): Observable<VoiceError> {
    return this.handOut('errors$', this.#errors$);
  }

  /** Milliseconds of captured audio that it had to drop, as it drops them, because its queue was full. Hot. */
  get droppedMs$(): Observable<number> {
    return this.handOut('droppedMs$', (this.#droppedMs$ ??= new Subject()));
  }

  /** Whether it is initialized. */
  isReady(): boolean {
    return this.initialized;
  }

  /** True after a successful `initialize()` and before `dispose()`. */
  protected get initialized(): boolean {
    return this.#state$.value === 'ready';
  }

  /** Whether the application has attached something that `dispose()` must release, initialized or not. */
  protected isAttached(): boolean {
    return false;
  }

  /** The provider's logger: its constructor's, else its pipeline's, else a silent one. */
  protected get logger(): Logger {
    return this.#logger ?? silentLogger;
  }

  /**
   * Makes the provider ready. Concurrent calls share one run; does nothing if it is ready.
   *
   * @param options - `logger` is adopted by a provider without one: of two pipelines that share it, the first wins.
   * @throws ProviderInitializationError when initialization fails, or `dispose()` comes first.
   */
  initialize({ logger }: InitializeOptions = {}): Promise<void> {
    this.#adopt(logger);
    return this.initialized ? Promise.resolve() : (this.#starting ??= this.#begin()).promise;
  }

  /** Releases everything. Does nothing if there is nothing to release; errors of the hook propagate. */
  dispose(): Promise<void> {
    const isIdle = !this.initialized && !this.#starting && !this.isAttached();
    if (isIdle) return this.#stopping ?? Promise.resolve();
    return (this.#stopping ??= this.#stop().finally(() => (this.#stopping = undefined)));
  }

  /** A form safe to log: without the configuration, which may contain a credential. */
  toJSON(): Record<string, unknown> {
    return { name: this.name, roles: this.roles, type: this.type, initialized: this.initialized };
  }

  /** Same as `dispose()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /**
   * Merges keys into the configuration (shallowly), then lets the provider apply them.
   *
   * @throws VoiceError `configuration` when a key is invalid; then none is applied.
   */
  updateConfig(partial: Partial<C>): void {
    const before = this.#config;
    this.#config = { ...before, ...partial };
    try {
      this.assertConfig();
    } catch (error) {
      this.#config = before;
      throw error;
    }
    this.onConfigUpdate(partial);
  }

  /** What is wrong with the configuration, as a sentence; `undefined` if nothing. */
  protected configProblem(): string | undefined {
    return undefined;
  }

  /** @throws VoiceError `configuration` when a key is invalid. */
  protected assertConfig(): void {
    const problem = this.configProblem();
    if (problem) throw this.error(`${this.name}: ${problem}`, { code: 'configuration' });
  }

  /**
   * Makes the provider ready; `signal` aborts when `dispose()` comes first. A hook that goes on all the same, and ends after
   * another `initialize()` has begun, must release what it has taken itself.
   */
  protected onInitialize(_signal: AbortSignal): Promise<void> | void {}

  /** Releases what `onInitialize` and use have acquired; also called after an aborted `onInitialize`. */
  protected onDispose(): Promise<void> | void {}

  /** Applies changed keys; by default they take effect from the next use on. */
  protected onConfigUpdate(_changed: Partial<C>): void {}

  /** @throws VoiceError `not_ready` when the provider is not initialized. */
  protected assertReady(method: string): void {
    if (this.initialized) return;
    throw this.error(`${this.name}.${method}() needs an initialized provider: await ${this.name}.initialize() first`, {
      code: 'not_ready',
    });
  }

  /** Emits when `dispose()` begins. */
  protected get disposing$(): Observable<unknown> {
    return (this.#disposing$ ??= this.#state$.pipe(filter((state) => state === 'disposing')));
  }

  /** Fails with `aborted` when `dispose()` begins, to end whatever is in progress. */
  protected aborted$(message: string): Observable<never> {
    return this.#state$.pipe(
      // Passes nothing on.
      filter((state): state is never => {
        if (state !== 'disposing') return false;
        throw this.error(`${this.name} ${message}`, { code: 'aborted' });
      }),
    );
  }

  /** Creates an error of this provider. */
  protected error(message: string, options: Omit<ConstructorParameters<typeof VoiceError>[1], 'provider'>): VoiceError {
    return new VoiceError(message, { ...options, provider: this.name });
  }

  /**
   * A hot stream for the application, the same one each time; what its subscribers throw goes to `errors$`.
   *
   * @param stream$ - A stream that the provider keeps: one piped at each read would be a new object each time.
   */
  protected handOut<T>(name: string, stream$: Observable<T>): Observable<T> {
    this.#handedOut ??= new WeakMap();
    const known$ = this.#handedOut.get(stream$) as Observable<T> | undefined;
    if (known$) return known$;
    const handedOut$ = publicStream(stream$, (cause) => this.report(this.#broken(`a subscriber of ${name}`, cause)));
    this.#handedOut.set(stream$, handedOut$);
    return handedOut$;
  }

  /** Publishes an error on `errors$`. */
  protected report(error: VoiceError): void {
    this.logger.warn(error.message);
    this.#errors$.next(error);
  }

  /** Publishes a loss on `droppedMs$`. */
  protected dropped(ms: number): void {
    this.#droppedMs$?.next(ms);
  }

  #adopt(logger: Logger | undefined): void {
    if (logger) this.#logger ??= safeLogger(logger, (cause) => this.#errors$.next(this.#broken('the logger', cause)));
  }

  #broken(what: string, cause: unknown): VoiceError {
    return this.error(`${this.name}: ${what} threw: ${messageOf(cause)}`, { code: 'internal', cause });
  }

  #begin(): Run {
    const abort = new AbortController();
    return { abort, promise: this.#start(abort.signal).finally(() => (this.#starting = undefined)) };
  }

  async #start(signal: AbortSignal): Promise<void> {
    await this.#stopping?.catch(() => undefined);
    this.#state$.next('initializing');
    try {
      signal.throwIfAborted();
      await Promise.race([aborted(signal), this.#run(signal)]);
      this.#state$.next('ready');
    } catch (cause) {
      if (!signal.aborted) this.#state$.next('uninitialized');
      // assertAuth() already says everything; its error is of this very class.
      const isSaid = cause instanceof ProviderInitializationError && cause.provider === this.name;
      throw isSaid ? cause : new ProviderInitializationError(this.name, cause);
    }
  }

  /** Runs the hook, and cleans up after it if it succeeds although the signal has aborted. */
  async #run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await this.onInitialize(signal);
    // What a later run has is not released.
    if (signal.aborted && this.#signal === signal) await this.onDispose();
  }

  async #stop(): Promise<void> {
    // Only the current run is aborted: a later one waits for this.
    const starting = this.#starting;
    this.#state$.next('disposing');
    starting?.abort.abort(this.error('dispose() was called first', { code: 'aborted' }));
    try {
      await this.onDispose();
    } finally {
      await starting?.promise.catch(() => undefined);
      this.#state$.next('uninitialized');
    }
  }
}

/** Rejects as soon as the signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as VoiceError));
  });
}
