import {
  asyncScheduler,
  BehaviorSubject,
  concatMap,
  ignoreElements,
  map,
  scan,
  Subject,
  Subscription,
  takeWhile,
  tap,
  type SchedulerLike,
} from 'rxjs';
import { bytesForMs } from '../../audio/formats.ts';
import type { AudioMetadata } from '../../audio/types.ts';
import { VoiceError, type VoiceErrorOptions } from '../../core/errors.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { AgentHeard, AgentText, ConnectionEvent } from '../../core/roles.ts';
import { merge } from '../../stream/merge.ts';
import type { ReconnectingSocketOptions, SocketCloseOptions } from '../../transport/reconnecting-socket-options.ts';
import { ReconnectingSocket, type SocketData } from '../../transport/reconnecting-socket.ts';
import type { AgentCommand, AgentConfig, AgentContext, AgentProblem, AgentWire } from './agent-wire.ts';
import type { AgentEvent, AgentInput, DialogueStep } from './dialogue-state.ts';
import { newDialogue } from './dialogue-state.ts';
import { advance, typeMember } from './dialogue.ts';
import type { FunctionHost } from './function-calls.ts';
import { laterInputs, settlement } from './later-inputs.ts';

/** Longest message, in bytes, including audio. */
const maxMessageBytes = 16 * 1024 * 1024;
/** Longest wait for a clean close on dispose(), in milliseconds. */
const disposeMs = 200;

/** An agent, as far as its wire is run for it. */
export interface AgentHost<C extends AgentConfig, S> {
  readonly name: string;
  readonly wire: AgentWire<C, S>;
  readonly config: () => Readonly<C>;
  /** The format of the user's audio. */
  readonly input: () => AudioMetadata;
  /** Audio kept while there is no connection, in milliseconds. */
  readonly waitingMs: number;
  readonly transport: () => TransportOptions;
  /** Connection options, with those of {@link AgentRunner.options}. */
  readonly options: () => Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions>;
  readonly redact: (text: string) => string;
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  readonly report: (error: VoiceError) => void;
  readonly warnOnce: (kind: string) => void;
  readonly debug: (text: string, ...causes: readonly unknown[]) => void;
  readonly connection: (event: ConnectionEvent) => void;
  /** Where the dialogue's events go. */
  readonly events$: Subject<AgentEvent>;
}

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
 * Runs an {@link AgentWire}: inputs (messages, connections, commands, ended function calls) are folded into the session's
 * dialogue; its events are carried out here, in order. Pages load it once an agent is initialized.
 */
export class AgentRunner<C extends AgentConfig, S> {
  readonly #host: AgentHost<C, S>;
  #session: Session<S> | undefined;
  /** The session that was lost: the next one goes on with its conversation. */
  #lost: Session<S> | undefined;
  /** The error it was lost with. */
  #lostWith: VoiceError | undefined;
  /** The end of the session, while it ends. */
  #closing: Promise<void> | undefined;
  #hasSentAudio = false;
  #commands = 0;
  #replies = 0;

  constructor(host: AgentHost<C, S>) {
    this.#host = host;
  }

  get wire(): AgentWire<C, S> {
    return this.#host.wire;
  }

  /** Whether a session is running. */
  get hasSession(): boolean {
    return this.#session !== undefined;
  }

  /** The wire's state of the running session. */
  get wireState(): S | undefined {
    return this.#session?.steps$.value[0].wire;
  }

  /** Opens a session, unless there is one. Resolves when the service is ready. */
  connect(): Promise<void> {
    return this.#closing ? this.#closing.then(() => this.connect()) : this.#open().socket.open();
  }

  /** Ends the session, and forgets one that was lost. Concurrent calls share it. */
  disconnect(options?: SocketCloseOptions): Promise<void> {
    this.#closing ??= this.#close(options).finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  sendAudio(data: Uint8Array<ArrayBuffer>): void {
    this.#hasSentAudio = true;
    const { socket } = this.#open();
    // The caller may use its buffer again while audio waits for the service.
    socket.send(this.#host.wire.encode?.(data) ?? (socket.isReady ? data : new Uint8Array(data)));
  }

  cutOff(heard: AgentHeard): void {
    this.#session?.inputs$.next({ type: 'cut', heard });
  }

  act(method: string, step: AgentCommand<S>['step']): void {
    this.#running(method).inputs$.next({ type: 'command', id: 0, command: { step } });
  }

  async command(method: string, command: AgentCommand<S>): Promise<void> {
    const { inputs$ } = this.#running(method);
    const id = ++this.#commands;
    const settled = settlement(this.#host.events$, id, this.#scheduler, ({ message, ...problem }) =>
      this.#problem({ message: `${method}(): ${message}`, ...problem }),
    );
    inputs$.next({ type: 'command', id, command });
    await settled;
  }

  /** What the wire says of its connections. */
  options(): Partial<ReconnectingSocketOptions> {
    const { opensAfter, readyAfter, opening, prologue, keepAlive, typeOf = typeMember } = this.#host.wire;
    const isOf = (type: string) => (data: SocketData) => typeOf(parseJsonObject(data) ?? {}) === type;
    return {
      reconnect: this.#host.config().reconnect,
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
    };
  }

  async dispose(): Promise<void> {
    if (this.#closing) {
      this.#session?.socket.terminate();
      await this.#closing;
    }
    // The session, or that of a connect() which waited for the end of another.
    await this.disconnect({ timeoutMs: disposeMs });
  }

  async #close(options?: SocketCloseOptions): Promise<void> {
    const session = this.#session;
    this.#lost = undefined;
    await session?.socket.close(options);
    // A session that was never opened emits no `closed`.
    session?.life.unsubscribe();
    if (this.#session === session) this.#session = undefined;
  }

  #restoring(messages: AgentWire<C, S>['opening'], ...inputs: readonly AgentInput<S>[]): readonly string[] {
    const { inputs$, steps$ } = this.#running('connect');
    for (const input of inputs) inputs$.next(input);
    const [{ wire, history }] = steps$.value;
    return messages(wire, this.#context(history)).map((message) => JSON.stringify(message));
  }

  #context(history: readonly AgentText[]): AgentContext<C> {
    return { config: this.#host.config(), input: this.#host.input(), history, now: this.#scheduler.now() };
  }

  get #functionHost(): FunctionHost {
    const { onFunctionCall: handler, functionTimeoutMs: timeoutMs = 30_000 } = this.#host.config();
    return {
      tools: this.#host.wire.tools?.(this.#host.config()) ?? [],
      handler,
      timeoutMs,
      scheduler: this.#scheduler,
    };
  }

