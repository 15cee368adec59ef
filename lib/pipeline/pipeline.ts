/// <reference lib="esnext.disposable" preserve="true" />
import { EventEmitter } from 'eventemitter3';
import {
  asyncScheduler,
  defer,
  EMPTY,
  filter,
  firstValueFrom,
  fromEvent,
  map,
  merge,
  of,
  race,
  Subject,
  Subscription,
  tap,
  timer,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import { describeFormat, durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk } from '../audio/types.ts';
import { messageOf, VoiceError } from '../core/errors.ts';
import { silentLogger, type Logger } from '../core/logger.ts';
import type { AgentProvider, ConnectionEvent, ProviderContract, ProviderRole, STTProvider } from '../core/roles.ts';
import { agentConversation } from './agent-conversation.ts';
import { adapt, audioPath, type AudioEnds, type AudioPath } from './audio-path.ts';
import { SpeechTicket, type Command, type SayOptions, type SendOptions, type SpeechHandle } from './commands.ts';
import type { ConversationOptions } from './conversation-options.ts';
import { conversation } from './conversation.ts';
import { createEventBus } from './event-bus.ts';
import {
  eventStreams,
  type AgentState,
  type EventStream,
  type StreamEvent,
  type VoiceEvent,
  type VoiceEventType,
} from './events.ts';
import { History, type HistoryOptions } from './history.ts';
import { MicrophoneGate } from './microphone-gate.ts';
import { castRoles, type AnyProvider, type Cast } from './roles.ts';
import { claim, hold, release, unclaim } from './shared-providers.ts';

/** How long `stop()` and `dispose()` wait for a provider's last words, in milliseconds. */
const farewellMs = 1_000;

/** Options of {@link Pipeline}. */
export interface PipelineOptions extends Omit<ConversationOptions, 'history'> {
  /** Who covers the five roles; one provider may cover several. */
  readonly providers: readonly AnyProvider[];
  /** How much is remembered, or a {@link History} to go on with. */
  readonly history?: HistoryOptions | History;
  /** Whether captured audio comes as `audio.input` events too. Default: false. */
  readonly inputEvents?: boolean;
  /** Where the pipeline writes what callbacks threw and what did not stop cleanly. Default: nowhere. */
  readonly logger?: Logger;
}

/** Where a pipeline is in its life. */
export type PipelineState = 'idle' | 'ready' | 'running' | 'disposed';

type Listeners = { [T in VoiceEventType]: [VoiceEvent<T>] } & { '*': [VoiceEvent] };

/**
 * A voice agent: providers for input, speech-to-text, language model, text-to-speech and output, and the conversation
 * between them.
 *
 * @example
 * ```ts
 * import { BufferInput, AlphaFlux, NuLLM, AlphaTTS, NullOutput, Pipeline } from 'rxvoice';
 *
 * const pipeline = new Pipeline({
 *   providers: [
 *     new BufferInput({ sampleRate: 16000 }),
 *     new AlphaFlux({ proxyUrl: '/alpha', options: { eagerEotThreshold: 0.5 } }),
 *     new NuLLM({ proxyUrl: '/nu' }),
 *     new AlphaTTS({ proxyUrl: '/alpha' }),
 *     new NullOutput(),
 *   ],
 *   systemPrompt: 'You are a concise voice assistant.',
 * });
 * pipeline.on('transcript.final', ({ text }) => console.log('user:', text));
 * await pipeline.start();
 * ```
 */
export class Pipeline implements AsyncDisposable {
  readonly #options: PipelineOptions;
  readonly #cast: Cast;
  readonly #history: History;
  readonly #scheduler: SchedulerLike;
  readonly #logger: Logger;
  readonly #bus: ReturnType<typeof createEventBus>;
  readonly #emitter = new EventEmitter<Listeners>();
  /** What `once()` waits for: it is undone by the callback that the application knows. */
  readonly #onces = new Set<{ readonly type: string; readonly callback: unknown; undo(): void }>();
  readonly #commands$ = new Subject<Command>();
  readonly #providerEvents: Subscription;
  readonly #callbacks: Subscription;
  #agentState: AgentState = 'idle';
  #state: PipelineState = 'idle';
  #session: Subscription | undefined;
  #gate: MicrophoneGate | undefined;
  #muted = false;
  #capturedMs = 0;
  /** What was settled last, by source: every utterance settles its format anew, and hardly ever otherwise. */
  readonly #formats = new Map<string, string>();
  #capturedAt = 0;
  #initializing: Promise<void> | undefined;
  #starting: { readonly run: number; readonly promise: Promise<void> } | undefined;
  #stopping: Promise<void> | undefined;
  #disposing: Promise<void> | undefined;
  /** Counts starts and stops: a start that is no longer the last word comes to nothing. */
  #run = 0;
  readonly #stops$ = new Subject<void>();

  /** @throws VoiceError `configuration` when a role is missing or covered twice, or an option is the agent's business. */
  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#cast = castRoles(options.providers);
    if (this.#cast.agent) assertLeftToAgent(this.#cast.agent.name, options);
    this.#history = options.history instanceof History ? options.history : new History(options.history);
    this.#scheduler = options.scheduler ?? asyncScheduler;
    this.#logger = options.logger ?? silentLogger;
    this.#bus = createEventBus(this.#scheduler);
    this.#callbacks = this.#bus.events$.pipe(tap((event) => this.#callBack(event))).subscribe();
    this.#providerEvents = this.#listenToProviders();
  }

  /** What was said and heard. */
  get history(): History {
    return this.#history;
  }

  /** Where it is in its life. */
  get state(): PipelineState {
    return this.#state;
  }

  /** What the agent is doing. */
  get agentState(): AgentState {
    return this.#agentState;
  }

  /** Everything that happens, in order. Hot; completes on `dispose()`, and never errors. */
  get events$(): Observable<VoiceEvent> {
    return this.#bus.events$;
  }

  /** `agent.state`, `user.state`, `session.ready`, `session.closed`. Hot. */
  get state$(): Observable<StreamEvent<'state$'>> {
    return this.#stream('state$');
  }

  /** `provider.connecting`, `.connected`, `.reconnecting`, `.lost`, `.format`. Hot. */
  get connection$(): Observable<StreamEvent<'connection$'>> {
    return this.#stream('connection$');
  }

  /** `transcript.interim`, `.final`, `.preflight`, `.timeout`. Hot. */
  get transcripts$(): Observable<StreamEvent<'transcripts$'>> {
    return this.#stream('transcripts$');
  }

  /** `turn.started`, `.committed`, `.ended`, `user.idle`. Hot. */
  get turns$(): Observable<StreamEvent<'turns$'>> {
    return this.#stream('turns$');
  }

  /** `preflight.started`, `.adopted`, `.discarded`. Hot. */
  get preflight$(): Observable<StreamEvent<'preflight$'>> {
    return this.#stream('preflight$');
  }

  /** `bargeIn.suspected`, `.paused`, `.confirmed`, `.resumed`, `.ignored`. Hot. */
  get bargeIn$(): Observable<StreamEvent<'bargeIn$'>> {
    return this.#stream('bargeIn$');
  }

  /** `llm.started`, `.token`, `.completed`, `.aborted`. Hot. */
  get tokens$(): Observable<StreamEvent<'tokens$'>> {
    return this.#stream('tokens$');
  }

  /** `tool.call`, `.result`, `.error`, `.cancelled`. Hot. */
  get tools$(): Observable<StreamEvent<'tools$'>> {
    return this.#stream('tools$');
  }

  /** `speech.created`, `.started`, `.paused`, `.resumed`, `.ended`. Hot. */
  get speech$(): Observable<StreamEvent<'speech$'>> {
    return this.#stream('speech$');
  }

  /** `audio.chunk` (synthesized), and `audio.input` with `inputEvents`. Hot. */
  get audio$(): Observable<StreamEvent<'audio$'>> {
    return this.#stream('audio$');
  }

  /** `history.added`, `.updated`, `.truncated`. Hot. */
  get history$(): Observable<StreamEvent<'history$'>> {
    return this.#stream('history$');
  }

  /** `dtmf.digit`, `call.ended`, of phone platforms. Hot. */
  get call$(): Observable<StreamEvent<'call$'>> {
    return this.#stream('call$');
  }

  /** `input.muted`. Hot. */
  get input$(): Observable<StreamEvent<'input$'>> {
    return this.#stream('input$');
  }

  /** `turn.metrics`, `usage`. Hot. */
  get metrics$(): Observable<StreamEvent<'metrics$'>> {
    return this.#stream('metrics$');
  }

  /** `error`: what went wrong and did not stop the pipeline. Hot. */
  get errors$(): Observable<StreamEvent<'errors$'>> {
    return this.#stream('errors$');
  }

  /**
   * Calls back for each event of a type, `*` for all. A callback that throws is reported, and disturbs nobody else.
   *
   * @returns What undoes it.
   */
  on<T extends VoiceEventType>(type: T, callback: (event: VoiceEvent<T>) => void): () => void;
  on(type: '*', callback: (event: VoiceEvent) => void): () => void;
  on(type: VoiceEventType | '*', callback: (event: never) => void): () => void {
    this.#emitter.on(type, callback as () => void);
    return () => {
      this.#emitter.off(type, callback as () => void);
    };
  }

  /** Like {@link Pipeline.on}, for the next event only. */
  once<T extends VoiceEventType>(type: T, callback: (event: VoiceEvent<T>) => void): () => void;
  once(type: '*', callback: (event: VoiceEvent) => void): () => void;
  once(type: VoiceEventType | '*', callback: (event: never) => void): () => void {
    const stop = this.on(type as '*', (event) => {
      once.undo();
      (callback as (event: VoiceEvent) => void)(event);
    });
    const undo = (): void => {
      stop();
      this.#onces.delete(once);
    };
    const once = { type, callback, undo };
    this.#onces.add(once);
    return undo;
  }

  /** Undoes {@link Pipeline.on} and {@link Pipeline.once}; without a callback, every one of that type. */
  off<T extends VoiceEventType>(type: T, callback?: (event: VoiceEvent<T>) => void): void;
  off(type: '*', callback?: (event: VoiceEvent) => void): void;
  off(type: VoiceEventType | '*', callback?: (event: never) => void): void {
    this.#emitter.off(type, callback as (() => void) | undefined);
    for (const once of [...this.#onces]) {
      if (once.type === type && (callback === undefined || once.callback === callback)) once.undo();
    }
  }

  /** Initializes every provider. Calls at the same time share one run. */
  initialize(): Promise<void> {
    if (this.#state !== 'idle') return Promise.resolve();
    this.#initializing ??= this.#initialize().finally(() => {
      this.#initializing = undefined;
    });
    return this.#initializing;
  }

  /**
   * Begins the conversation; initializes first where that was not done.
   *
   * @param options - `signal` stops it when it aborts.
   * @throws VoiceError when a provider cannot start; then everything is stopped again.
   */
  start(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (this.#state === 'running' && !this.#stopping) return Promise.resolve();
    const { run, promise } = this.#starting ?? {};
    if (promise && run === this.#run) return promise;
    // What was asked for before comes to its end first: a stop, or a start that a stop has made void.
    const before = Promise.allSettled([promise, this.#stopping]);
    const next = ++this.#run;
    const starting = before.then(() => this.#start(next, options.signal));
    this.#starting = {
      run: next,
      promise: starting.finally(() => {
        if (this.#starting?.run === next) this.#starting = undefined;
      }),
    };
    return this.#starting.promise;
  }

  /**
   * Ends the conversation, or the `start()` under way; `start()` begins another with the same history.
   *
   * @param options - With `drain`, what the agent is saying is said to the end first.
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

  /** As `dispose()`: for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** Has the agent say something: a text, or a stream of its pieces. */
  say(text$: string | ObservableInput<string>, options: SayOptions = {}): SpeechHandle {
    const ticket = new SpeechTicket();
    const pieces$ = typeof text$ === 'string' ? of(text$) : text$;
    this.#command({ type: 'say', text$: pieces$, options, source: 'say', ticket }, ticket);
    return ticket;
  }

  /** Sends what the user typed: it goes through the same machine as speech. Blank text is nothing sent. */
  send(text: string, options: SendOptions = {}): SpeechHandle {
    const ticket = new SpeechTicket();
    if (text.trim()) this.#command({ type: 'send', text, options, ticket }, ticket);
    else ticket.settle({ heardText: '', interrupted: false });
    return ticket;
  }

  /** Cuts off what the agent is saying or preparing. */
  interrupt(): void {
    this.#commands$.next({ type: 'interrupt' });
  }

  /** Push-to-talk: the user begins to speak. Cuts the agent off. */
  beginTurn(): void {
    this.#commands$.next({ type: 'begin' });
    for (const chunk of this.#gate?.open() ?? []) this.#cast.stt?.sendAudio(chunk);
  }

  /** Push-to-talk: the user has finished. */
  commitTurn(): void {
    this.#gate?.close();
    this.#commands$.next({ type: 'commit' });
  }

  /** Push-to-talk: what was said does not count. */
  cancelTurn(): void {
    this.#gate?.close();
    this.#commands$.next({ type: 'cancel' });
  }

  /** The speech-to-text service hears silence from now on. */
  mute(): void {
    this.#mute(true);
  }

  /** The speech-to-text service hears the user again. */
  unmute(): void {
    this.#mute(false);
  }

  #mute(muted: boolean): void {
    this.#muted = muted;
    this.#gate?.mute(muted);
    this.#bus.emit('input.muted', { muted }, { role: 'input', provider: this.#cast.input.name });
  }

  #command(command: Command, ticket: SpeechTicket): void {
    if (this.#session) this.#commands$.next(command);
    else ticket.settle({ heardText: '', interrupted: true });
  }

  #stream<S extends EventStream>(name: S): Observable<StreamEvent<S>> {
    const types: readonly VoiceEventType[] = eventStreams[name];
    const events$ = this.events$.pipe(filter((event) => types.includes(event.type)));
    return events$ as Observable<StreamEvent<S>>;
  }

  #callBack(event: VoiceEvent): void {
    for (const type of [event.type, '*'] as const) {
      if (this.#emitter.listenerCount(type) === 0) continue;
      for (const callback of this.#emitter.listeners(type)) {
        try {
          callback(event);
        } catch (cause) {
          this.#logger.error(`A callback for ${event.type} threw: ${messageOf(cause)}`);
          if (event.type !== 'error') this.#reportError(cause);
        }
      }
    }
  }

  #reportError(cause: unknown, envelope: { readonly provider?: string; readonly role?: ProviderRole } = {}): void {
    const { code, message, recoverable, retryAfterMs, provider } = VoiceError.from(cause);
    this.#bus.emit(
      'error',
      { code, message, recoverable, cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      { ...envelope, ...(provider === undefined ? {} : { provider }) },
    );
  }

  /** Those that take part in one conversation at a time. */
  get #talkers(): readonly ProviderContract[] {
    const { input, output, stt, agent } = this.#cast;
    return [input, output, ...[agent ?? stt].flatMap((ears) => ears ?? [])];
  }

  #listenToProviders(): Subscription {
    const work = new Subscription();
    for (const provider of this.#cast.all) {
      const role = provider.roles[0];
      const envelope = { provider: provider.name, ...(role ? { role } : {}) };
      const report = (cause: unknown): void => {
        this.#reportError(cause, envelope);
      };
      work.add(provider.errors$?.subscribe({ next: report, error: report }));
      const onConnection = (event: ConnectionEvent): void => {
        this.#onConnection(event, envelope);
      };
      work.add(provider.connection$?.subscribe({ next: onConnection, error: report }));
    }
    return work;
  }

  #onConnection(event: ConnectionEvent, envelope: { provider: string; role?: ProviderRole }): void {
    const { emit } = this.#bus;
    switch (event.type) {
      case 'connecting':
        emit('provider.connecting', {}, envelope);
        break;
      case 'connected':
        emit('provider.connected', {}, envelope);
        break;
      case 'reconnecting':
        emit('provider.reconnecting', { attempt: event.attempt, delayMs: event.delayMs }, envelope);
        break;
      case 'lost':
        emit('provider.lost', { message: event.error.message }, envelope);
        break;
      case 'closed':
        break;
    }
  }

  async #initialize(): Promise<void> {
    const { all } = this.#cast;
    for (const provider of all) hold(provider, this);
    try {
      const results = await Promise.allSettled(all.map((provider) => provider.initialize()));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
      if (this.#disposing) throw disposed();
      this.#assertPlayable();
    } catch (cause) {
      await Promise.allSettled(all.map((provider) => release(provider, this)));
      throw VoiceError.from(cause);
    }
    this.#state = 'ready';
  }

  /** A voice that the output cannot play is an error now, not silence later. */
  #assertPlayable(): void {
    const { tts, output } = this.#cast;
    const metadata = tts?.getMetadata?.();
    if (tts && metadata) audioPath(metadata, output.accepts, { source: tts.name, target: output.name });
  }

  async #start(run: number, signal: AbortSignal | undefined): Promise<void> {
    const session = new Subscription();
    if (signal) {
      const aborted$ = fromEvent(signal, 'abort').pipe(tap(() => void this.stop()));
      session.add(aborted$.subscribe());
    }
    const assertWanted = (): void => {
      if (signal?.aborted) {
        throw new VoiceError('The signal was aborted first', { code: 'aborted', cause: signal.reason });
      }
      if (this.#disposing) throw disposed();
      if (run !== this.#run) throw new VoiceError('stop() was called first', { code: 'aborted' });
    };
    /** Waits for what may take long, such as a model's download or the user's permission, unless a stop comes first. */
    const unlessStopped = async (step: Promise<unknown>): Promise<void> => {
      await firstValueFrom(race(step, this.#stops$), { defaultValue: undefined });
      assertWanted();
    };
    try {
      assertWanted();
      await unlessStopped(this.initialize());
      claim(this.#talkers, this);
      this.#session = session;
      this.#state = 'running';
      const { input, stt, llm, tts, agent } = this.#cast;
      const ears = agent ?? stt;
      if (ears) session.add(this.#listen(ears));
      session.add(this.#converse());
      session.add(this.#hangUp());
      await unlessStopped(Promise.all([ears?.connect(), llm?.warm?.(), tts?.warm?.(), input.start()]));
      this.#bus.emit('session.ready', {});
    } catch (cause) {
      if (this.#session === session) await this.#end();
      session.unsubscribe();
      throw VoiceError.from(cause);
    }
  }

  async #dispose(): Promise<void> {
    await this.stop();
    this.#state = 'disposed';
    const results = await Promise.allSettled(this.#cast.all.map((provider) => release(provider, this)));
    this.#providerEvents.unsubscribe();
    this.#callbacks.unsubscribe();
    this.#emitter.removeAllListeners();
    this.#bus.close();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw VoiceError.from(failed.reason);
  }

  /** Captured audio on its way to the speech-to-text service. */
  #listen(ears: STTProvider | AgentProvider): Subscription {
    const { input } = this.#cast;
    const metadata = input.getMetadata();
    const path = audioPath(metadata, ears.accepts, { source: input.name, target: ears.name });
    const gate = new MicrophoneGate(metadata, this.#options.turnTaking?.strategy === 'manual');
    gate.mute(this.#muted);
    this.#reportPath(path, { source: input.name, target: ears.name });
    ears.configureAudio(path.to);
    this.#gate = gate;
    this.#capturedMs = 0;
    const report = (error: unknown, { name, roles }: ProviderContract): void => {
      this.#reportError(error, { provider: name, role: roles[0] ?? 'stt' });
    };
    let fails = false;
    return input.audio$
      .pipe(
        map((chunk) => {
          this.#capturedMs += isPcmLike(metadata.encoding) ? durationMs(chunk.data.byteLength, metadata) : 0;
          this.#capturedAt = this.#scheduler.now();
          const envelope = { role: 'input', provider: input.name } as const;
          if (this.#options.inputEvents) this.#bus.emit('audio.input', { chunk }, envelope);
          return gate.pass(chunk);
        }),
        (audio$) => path.convert(audio$),
      )
      .subscribe({
        next: (chunk) => {
          try {
            ears.sendAudio(chunk);
            fails = false;
          } catch (error) {
            // One error for all the chunks that it cannot take in a row.
            if (!fails) report(error, ears);
            fails = true;
          }
        },
        error: (error: unknown) => {
          report(error, input);
        },
      });
  }

  #converse(): Subscription {
    const { stt, llm, tts, output, agent } = this.#cast;
    const ends = { source: (agent ?? tts)?.name ?? '', target: output.name };
    const toOutput = (audio$: Observable<AudioChunk>): Observable<AudioChunk> => this.#toOutput(audio$, ends);
    const shared = { output, commands$: this.#commands$, transcode: toOutput };
    const options = { ...this.#options, history: this.#history, scheduler: this.#scheduler };
    const events$ = agent
      ? agentConversation({ ...shared, agent }, options)
      : stt && llm && tts
        ? conversation(
            {
              ...shared,
              ...{ llm, tts, transcripts$: stt.transcripts$, speech$: stt.speech$ },
              reportsSpeechEnd: stt.reportsSpeechEnd ?? false,
              finalize: () => stt.finalize?.(),
              capturedAt: (positionMs) => this.#timeOf(positionMs),
            },
            options,
          )
        : EMPTY;
    const passed$ = events$.pipe(
      tap({
        next: (event) => {
          if (event.type === 'agent.state') this.#agentState = event.state;
          this.#bus.publish(event);
        },
        // It ends by itself only when nothing of it can go on.
        complete: () => {
          if (this.#session) void this.stop();
        },
      }),
    );
    return passed$.subscribe();
  }

  #toOutput(audio$: Observable<AudioChunk>, ends: AudioEnds): Observable<AudioChunk> {
    const report = (path: AudioPath): void => {
      this.#reportPath(path, ends);
    };
    return audio$.pipe(adapt(this.#cast.output.accepts, ends, report));
  }

  /** A platform's own events; the end of the call ends the conversation. */
  #hangUp(): Subscription {
    const { input } = this.#cast;
    const { dtmf$ = EMPTY, callEnded$ = EMPTY } = input as Partial<CallEvents>;
    const envelope = { role: 'input', provider: input.name } as const;
    return merge(
      dtmf$.pipe(
        tap((digit) => {
          this.#bus.emit('dtmf.digit', { digit }, envelope);
        }),
      ),
      callEnded$.pipe(
        tap(() => {
          this.#bus.emit('call.ended', {}, envelope);
          void this.stop();
        }),
      ),
    ).subscribe();
  }

  /** When the sample at a position of the captured audio was captured: audio is captured as it is spoken. */
  #timeOf(positionMs: number): number | undefined {
    if (positionMs > this.#capturedMs) return undefined;
    return this.#capturedAt - (this.#capturedMs - positionMs);
  }

  #reportPath({ from, to, transcoded }: AudioPath, { source, target }: AudioEnds): void {
    const settled = { from: `${source} ${describeFormat(from)}`, to: `${target} ${describeFormat(to)}`, transcoded };
    const known = this.#formats.get(source);
    if (known === settled.from + settled.to) return;
    this.#formats.set(source, settled.from + settled.to);
    this.#bus.emit('provider.format', settled);
  }

  async #stop(drain: boolean): Promise<void> {
    // Only a start that is under way now: a later one waits for this.
    const starting = this.#starting;
    if (drain) await this.#silence();
    if (drain) this.#callOffStart();
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
    this.#commands$.next({ type: 'stop' });
    session.unsubscribe();
    const { input, output, stt, agent } = this.#cast;
    output.stop();
    await withinFarewell([input.stop(), (agent ?? stt)?.disconnect() ?? Promise.resolve()], (error) => {
      this.#logger.warn(`A provider did not stop cleanly: ${messageOf(error)}`);
    });
    unclaim(this.#talkers, this);
    this.#gate = undefined;
    this.#agentState = 'idle';
    this.#state = 'ready';
    this.#bus.emit('session.closed', {});
  }

  /** Resolves when the agent has said what it is saying. */
  async #silence(): Promise<void> {
    const quiet = (state: AgentState): boolean => state === 'listening' || state === 'idle';
    if (quiet(this.#agentState)) return;
    await firstValueFrom(this.events$.pipe(filter((event) => event.type === 'agent.state' && quiet(event.state))), {
      defaultValue: undefined,
    });
  }
}

function disposed(): VoiceError {
  return new VoiceError('The pipeline was disposed: create another one', { code: 'not_ready' });
}

/** What an agent's service decides, by the agent's own configuration. */
const agentsOwn = [
  ...(['systemPrompt', 'greeting', 'tools', 'turnTaking', 'bargeIn', 'preflight', 'timeouts'] as const),
  ...(['speechText', 'locale'] as const),
];

function assertLeftToAgent(agent: string, options: PipelineOptions): void {
  const misplaced = agentsOwn.filter((key) => options[key] !== undefined);
  if (misplaced.length === 0) return;
  const message = `${agent} decides ${misplaced.join(', ')} by itself: set that in its own configuration`;
  throw new VoiceError(message, { code: 'configuration', provider: agent });
}

/** What phone platforms have beside input and output. */
interface CallEvents {
  readonly dtmf$: Observable<string>;
  readonly callEnded$: Observable<unknown>;
}

/** Waits for all, but not forever: a service that does not say good-bye is left. */
async function withinFarewell(promises: readonly Promise<void>[], onError: (error: unknown) => void): Promise<void> {
  const all$ = defer(() => Promise.allSettled(promises)).pipe(
    tap((results) => {
      for (const result of results) if (result.status === 'rejected') onError(result.reason);
    }),
  );
  await firstValueFrom(race(all$, timer(farewellMs)), { defaultValue: undefined });
}
