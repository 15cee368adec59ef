/// <reference lib="esnext.disposable" preserve="true" />
import { asyncScheduler, firstValueFrom, from, fromEvent, type SchedulerLike, Subject, Subscription, tap } from 'rxjs';
import { messageOf, VoiceError } from '../core/errors.ts';
import type { ProviderContract } from '../core/roles.ts';
import { merge } from '../stream/merge.ts';
import type { AgentState } from '../conversation/events.ts';
import { History, type HistoryOptions } from '../conversation/history.ts';
import { PipelineControls } from './pipeline-controls.ts';
import { refused, type PipelineOptions } from './pipeline-options.ts';
import { publishProviders } from './provider-events.ts';
import { isLoaded, loadInputOutput, type Roles } from './roles.ts';
import type { Session } from './session.ts';
import { loadConversation } from './session-code.ts';
import { claim, hold, release, unclaim } from './shared-providers.ts';

/** A pipeline's lifecycle state. */
export type PipelineState = 'idle' | 'ready' | 'running' | 'disposed';

/** A start in progress. */
interface Starting {
  readonly run: number;
  readonly session: Subscription;
  /** Those of all who wait for it. */
  readonly signals: AbortSignal[];
  readonly promise: Promise<void>;
}

/**
 * A voice agent: providers for input, speech-to-text, language model, text-to-speech and output, and the conversation
 * between them.
 *
 * @example
 * ```ts
 * import { AlphaFlux, AlphaTTS, NuLLM, Pipeline } from 'rxvoice';
 *
 * // In a page: the microphone and the speaker are there by default.
 * const pipeline = new Pipeline({
 *   providers: [
 *     new AlphaFlux({ proxyUrl: '/voice/deepgram', options: { eagerEotThreshold: 0.5 } }),
 *     new NuLLM({ proxyUrl: '/voice/groq', model: 'openai/gpt-oss-20b' }),
 *     new AlphaTTS({ proxyUrl: '/voice/deepgram' }),
 *   ],
 *   systemPrompt: 'You are a concise voice assistant.',
 * });
 * pipeline.on('transcript.final', ({ text }) => console.log('user:', text));
 * await pipeline.start();
 * ```
 */
export class Pipeline extends PipelineControls implements AsyncDisposable {
  /** The roles once input and output are loaded: from the beginning, or by `initialize()`. */
  #loaded: Roles | undefined;
  readonly #history: History;
  readonly #scheduler: SchedulerLike;
  readonly #providerEvents: Subscription;
  #agentState: AgentState = 'idle';
  /** @internal Whether a failed `initialize()` is releasing the providers: a phone then reports the end of its call. */
  isGivingUp: boolean = false;
  #state: PipelineState = 'idle';
  #session: Subscription | undefined;
  #wired: Session | undefined;
  #initializing: Promise<void> | undefined;
  #starting: Starting | undefined;
  #stopping: Promise<void> | undefined;
  #disposing: Promise<void> | undefined;
  /** Counts starts and stops: a start that is no longer the latest has no effect. */
  #run = 0;
  readonly #stops$ = new Subject<void>();
  readonly #drained$ = new Subject<void>();

  /**
   * Needs no browser yet: a server that renders a page may create it.
   *
   * @throws VoiceError `configuration` when there are no providers, a role is filled twice or missing, but for input and
   * output, an option belongs to the agent, or a tool has a `schema` that tells no JSON Schema, and no `parameters`. The
   * rest is checked by `initialize()`.
   */
  constructor(options: PipelineOptions) {
    super(options);
    this.#scheduler = options.scheduler ?? asyncScheduler;
    if (isLoaded(this.assigned)) this.#loaded = this.assigned;
    this.#history = options.history instanceof History ? options.history : historyOf(options.history);
    this.#providerEvents = this.#tellOf(this.assigned.all);
  }

  /** The history: what was said and heard. */
  get history(): History {
    return this.#history;
  }

  /** Its lifecycle state. */
  get state(): PipelineState {
    return this.#state;
  }

  /** What the agent is doing. */
  get agentState(): AgentState {
    return this.#agentState;
  }

  /**
   * Initializes every provider. Concurrent calls share one run.
   *
   * @throws VoiceError `configuration` when an option or a provider cannot work, or there is no option of that name, or
   * no input or output outside a browser; `not_ready` once disposed; else what a provider throws.
   */
  initialize(): Promise<void> {
    if (this.#disposing) return Promise.reject(disposed());
    if (this.#state !== 'idle') return Promise.resolve();
    this.#initializing ??= this.#initialize().finally(() => {
      this.#initializing = undefined;
    });
    return this.#initializing;
  }