  get #scheduler(): SchedulerLike {
    return this.#host.config().scheduler ?? asyncScheduler;
  }

  #running(method: string): Session<S> {
    if (this.#session) return this.#session;
    const cause = this.#lostWith;
    const ended = cause ? `, and the last one has ended (${cause.message})` : '';
    const message = `${this.#host.name}.${method}() needs a session${ended}: await connect() first`;
    throw this.#host.error(message, { code: 'not_ready', cause });
  }

  #open(): Session<S> {
    if (this.#session) return this.#session;
    const socket = new ReconnectingSocket({
      ...this.#host.transport(),
      maxMessageBytes,
      maxOutboxBytes: 2 * bytesForMs(this.#host.waitingMs, this.#host.input()),
      // Only disconnect(), or a service that hangs up, ends a session: after any other close, reconnect.
      classifyClose: (close) => {
        const meaning = this.#host.wire.closes?.(close, steps$.value[0].wire) ?? 'retry';
        return meaning === 'hung-up' ? 'normal' : meaning === 'retry' ? meaning : this.#problem(meaning);
      },
      // The opening restores everything a new connection needs.
      replay: () => [],
      ...this.#host.options(),
    });
    const [before] = this.#lost?.steps$.value ?? [];
    this.#lost = undefined;
    const start: DialogueStep<S> = [before ?? newDialogue(this.#host.wire.start(this.#host.config()), this.#replies)];
    const steps$ = new BehaviorSubject(start);
    const session = (this.#session = { socket, steps$, inputs$: new Subject(), life: new Subscription() });
    // Inputs that arrive while events are being carried out wait until those are done.
    const enacting = steps$.pipe(concatMap(([, ...events]) => events)).subscribe({
      next: (event) => this.#enact(event, socket),
      error: (error: unknown) => this.#host.report(VoiceError.from(error, { provider: this.#host.name })),
    });
    const folding = merge(
      socket.errors$.pipe(
        tap((error) => this.#host.report(error)),
        ignoreElements(),
      ),
      socket.messages$.pipe(map((data) => ({ type: 'message', data }) as const)),
      socket.connection$.pipe(map((event) => this.#connected(event, steps$.value))),
      laterInputs(this.#host.events$, () => this.#functionHost, this.#host.wire.quiet?.afterMs),
      session.inputs$,
    )
      .pipe(
        takeWhile((input) => input.type !== 'connection' || !isFinal(input.event), true),
        scan(([state], input) => advance(this.#host.wire, state, input, this.#context(state.history)), start),
      )
      .subscribe(steps$);
    session.life.add(enacting);
    session.life.add(folding);
    return session;
  }

  #connected(event: ConnectionEvent, [{ replies }]: DialogueStep<S>): AgentInput<S> {
    if (event.type === 'lost') [this.#lost, this.#lostWith] = [this.#session, event.error];
    if (event.type === 'connected' || event.type === 'closed') this.#lostWith = undefined;
    if (isFinal(event)) this.#session = undefined;
    this.#replies = replies;
    const ended = this.#host.error(`${this.#host.name}: the session has ended`, { code: 'aborted' });
    return { type: 'connection', event, ended: event.type === 'lost' ? event.error : ended };
  }

  #problem({ message, cause, ...problem }: AgentProblem): VoiceError {
    const words = cause === undefined ? undefined : new Error(this.#host.redact(cause));
    return this.#host.error(`${this.#host.name}: ${message}`, { ...problem, cause: words });
  }

  #enact(event: AgentEvent, socket: ReconnectingSocket): void {
    switch (event.type) {
      case 'connection':
        this.#host.connection(event.event);
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
        if (type === 'warning' || recoverable) this.#host.report(error);
        if (type === 'failure') socket.reconnect(error);
        break;
      }
      case 'renew':
        socket.reconnect();
        break;
      case 'malformed':
        this.#host.warnOnce(event.kind);
        this.#host.debug(': malformed message', event.cause);
        break;
      case 'log':
        this.#host.debug(` ${event.text}`);
        break;
      default:
        this.#host.events$.next(event);
    }
  }
}

const isFinal = ({ type }: ConnectionEvent): boolean => type === 'closed' || type === 'lost';
