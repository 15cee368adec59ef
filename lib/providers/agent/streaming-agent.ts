import { filter, map, ReplaySubject, Subject, type Observable } from 'rxjs';
import { takes } from '../../audio/accepted.ts';
import { describeFormat, describeFormats, sameFormat } from '../../audio/described.ts';
import { durationMs } from '../../audio/formats.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import { oncePerKind } from '../../core/application-code.ts';
import type { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { TokenUsage } from '../../core/messages.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { RemoteProvider } from '../../core/remote-provider.ts';
import { remoteRules } from '../../core/remote-rules.ts';
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
import { reconnectRules } from '../../stream/reconnect-rules.ts';
import { Fifo } from '../../stream/fifo.ts';
import type { ReconnectingSocketOptions } from '../../transport/reconnecting-socket-options.ts';
import type * as Runner from './agent-runner.ts';
import type { AgentHost, AgentRunner } from './agent-runner.ts';
import type { AgentCommand, AgentConfig, AgentWire, LateAgentPart, LateAgentWire } from './agent-wire.ts';
import type { AgentEvent, AgentStreams, AgentTold } from './dialogue-state.ts';

const agentRules = { ...remoteRules, ...reconnectRules, onFunctionCall: {}, functionTimeoutMs: {} };

/** Audio kept while there is no connection, in milliseconds. */
const waitingMs = 60_000;

/** Audio kept before `initialize()`, with its size in milliseconds. */
interface Early {
  readonly data: Uint8Array<ArrayBuffer>;
  readonly ms: number;
}

/**
 * An agent behind one WebSocket: runs an {@link AgentWire}, or one of which most is loaded with `initialize()`.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The wire's state of a session.
 * @typeParam A - What a late wire brings beside the wire.
 */
export abstract class StreamingAgent<C extends AgentConfig, S, A = unknown>
  extends RemoteProvider<C>
  implements AgentProvider
{
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
  /** What a lost connection left without a reply, unless the next one is asked again. Hot. */
  readonly unanswered$: Observable<VoiceError> = this.#told('unanswered');
  /** The state of the connection. Hot; replays the latest event. */
  readonly connection$: Observable<ConnectionEvent> = this.handOut('connection$', this.#connection$);

  readonly #wire: AgentWire<C, S> | LateAgentWire<C, S, A>;
  readonly #warnOnce = oncePerKind((kind) =>
    this.report(this.error(`${this.name} ${kind}`, { code: 'protocol', recoverable: true })),
  );
  /** From the first `initialize()` on. */
  #running: { readonly runner: AgentRunner<C, S>; readonly code: A } | undefined;
  #input: AudioMetadata | undefined;
  #early = this.#earlyAudio();

  constructor(wire: AgentWire<C, S> | LateAgentWire<C, S, A>, config: C, logger?: Logger) {
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
    if (this.hasSession && !sameFormat(metadata, this.inputFormat)) {
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
    return this.#assertRunning('connect').runner.connect();
  }

  /** Ends the session. */
  async disconnect(): Promise<void> {
    await this.#running?.runner.disconnect();
  }

  /** Sends audio; keeps up to 60 s while there is no connection. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (data.length === 0 || (metadata && !this.#fits(metadata))) return;
    if (this.#running) this.#running.runner.sendAudio(data);
    // The caller may use its buffer again.
    else this.#early.push({ data: new Uint8Array(data), ms: durationMs(data.length, this.inputFormat) });
  }

  /** Sends a text to the agent as if the user had spoken it. */
  abstract injectUserMessage(text: string): void;

  /** Makes the agent say a text. */
  abstract injectAgentMessage(text: string): void;

  /** Tells the service what was heard of a reply that was cut off; a pipeline does so by itself. */
  cutOff(heard: AgentHeard): void {
    this.#running?.runner.cutOff(heard);
  }

  /** Whether a session is running. */
  protected get hasSession(): boolean {
    return this.#running?.runner.hasSession ?? false;
  }

  /** The wire's state of the running session. */
  protected get wireState(): S | undefined {
    return this.#running?.runner.wireState;
  }

  /** What a late wire brings beside the wire; there while a session is running. */
  protected get code(): A {
    return this.#assertRunning('connect').code;
  }

  /**
   * Changes the wire's state and sends messages.
   *
   * @throws VoiceError `not_ready` when there is no session.
   */
  protected act(method: string, step: AgentCommand<S>['step']): void {
    this.#assertRunning(method).runner.act(method, step);
  }

  /**
   * Requests a change from the service. Resolves when it is acknowledged.
   *
   * @throws VoiceError `not_ready` when there is no session, `timeout` after 10 s without acknowledgement.
   */
  protected async command(method: string, command: AgentCommand<S>): Promise<void> {
    await this.#assertRunning(method).runner.command(method, command);
  }

  /** Connection options that differ from the defaults. */
  protected sessionOptions(): Pick<ReconnectingSocketOptions, 'request'> & Partial<ReconnectingSocketOptions> {
    return {
      ...this.#assertRunning('connect').runner.options(),
      request: async () => {
        const { path, query } = this.#assertRunning('connect').runner.wire;
        return { url: this.resolveSocketUrl(path, query?.(this.config)), ...(await this.resolveSocketCredentials()) };
      },
    };
  }

  protected override configProblem(): string | undefined {
    const { rules, conflict } = this.#wire;
    return configProblem(this.config, { ...agentRules, ...rules }, this.advise) ?? conflict?.(this.config, this.advise);
  }

  protected override async onInitialize(_signal: AbortSignal): Promise<void> {
    // Before the credential, whose key may be misspelt.
    this.assertConfig();
    this.assertAuth();
    this.reportRetiring(this.#wire);
    this.resolveUrl('');
    if (this.#running) return;
    const late = 'load' in this.#wire ? this.#wire : undefined;
    const load = (): Promise<[typeof Runner, (LateAgentPart<C, S> & A) | undefined]> =>
      Promise.all([import('./agent-runner.ts'), late?.load()]);
    const [{ AgentRunner }, part] = await new OnDemand(this.name, load).load();
    const wire = { ...this.#wire, ...part } as AgentWire<C, S> & A;
    this.#running ??= { runner: new AgentRunner(this.#host(wire)), code: wire };
    for (let early = this.#early.shift(); early; early = this.#early.shift()) this.sendAudio(early);
  }

  protected override async onDispose(): Promise<void> {
    this.#early = this.#earlyAudio();
    await this.#running?.runner.dispose();
  }

  /** The format of the user's audio. */
  protected get inputFormat(): AudioMetadata {
    return this.#input ?? this.#wire.input(this.config);
  }

  #told<K extends keyof AgentStreams>(stream: K): Observable<AgentStreams[K]> {
    const isIts = (event: AgentEvent): event is AgentTold => event.type === 'tell' && event.stream === stream;
    const told$ = this.#events$.pipe(
      filter(isIts),
      map(({ value }) => value as AgentStreams[K]),
    );
    return this.handOut(`${stream}$`, told$);
  }

  /** What keeps audio until there is a runner; it reports once that it could not keep all of it. */
  #earlyAudio(): Fifo<Early> {
    let isTold = false;
    const onDrop = (lost: readonly Early[]): void => {
      this.dropped(lost.reduce((sum, { ms }) => sum + ms, 0));
      if (isTold) return;
      isTold = true;
      const message = `${this.name}: more than ${waitingMs / 1000} s of audio before initialize(): the oldest is dropped`;
      this.report(this.error(message, { code: 'overflow', recoverable: true }));
    };
    return new Fifo({ limit: waitingMs, sizeOf: ({ ms }) => ms, onDrop });
  }

  #assertRunning(method: string): { readonly runner: AgentRunner<C, S>; readonly code: A } {
    if (this.#running) return this.#running;
    throw this.error(`${this.name}.${method}() needs a session: await connect() first`, { code: 'not_ready' });
  }

  #host(wire: AgentWire<C, S>): AgentHost<C, S> {
    return {
      ...{ name: this.name, wire, waitingMs, events$: this.#events$ },
      config: () => this.config,
      input: () => this.inputFormat,
      transport: () => this.transportOptions,
      options: () => this.sessionOptions(),
      redact: (text) => this.redact(text),
      error: (message, options) => this.error(message, options),
      report: (error) => this.report(error),
      warnOnce: (kind) => this.#warnOnce(kind),
      debug: (text, ...causes) => this.logger.debug(this.name + text, ...causes),
      connection: (event) => this.#connection$.next(event),
    };
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
