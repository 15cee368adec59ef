import { asyncScheduler, merge, ReplaySubject, Subject, tap, type Observable, type SchedulerLike } from 'rxjs';
import { bytesForMs, describeFormat, sameFormat } from '../../audio/formats.ts';
import { takes } from '../../audio/negotiate.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { VoiceError } from '../../core/errors.ts';
import { oncePerKind, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import { RemoteProvider, type RemoteConfig } from '../../core/remote-provider.ts';
import type {
  AgentFunctionCall,
  AgentLatency,
  AgentProvider,
  AgentText,
  ConnectionEvent,
  SpeechEvent,
  TranscriptionResult,
} from '../../core/roles.ts';
import { SocketSession, type SocketData, type SocketSessionOptions } from '../../transport/socket-session.ts';

/** Audio that waits for a connection, in milliseconds. */
const waitingMs = 60_000;

/** Longest message, in bytes: audio among them. */
const maxMessageBytes = 16 * 1024 * 1024;

/** Longest goodbye of a provider that is disposed of, in milliseconds. */
const disposeMs = 200;

/** Texts of the conversation that are remembered. */
const maxHistory = 80;

/** Base of agents behind one WebSocket: their streams and their session. A provider adds its messages. */
export abstract class BaseAgent<C extends RemoteConfig> extends RemoteProvider<C> implements AgentProvider {
  override readonly roles = ['stt', 'llm', 'tts'] as const;
  override readonly type = 'websocket' as const;
  abstract readonly accepts: readonly AudioFormat[];

  /** The conversation of this session so far. */
  protected history: readonly AgentText[] = [];

  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly #tokens$ = new Subject<string>();
  readonly #conversation$ = new Subject<AgentText>();
  readonly #audio$ = new Subject<AudioChunk>();
  readonly #metadata$ = new Subject<AudioMetadata>();
  readonly #audioDone$ = new Subject<void>();
  readonly #functionCalls$ = new Subject<AgentFunctionCall>();
  readonly #latency$ = new Subject<AgentLatency>();
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);

  #session: SocketSession | undefined;
  #input: AudioMetadata | undefined;
  #hasSentAudio = false;
  #isUserSpeaking = false;
  #replies = 0;
  #hasAudio = false;
  #hasText = false;
  readonly #warn = oncePerKind((kind) =>
    this.report(this.error(`${this.name} ${kind}`, { code: 'protocol', recoverable: true })),
  );

  /** What the user said. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.#transcripts$.asObservable();
  }

  /** The user's voice: `started` cuts the reply off at the service; audio that follows belongs to a later one. Hot. */
  get speech$(): Observable<SpeechEvent> {
    return this.#speech$.asObservable();
  }

  /** What the agent says, as text: the pieces of a reply make it when they are put together. Hot. */
  get tokens$(): Observable<string> {
    return this.#tokens$.asObservable();
  }

  /** What both sides said, in order. Hot. */
  get conversation$(): Observable<AgentText> {
    return this.#conversation$.asObservable();
  }

  /** What the agent says; each reply has its `utteranceId`. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.#audio$.asObservable();
  }

  /** The format of `audio$`, when a connection is ready. Hot. */
  get metadata$(): Observable<AudioMetadata> {
    return this.#metadata$.asObservable();
  }

  /** The last audio of a reply has come. Hot. */
  get audioDone$(): Observable<void> {
    return this.#audioDone$.asObservable();
  }

  /** Functions that the model wants called, those that the service calls itself among them. Hot. */
  get functionCalls$(): Observable<AgentFunctionCall> {
    return this.#functionCalls$.asObservable();
  }

  /** Hot. */
  get latency$(): Observable<AgentLatency> {
    return this.#latency$.asObservable();
  }

  /** The service's connection; the latest event first. Hot. */
  get connection$(): Observable<ConnectionEvent> {
    return this.#connection$.asObservable();
  }

  /**
   * Says what `sendAudio` will bring; before `connect()`.
   *
   * @throws VoiceError `unsupported_format` when the service does not take it, `configuration` while connected.
   */
  configureAudio(metadata: AudioMetadata): void {
    if (!this.accepts.some((format) => takes(format, metadata))) {
      const formats = this.accepts.map(({ encoding }) => encoding).join(', ');
      const message = `${this.name} does not take ${describeFormat(metadata)}: convert it to ${formats}, mono`;
      throw this.error(message, { code: 'unsupported_format' });
    }
    if (this.#session && !sameFormat(metadata, this.input)) {
      const message = `${this.name} hears ${describeFormat(this.input)}: disconnect() before another configureAudio()`;
      throw this.error(message, { code: 'configuration' });
    }
    this.#input = metadata;
  }

  /**
   * Opens a session. Calls at the same time share it.
   *
   * @returns Resolves when the service is ready.
   * @throws VoiceError when the service refuses for good.
   */
  connect(): Promise<void> {
    this.assertReady('connect');
    return this.#open().open();
  }

  /** Ends the session. */
  async disconnect(): Promise<void> {
    await this.#session?.close();
  }

  /** Sends audio; while there is no connection it is kept, up to 60 s. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (data.length === 0 || (metadata && !this.#fits(metadata))) return;
    this.#hasSentAudio = true;
    this.#open().send(data);
  }

  /** Says a text to the agent, as if the user had spoken it. */
  abstract injectUserMessage(text: string): void;

  /** Has the agent say a text. */
  abstract injectAgentMessage(text: string): void;

  /** What this service's session needs: its address, its opening, its signs of readiness. */
  protected abstract sessionOptions(): Pick<SocketSessionOptions, 'request'> & Partial<SocketSessionOptions>;

  /** Takes a message of the service. */
  protected abstract receive(type: string, message: WireObject): void;

  /** The format of the agent's audio. */
  protected abstract get output(): AudioMetadata;

  /** The format of the user's audio. */
  protected get input(): AudioMetadata {
    return this.#input ?? this.defaultInput;
  }

  /** The format of the user's audio when nobody has said it. */
  protected get defaultInput(): AudioMetadata {
    return { encoding: 'linear16', sampleRate: 16_000, channels: 1 };
  }

  /** A session begins. */
  protected onStart(): void {}

  /** A connection is ready. */
  protected onConnection(): void {}

  /** The connection is gone, and for good where there is an error: what belonged to it is over. */
  protected onLoss(_final?: VoiceError): void {}

  /** The clock. */
  protected get scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  /** The running session. */
  protected get session(): SocketSession | undefined {
    return this.#session;
  }

  /**
   * Sends a message.
   *
   * @throws VoiceError `not_ready` when there is no session.
   */
  protected say(message: WireObject, method: string): void {
    if (!this.#session) {
      throw this.error(`${this.name}.${method}() needs a session: await connect() first`, { code: 'not_ready' });
    }
    this.#session.send(JSON.stringify(message));
  }

  /** What is sent to keep a silent connection alive: nothing while audio is. */
  protected keepAlive(message: SocketData): SocketData | undefined {
    const isSilent = !this.#hasSentAudio;
    this.#hasSentAudio = false;
    return isSilent ? message : undefined;
  }

  /** The user's voice begins: the reply, if there is one, is over. */
  protected userStarted(): void {
    this.#endReply();
    this.#isUserSpeaking = true;
    this.#speech$.next({ type: 'started' });
  }

  /** The user has said this. */
  protected userSaid(text: string): void {
    this.#endReply();
    if (this.#isUserSpeaking) {
      this.#isUserSpeaking = false;
      this.#speech$.next({ type: 'ended' });
    }
    this.#remember({ role: 'user', text });
    this.#transcripts$.next({ text, isFinal: true, utteranceComplete: true, isPreflight: false });
  }

  /** A piece of the agent's reply, as text. */
  protected agentSaid(text: string): void {
    const token = this.#hasText ? ` ${text}` : text;
    this.#hasText = true;
    this.#remember({ role: 'assistant', text });
    this.#tokens$.next(token);
  }

  /** A piece of the agent's reply, as audio. */
  protected agentSpoke(data: Uint8Array<ArrayBuffer>): void {
    if (!this.#hasAudio) this.#replies += 1;
    this.#hasAudio = true;
    this.#audio$.next({ data, metadata: this.output, utteranceId: `reply-${this.#replies}` });
  }

  /** The last audio of the reply has come. */
  protected agentFinished(): void {
    this.#endReply();
    this.#audioDone$.next();
  }

  /** The model wants a function called. */
  protected functionCalled(call: AgentFunctionCall): void {
    this.#functionCalls$.next(call);
  }

  /** What the service says of its own speed; nothing is told where it says nothing. */
  protected measured(latency: AgentLatency): void {
    if (Object.keys(latency).length > 0) this.#latency$.next(latency);
  }

  protected override async onDispose(): Promise<void> {
    await this.#session?.close({ timeoutMs: disposeMs });
  }

  #endReply(): void {
    this.#hasAudio = false;
    this.#hasText = false;
  }

  #remember(said: AgentText): void {
    this.history = [...this.history, said].slice(-maxHistory);
    this.#conversation$.next(said);
  }

  #open(): SocketSession {
    if (this.#session) return this.#session;
    this.history = [];
    this.onStart();
    const session = new SocketSession({
      ...this.transportOptions,
      maxMessageBytes,
      maxOutboxBytes: 2 * bytesForMs(waitingMs, this.input),
      // Nobody has told the service to end: another connection goes on.
      classifyClose: () => 'retry',
      // What a new connection needs stands in its opening.
      replay: () => [],
      ...this.sessionOptions(),
    });
    this.#session = session;
    const listening = merge(
      session.messages$.pipe(tap((data) => this.#take(data))),
      session.errors$.pipe(tap((error) => this.report(error))),
      session.connection$.pipe(
        tap((event) => {
          this.#connected(event);
          if (event.type === 'closed' || event.type === 'lost') listening.unsubscribe();
        }),
      ),
    ).subscribe();
    return session;
  }

  #connected(event: ConnectionEvent): void {
    if (event.type === 'connected') {
      this.#metadata$.next(this.output);
      this.onConnection();
    } else if (event.type !== 'connecting') {
      this.#endReply();
      this.#isUserSpeaking = false;
      if (event.type !== 'reconnecting') this.#session = undefined;
      const ended = new VoiceError(`${this.name}: the session has ended`, { code: 'aborted', provider: this.name });
      this.onLoss(event.type === 'reconnecting' ? undefined : event.type === 'lost' ? event.error : ended);
    }
    this.#connection$.next(event);
  }

  #take(data: SocketData): void {
    const message = parseJsonObject(data);
    const type = str(message?.['type']);
    try {
      if (message && type !== undefined) this.receive(type, message);
      else if (typeof data !== 'string') this.agentSpoke(data);
      else this.#warn('ignores a message that is no JSON object with a type');
    } catch (cause) {
      this.#warn(`ignores a malformed message of type ${type ?? 'unknown'}`);
      this.logger.debug(`${this.name}: malformed message`, cause);
    }
  }

  #fits(metadata: AudioMetadata): boolean {
    if (sameFormat(metadata, this.input)) return true;
    try {
      this.configureAudio(metadata);
      return true;
    } catch {
      this.#warn(`hears ${describeFormat(this.input)}, and drops ${describeFormat(metadata)}`);
      return false;
    }
  }
}