  /**
   * Begins the conversation; initializes first if needed.
   *
   * @param options - `signal` stops it when it aborts, also one that is already starting or running.
   * @throws VoiceError when a provider cannot start; then everything is stopped. `aborted` when `signal` is, or `stop()`
   * is called, first.
   */
  start({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (signal && !('aborted' in signal)) {
      return Promise.reject(refused('signal must be an AbortSignal: write { signal: controller.signal }'));
    }
    if (signal?.aborted) return Promise.reject(calledOff(signal));
    const { run, promise } = this.#starting ?? {};
    if (promise && run === this.#run) {
      this.#starting?.session.add(this.#stopOn(signal));
      if (signal) this.#starting?.signals.push(signal);
      return promise;
    }
    if (this.#state === 'running' && !this.#stopping) {
      this.#session?.add(this.#stopOn(signal));
      return Promise.resolve();
    }
    // Earlier requests finish first: a stop, or a start that a stop has cancelled.
    const before = Promise.allSettled([promise, this.#stopping]);
    const next = ++this.#run;
    const session = new Subscription();
    session.add(this.#stopOn(signal));
    const signals = signal ? [signal] : [];
    const starting = before.then(() => this.#start(next, session, signals));
    this.#starting = {
      run: next,
      session,
      signals,
      promise: starting.finally(() => {
        if (this.#starting?.run === next) this.#starting = undefined;
      }),
    };
    return this.#starting.promise;
  }

  /**
   * Ends the conversation, or a `start()` in progress; `start()` begins another with the same history. Always settles.
   *
   * @param options - With `drain`, the agent first finishes speaking, unless `stop()` or `dispose()` is called.
   */
  stop(options: { readonly drain?: boolean } = {}): Promise<void> {
    if (!options.drain) this.#callOffStart();
    this.#stopping ??= this.#stop(options.drain ?? false).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** Stops, disposes every provider that no other pipeline needs, and completes the streams. */
  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  /** Same as `dispose()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  protected override get isInSession(): boolean {
    return this.#session !== undefined;
  }

  protected override get isDisposed(): boolean {
    return this.#disposing !== undefined;
  }

  get #loadedRoles(): Roles {
    if (this.#loaded) return this.#loaded;
    throw new VoiceError('Pipeline: call initialize() first', { code: 'not_ready' });
  }

  /** The model and the voice that answer first. */
  get #first(): Pick<Roles, 'llm' | 'tts'> {
    const { agents = {}, agent = Object.keys(agents)[0] ?? '' } = this.options;
    return { ...this.#loadedRoles, ...agents[agent] };
  }

  #tellOf(providers: readonly ProviderContract[]): Subscription {
    return publishProviders(providers, this.bus.emit, (cause, origin) => this.reportError(cause, origin));
  }

  async #load(): Promise<Roles> {
    const roles = await loadInputOutput(this.assigned);
    if (this.#disposing) throw disposed();
    this.#loaded = roles;
    this.#providerEvents.add(this.#tellOf(roles.all.filter((provider) => !this.assigned.all.includes(provider))));
    return roles;
  }

  async #initialize(): Promise<void> {
    const logger = this.options.logger && this.logger;
    const { all, voices, output } = this.#loaded ?? (await this.#load());
    for (const provider of all) hold(provider, this);
    for (const voice of voices) voice.configureOutput?.(output.accepts);
    try {
      const loading = loadConversation(this.assigned, this.options.locale).then((code) => {
        code.assertOptions?.(this.options, this.created);
        this.code = code;
      });
      const starting = all.map(async (provider) => provider.initialize({ logger }));
      // The rules first: they say what a provider lacks.
      const results = await Promise.allSettled([loading, ...starting]);
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
      const { session } = this.code;
      if (session) await Promise.all(voices.map((voice) => session.assertPlayable(voice, output)));
      // Last, as decoders take a while to load.
      if (this.#disposing) throw disposed();
    } catch (cause) {
      this.isGivingUp = true;
      await Promise.allSettled(all.map((provider) => release(provider, this, this.#scheduler)));
      this.isGivingUp = false;
      throw VoiceError.from(cause);
    }
    this.#state = 'ready';
  }

  #stopOn(signal: AbortSignal | undefined): Subscription | undefined {
    return (
      signal &&
      fromEvent(signal, 'abort')
        .pipe(tap(() => void this.stop()))
        .subscribe()
    );
  }

  async #start(run: number, session: Subscription, signals: readonly AbortSignal[]): Promise<void> {
    const assertWanted = (): void => {
      if (this.#disposing) throw disposed();
      if (run !== this.#run) throw calledOff(signals.find(({ aborted }) => aborted));
    };
    /** Waits for slow steps, such as a model's download or the user's permission, unless stopped first. */
    const unlessStopped = async (step: Promise<unknown>): Promise<void> => {
      await firstValueFrom(merge(from(step), this.#stops$), { defaultValue: undefined });
      assertWanted();
    };
    try {
      assertWanted();
      await unlessStopped(this.initialize());
      claim(this.#loadedRoles, this);
      this.#session = session;
      this.wasInSession = true;
      this.#state = 'running';
      const { input, listener } = this.#loadedRoles;
      const { llm, tts } = this.#first;
      const wired = this.#wire();
      wired?.start(session);
      await unlessStopped(Promise.all([listener.connect(), llm?.warm?.(), tts?.warm?.(), input.start()]));
      session.add(wired?.hearAgain());
      this.bus.emit('session.ready', {});
    } catch (cause) {
      if (this.#session === session) await this.#end();
      session.unsubscribe();
      throw VoiceError.from(cause);
    }
  }

  async #dispose(): Promise<void> {
    await this.stop();
    this.#state = 'disposed';
    const results = await Promise.allSettled(
      (this.#loaded ?? this.assigned).all.map((provider) => release(provider, this, this.#scheduler)),
    );
    this.#providerEvents.unsubscribe();
    this.closeEvents();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw VoiceError.from(failed.reason);
  }

  /** Wires the roles for one conversation, which `initialize()` has loaded the code of. */
  #wire(): Session | undefined {
    const { session: loaded } = this.code;
    this.#wired =
      loaded &&
      new loaded.Session({
        roles: this.#loadedRoles,
        options: this.options,
        history: this.#history,
        scheduler: this.#scheduler,
        commands$: this.commands$,
        wants$: this.wants$,
        isMuted: this.isMuted,
        emit: this.bus.emit,
        code: this.code,
        reportError: (error, origin) => this.reportError(error, origin),
        onEvent: (event) => {
          if (event.type === 'agent.state') this.#agentState = event.state;
          this.bus.publish(event);
        },
        onComplete: () => {
          if (this.#drained$.observed) this.#drained$.next();
          else if (this.#session) void this.stop();
        },
        onCallEnd: () => void this.stop(),
      });
    this.captured = this.#wired?.captured;
    return this.#wired;
  }

  async #stop(drain: boolean): Promise<void> {
    // Only the start now in progress: a later one waits for this.
    const starting = this.#starting;
    if (drain) await this.#drain();
    if (drain && this.#starting === starting) this.#callOffStart();
    await this.#end();
    await starting?.promise.catch(() => undefined);
  }

  #callOffStart(): void {
    this.#run++;
    this.#stops$.next();
  }

  async #end(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    this.command({ type: 'stop' });
    session.unsubscribe();
    await this.code.session?.endSession(this.#loadedRoles, this.#scheduler, (error) => {
      this.logger.warn(`a provider did not stop cleanly: ${messageOf(error)}`);
    });
    unclaim(this.#loadedRoles, this);
    this.captured = undefined;
    this.#agentState = 'idle';
    this.#state = 'ready';
    this.bus.emit('session.closed', { usage: this.#wired?.endUsage() ?? [] });
    this.#wired = undefined;
  }

  /** Resolves when the agent has finished speaking, or waiting for it is no longer wanted. */
  async #drain(): Promise<void> {
    if (!this.#session) return;
    const over = firstValueFrom(merge(this.#drained$, this.#stops$), { defaultValue: undefined });
    this.command({ type: 'stop', drain: true });
    await over;
  }
}

/** `initialize()` refuses what options of a history must not have: the constructor takes only what it knows. */
function historyOf({ maxTurns, maxTokens, countTokens }: HistoryOptions = {}): History {
  return new History({ maxTurns, maxTokens, countTokens });
}

function calledOff(signal: AbortSignal | undefined): VoiceError {
  const what = signal ? 'the signal was aborted' : 'stop() was called';
  return new VoiceError(`${what} first`, { code: 'aborted', cause: signal?.reason });
}

function disposed(): VoiceError {
  return new VoiceError('Pipeline: disposed; create another one', { code: 'not_ready' });
}
