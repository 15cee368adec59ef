import {
  asyncScheduler,
  BehaviorSubject,
  concatMap,
  filter,
  ignoreElements,
  map,
  ReplaySubject,
  scan,
  Subject,
  Subscription,
  takeWhile,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { bytesForMs, describeFormat, describeFormats, sameFormat } from '../../audio/formats.ts';
import { takes } from '../../audio/negotiate.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import { VoiceError } from '../../core/errors.ts';
import { oncePerKind, parseJsonObject } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import type { TokenUsage } from '../../core/messages.ts';
import { RemoteProvider } from '../../core/remote-provider.ts';
import type {
  AgentFunctionCall,
  AgentFunctionEnd,
  AgentHeard,
  AgentLatency,
  AgentProvider,
  AgentText,
  ConnectionEvent,
  SpeechEvent,
  TranscriptionResult,
} from '../../core/roles.ts';
import { merge } from '../../stream/merge.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket-options.ts';
import { ReconnectingSocket, type SocketData } from '../../transport/reconnecting-socket.ts';
import type { AgentCommand, AgentConfig, AgentContext, AgentProblem, AgentWire } from './agent-wire.ts';
import type { AgentEvent, AgentInput, AgentStreams, AgentTold, DialogueStep } from './dialogue-state.ts';
import { newDialogue } from './dialogue-state.ts';
import { advance, typeMember } from './dialogue.ts';
import type { FunctionHost } from './function-calls.ts';
import { laterInputs, settlement } from './later-inputs.ts';

/** Audio kept while there is no connection, in milliseconds. */
const waitingMs = 60_000;
/** Longest message, in bytes, including audio. */
const maxMessageBytes = 16 * 1024 * 1024;
/** Longest wait for a clean close on dispose(), in milliseconds. */
const disposeMs = 200;

/** One session with the service: its connections, and the steps of its dialogue. */
interface Session<S> {
  readonly socket: ReconnectingSocket;
  readonly inputs$: Subject<AgentInput<S>>;
  /** The latest step. */
  readonly steps$: BehaviorSubject<DialogueStep<S>>;
  /** Ends with the last connection. */
  readonly life: Subscription;
}

/**
 * An agent behind one WebSocket: runs an {@link AgentWire}. Inputs (messages, connections, commands, ended function
 * calls) are folded into the session's dialogue; its events are carried out here, in order.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The wire's state of a session.
 */
export abstract class StreamingAgent<C extends AgentConfig, S> extends RemoteProvider<C> implements AgentProvider {
  override readonly name: string;
  override readonly roles = ['stt', 'llm', 'tts'] as const;
  override readonly type = 'websocket' as const;
  /** Formats that `sendAudio` accepts, best first. */
  readonly accepts: readonly AudioFormat[];
  protected override readonly defaultBaseUrl: string;

  readonly #events$ = new Subject<AgentEvent>();
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  /** What the user said. Hot. */
  readonly transcripts$: Observable<TranscriptionResult> = this.#told('transcripts');
  /** The user's voice: `started` cuts off the reply at the service; later audio belongs to another reply. Hot. */
  readonly speech$: Observable<SpeechEvent> = this.#told('speech');
  /** The agent's reply as text, in pieces that concatenate to the whole. Hot. */
  readonly tokens$: Observable<string> = this.#told('tokens');
  /** What both sides said, in order. Hot. */
  readonly conversation$: Observable<AgentText> = this.#told('conversation');
  /** The agent's audio; each reply has its own `utteranceId`. Hot. */
  readonly audio$: Observable<AudioChunk> = this.#told('audio');
  /** The format of `audio$`, once a connection is ready. Hot. */
  readonly metadata$: Observable<AudioMetadata> = this.#told('metadata');
  /** Emits when a reply's audio is complete. Hot. */
  readonly audioDone$: Observable<void> = this.#told('audioDone');
  /** Functions called by the model, including those the service runs itself. Hot. */
  readonly functionCalls$: Observable<AgentFunctionCall> = this.#told('functionCalls');
  /** The end of each call, exactly once. Hot. */
  readonly functionEnds$: Observable<AgentFunctionEnd> = this.#told('functionEnds');
  /** The latencies of each turn, as far as the service reports them. Hot. */
  readonly latency$: Observable<AgentLatency> = this.#told('latency');
  /** The tokens of each of the model's answers, as far as the service reports them. Hot. */
  readonly usage$: Observable<TokenUsage> = this.#told('usage');
  /** The state of the connection. Hot; replays the latest event. */
  readonly connection$: Observable<ConnectionEvent> = this.handOut('connection$', this.#connection$);

  readonly #wire: AgentWire<C, S>;
  readonly #warnOnce = oncePerKind((kind) =>
    this.report(this.error(`${this.name} ${kind}`, { code: 'protocol', recoverable: true })),
  );
  #session: Session<S> | undefined;
  #input: AudioMetadata | undefined;
  #hasSentAudio = false;
  #commands = 0;
  #replies = 0;

  constructor(wire: AgentWire<C, S>, config: C, logger?: Logger) {
    super(config, logger);
    this.#wire = wire;
    this.name = wire.name;
    this.accepts = wire.accepts;
    this.defaultBaseUrl = wire.baseUrl;
  }

  /**
   * Sets the format that `sendAudio` will be given; call before `connect()`.
   *
   * @throws VoiceError `unsupported_format` when the service does not support it, `configuration` while connected.
   */
  configureAudio(metadata: AudioMetadata): void {
    if (!this.accepts.some((format) => takes(format, metadata))) {
      const formats = describeFormats(this.accepts);
      const message = `${this.name} does not support ${describeFormat(metadata)}: convert it to ${formats}`;
      throw this.error(message, { code: 'unsupported_format' });
    }
    if (this.#session && !sameFormat(metadata, this.inputFormat)) {
      const message = `${this.name} uses ${describeFormat(this.inputFormat)}: disconnect() before configureAudio()`;
      throw this.error(message, { code: 'configuration' });
    }
    this.#input = metadata;
  }

  /**
   * Opens a session; concurrent calls share it.
   *
   * @returns Resolves when the service is ready.
   * @throws VoiceError when the service refuses for good.
   */
  connect(): Promise<void> {
    this.assertReady('connect');
    return this.#open().socket.open();
  }

  /** Ends the session. */
  async disconnect(): Promise<void> {
    await this.#session?.socket.close();
  }

  /** Sends audio; keeps up to 60 s while there is no connection. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (data.length === 0 || (metadata && !this.#fits(metadata))) return;
    this.#hasSentAudio = true;
    this.#open().socket.send(this.#wire.encode?.(data) ?? data);
  }

  /** Sends a text to the agent as if the user had spoken it. */
  abstract injectUserMessage(text: string): void;

  /** Makes the agent say a text. */
  abstract injectAgentMessage(text: string): void;

  /** Tells the service what was heard of a reply that was cut off; a pipeline does so by itself. */
  cutOff(heard: AgentHeard): void {
    this.#session?.inputs$.next({ type: 'cut', heard });
  }

  /** Whether a session is running. */
  protected get hasSession(): boolean {
    return this.#session !== undefined;
  }

  /** The wire's state of the running session. */
  protected get wireState(): S | undefined {
    return this.#session?.steps$.value[0].wire;
  }

  /**
   * Changes the wire's state and sends messages.
   *
   * @throws VoiceError `not_ready` when there is no session.
   */
  protected act(method: string, step: AgentCommand<S>['step']): void {
    this.#running(method).inputs$.next({ type: 'command', id: 0, command: { step } });
  }

  /**
   * Requests a change from the service. Resolves when it is acknowledged.
   *
   * @throws VoiceError `not_ready` when there is no session, `timeout` after 10 s without acknowledgement.
   */
  protected async command(method: string, command: AgentCommand<S>): Promise<void> {
    const { inputs$ } = this.#running(method);
    const id = ++this.#commands;
    const settled = settlement(this.#events$, id, this.#scheduler, ({ message, ...problem }) =>
      this.#problem({ message: `${method}(): ${message}`, ...problem }),
    );
    inputs$.next({ type: 'command', id, command });
    await settled;
  }

  /** Connection options that differ from the defaults. */
  protected sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    const { path, query, opensAfter, readyAfter, opening, prologue, keepAlive, typeOf = typeMember } = this.#wire;
    const isOf = (type: string) => (data: SocketData) => typeOf(parseJsonObject(data) ?? {}) === type;
    return {
      reconnect: this.config.reconnect,
      ...(opensAfter !== undefined && { opensAfter: isOf(opensAfter) }),
      isReady: isOf(readyAfter),
      opening: () => this.#restoring(opening, { type: 'opened' }),
      ...(prologue && { prologue: () => this.#restoring(prologue) }),
      keepAlive: {
        message: () => {
          const isSilent = !this.#hasSentAudio;
          this.#hasSentAudio = false;
          return isSilent && keepAlive ? JSON.stringify(keepAlive) : undefined;
        },
      },
      request: async () => ({
        url: this.resolveSocketUrl(path, query?.(this.config)),
        ...(await this.resolveSocketCredentials()),
      }),
    };
  }

  protected override configProblem(): string | undefined {
    const { rules, conflict } = this.#wire;
    return configProblem(this.config, rules, this.advise) ?? conflict?.(this.config, this.advise);
  }

  protected override onInitialize(): void {
    this.assertAuth();
    this.assertConfig();
    this.reportRetiring(this.#wire);
    this.resolveUrl('');
  }

  protected override async onDispose(): Promise<void> {
    const session = this.#session;
    await session?.socket.close({ timeoutMs: disposeMs });
    session?.life.unsubscribe();
    if (this.#session === session) this.#session = undefined;
  }

  /** The format of the user's audio. */
  protected get inputFormat(): AudioMetadata {
    return this.#input ?? this.#wire.input(this.config);
  }

  #restoring(messages: AgentWire<C, S>['opening'], ...inputs: readonly AgentInput<S>[]): readonly string[] {
    const { inputs$, steps$ } = this.#running('connect');
    for (const input of inputs) inputs$.next(input);
    const [{ wire, history }] = steps$.value;
    return messages(wire, this.#context(history)).map((message) => JSON.stringify(message));
  }

  #context(history: readonly AgentText[]): AgentContext<C> {
    return { config: this.config, input: this.inputFormat, history, now: this.#scheduler.now() };
  }

  get #functionHost(): FunctionHost {
    const { onFunctionCall: handler, functionTimeoutMs: timeoutMs = 30_000 } = this.config;
    return { tools: this.#wire.tools?.(this.config) ?? [], handler, timeoutMs, scheduler: this.#scheduler };
  }

  get #scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  #told<K extends keyof AgentStreams>(stream: K): Observable<AgentStreams[K]> {
    const isIts = (event: AgentEvent): event is AgentTold => event.type === 'tell' && event.stream === stream;
    const told$ = this.#events$.pipe(
      filter(isIts),
      map(({ value }) => value as AgentStreams[K]),
    );
    return this.handOut(`${stream}$`, told$);
  }

  #running(method: string): Session<S> {
    if (this.#session) return this.#session;
    throw this.error(`${this.name}.${method}() needs a session: await connect() first`, { code: 'not_ready' });
  }

  #open(): Session<S> {
    if (this.#session) return this.#session;
    const socket = new ReconnectingSocket({
      ...this.transportOptions,
      maxMessageBytes,
      maxOutboxBytes: 2 * bytesForMs(waitingMs, this.inputFormat),
      // Only disconnect(), or a service that hangs up, ends a session: after any other close, reconnect.
      classifyClose: (close) => {
        const meaning = this.#wire.closes?.(close, steps$.value[0].wire) ?? 'retry';
        return meaning === 'hung-up' ? 'normal' : meaning === 'retry' ? meaning : this.#problem(meaning);
      },
      // The opening restores everything a new connection needs.
      replay: () => [],
      ...this.sessionOptions(),
    });
    const start: DialogueStep<S> = [newDialogue(this.#wire.start(this.config), this.#replies)];
    const steps$ = new BehaviorSubject(start);
    const session = (this.#session = { socket, steps$, inputs$: new Subject(), life: new Subscription() });
    // Inputs that arrive while events are being carried out wait until those are done.
    const enacting = steps$.pipe(concatMap(([, ...events]) => events)).subscribe({
      next: (event) => this.#enact(event, socket),
      error: (error: unknown) => this.report(VoiceError.from(error, { provider: this.name })),
    });
    const folding = merge(
      socket.errors$.pipe(
        tap((error) => this.report(error)),
        ignoreElements(),
      ),
      socket.messages$.pipe(map((data) => ({ type: 'message', data }) as const)),
      socket.connection$.pipe(map((event) => this.#connected(event, steps$.value))),
      laterInputs(this.#events$, () => this.#functionHost, this.#wire.quiet?.afterMs),
      session.inputs$,
    )
      .pipe(
        takeWhile((input) => input.type !== 'connection' || !isFinal(input.event), true),
        scan(([state], input) => advance(this.#wire, state, input, this.#context(state.history)), start),
      )
      .subscribe(steps$);
    session.life.add(enacting);
    session.life.add(folding);
    return session;
  }

  #connected(event: ConnectionEvent, [{ replies }]: DialogueStep<S>): AgentInput<S> {
    if (isFinal(event)) this.#session = undefined;
    this.#replies = replies;
    const ended = this.error(`${this.name}: the session has ended`, { code: 'aborted' });
    return { type: 'connection', event, ended: event.type === 'lost' ? event.error : ended };
  }

  #problem({ message, cause, ...problem }: AgentProblem): VoiceError {
    const words = cause === undefined ? undefined : new Error(this.redact(cause));
    return this.error(`${this.name}: ${message}`, { ...problem, cause: words });
  }

  #enact(event: AgentEvent, socket: ReconnectingSocket): void {
    switch (event.type) {
      case 'connection':
        this.#connection$.next(event.event);
        break;
      case 'send': {
        const { message } = event;
        const isData = typeof message === 'string' || message instanceof Uint8Array;
        socket.send(isData ? message : JSON.stringify(message));
        break;
      }
      case 'warning':
      case 'failure': {
        const { type, recoverable } = event;
        const error = this.#problem(event);
        // An unrecoverable failure ends the session, which reports it.
        if (type === 'warning' || recoverable) this.report(error);
        if (type === 'failure') socket.reconnect(error);
        break;
      }
      case 'renew':
        socket.reconnect();
        break;
      case 'malformed':
        this.#warnOnce(event.kind);
        this.logger.debug(`${this.name}: malformed message`, event.cause);
        break;
      case 'log':
        this.logger.debug(`${this.name} ${event.text}`);
        break;
      default:
        this.#events$.next(event);
    }
  }

  #fits(metadata: AudioMetadata): boolean {
    if (sameFormat(metadata, this.inputFormat)) return true;
    try {
      this.configureAudio(metadata);
      return true;
    } catch {
      this.#warnOnce(`expects ${describeFormat(this.inputFormat)}; dropping ${describeFormat(metadata)}`);
      return false;
    }
  }
}

const isFinal = ({ type }: ConnectionEvent): boolean => type === 'closed' || type === 'lost';
