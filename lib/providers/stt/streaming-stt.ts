import { defer, EMPTY, finalize, ReplaySubject, Subject, takeUntil, type Observable, type ObservableInput } from 'rxjs';
import { takes } from '../../audio/accepted.ts';
import { describeFormat, describeFormats, firstOf, sameFormat } from '../../audio/described.ts';
import { durationMs, isPcmLike } from '../../audio/formats.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import type { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import {
  RemoteProvider,
  type AuthType,
  type SocketCredentials,
  type TransportOptions,
} from '../../core/remote-provider.ts';
import type { ConnectionEvent, SpeechEvent, STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { Fifo } from '../../stream/fifo.ts';
import type {
  SocketRequest,
  SocketRequestContext,
  ReconnectingSocketOptions,
} from '../../transport/reconnecting-socket.ts';
import { laterKeys, streamingRules, type StreamingSTTConfig } from './streaming-stt-config.ts';
import type { Explained } from './stt-failure.ts';
import type { STTHost, STTService } from './stt-service.ts';
import type { LateSTTWire, STTDialect, STTFault, STTNote, STTWire } from './stt-wire.ts';
import type { RunnerHost, WireRunner } from './wire-runner.ts';

export type { StreamingSTTConfig } from './streaming-stt-config.ts';

/** Most audio kept before `initialize()`, in milliseconds. */
const earlyMs = 60_000;

/** More bytes a millisecond than any compressed speech has: 16 MiB in a minute. */
const encodedBytesPerMs = 280;

/**
 * Speech-to-text over a WebSocket: what an application sees of an {@link STTWire}, which a `WireRunner` runs.
 *
 * @typeParam C - The provider's configuration.
 * @typeParam S - The wire's state.
 */
export class StreamingSTT<C extends StreamingSTTConfig, S = unknown> extends RemoteProvider<C> implements STTProvider {
  readonly name: string;
  readonly roles = ['stt'] as const;
  readonly type = 'websocket' as const;
  readonly reportsSpeechEnd: boolean;
  protected override readonly credentialKey: string;

  readonly #service: STTService<C>;
  readonly #wire: STTWire<C, S> | LateSTTWire<C, S>;
  /** How the service is spoken to: of a wire that is loaded late, from `initialize()` on. */
  #dialect: STTDialect<C, S> | undefined;
  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  /** What runs the wire: from `initialize()` on. */
  #runner: WireRunner<C, S> | undefined;
  /** Audio that came before. */
  #early: Fifo<AudioChunk> = this.#earlyAudio();
  #format: AudioMetadata | undefined;

  constructor(wire: STTWire<C, S> | LateSTTWire<C, S>, config: C, logger?: Logger) {
    super(config, logger);
    this.name = wire.name;
    this.reportsSpeechEnd = wire.reportsSpeechEnd ?? false;
    this.credentialKey = wire.credentialKey ?? 'apiKey';
    this.#service = wire;
    this.#wire = wire;
    if (!('load' in wire)) this.#dialect = wire;
  }

  /** Formats that `sendAudio` accepts, best first. */
  get accepts(): readonly AudioFormat[] {
    return this.#service.accepts(this.config);
  }

  /** Silence after which the service ends an utterance, in milliseconds; `undefined` if it judges in other ways. */
  get pauseMs(): number | undefined {
    return this.#service.pauseMs?.(this.config);
  }

  /** How the credential is presented: `authType`, else the service's own way. */
  override get authType(): AuthType {
    return this.config.authType ?? this.#service.authType?.(this.config) ?? this.defaultAuthType;
  }

  /** Results, each with the full text of its utterance so far. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.handOut('transcripts$', this.#transcripts$);
  }

  /** The speaker's voice, as the service hears it. Hot. */
  get speech$(): Observable<SpeechEvent> {
    return this.handOut('speech$', this.#speech$);
  }

  /** The state of the connection. Hot; replays the latest event. */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#connection$);
  }

  /**
   * Sets the format that `sendAudio` will be given. Default: that of the first chunk, else the first in `accepts`.
   *
   * @throws VoiceError `unsupported_format` when the service does not support it, `configuration` while connected.
   */
  configureAudio(metadata: AudioMetadata): void {
    if (!this.accepts.some((format) => takes(format, metadata))) {
      const message = `${this.name} does not support ${describeFormat(metadata)}, only ${describeFormats(this.accepts)}`;
      throw this.error(message, { code: 'unsupported_format' });
    }
    const isOther = !sameFormat(this.format, metadata);
    if (isOther && this.#runner?.isListening) {
      const message = `${this.name} uses ${describeFormat(this.format)}: disconnect() before configureAudio()`;
      throw this.error(message, { code: 'configuration' });
    }
    this.#format = metadata;
    if (isOther) this.#forget();
  }

  /**
   * Opens a session, starting with audio that arrived earlier (up to 60 s). Concurrent calls share it.
   *
   * @throws VoiceError when the service refuses for good.
   */
  connect(): Promise<void> {
    this.assertReady('connect');
    return this.#runner?.connect() ?? Promise.resolve();
  }

  /** Lets the service finish, waits for the last results, closes, and drops queued audio: all within `closeTimeoutMs`. */
  async disconnect(): Promise<void> {
    this.#early = this.#earlyAudio();
    await this.#runner?.stop({ timeoutMs: this.config.closeTimeoutMs ?? 1_000 });
  }

  /** Asks for the final result of the audio so far: it always comes, at once and without text if nothing is pending. */
  finalize(): void {
    this.#runner?.finalize();
  }

  /** Sends audio; keeps up to 60 s while there is no connection. */
  sendAudio(chunk: AudioChunk): void {
    if (chunk.data.length === 0) return;
    if (this.#runner) this.#runner.sendAudio(chunk);
    // The caller may use its buffer again; `slice()` of Node's Buffer would copy nothing.
    else this.#early.push({ ...chunk, data: new Uint8Array(chunk.data) });
  }

  /**
   * Transcribes one stream of audio: connects at its first chunk, sends it, completes with the last result. Fails when
   * the provider is already connected, or cannot continue. Unsubscribing ends the session. Cold.
   */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    return defer(() => {
      this.assertReady('transcribe');
      const runner = this.#runner;
      // `initialize()` has set it.
      if (!runner) return EMPTY;
      if (runner.isListening) {
        throw this.error(`${this.name} is connected: it transcribes one stream at a time`, { code: 'configuration' });
      }
      return this.transcripts$.pipe(
        takeUntil(runner.record(audio$, this)),
        finalize(() => runner.terminate()),
      );
    });
  }

  protected get defaultBaseUrl(): string | undefined {
    return this.#service.baseUrl(this.config);
  }

  /** Runs one of the wire's `commands`; false, doing nothing, when there is no session. */
  protected tell(command: string): boolean {
    return this.#runner?.tell(command) ?? false;
  }

  /** Address and credential of one connection. Default: from the wire's `path` and `query`. */
  protected async request(context: SocketRequestContext): Promise<SocketRequest> {
    const dialect = this.#dialect;
    if (dialect?.request) return dialect.request(context);
    const url = this.resolveSocketUrl(dialect?.path ?? '', this.#runner && dialect?.query?.(this.#runner.context));
    return { url, ...(await this.resolveSocketCredentials()) };
  }

  /** Connection options beyond the wire's. */
  protected socketOptions(): Partial<ReconnectingSocketOptions> {
    return {};
  }

  /** An error with the id of the session, if there is one. */
  protected override error(message: string, options: Parameters<RemoteProvider<C>['error']>[1]): VoiceError {
    return super.error(message, { requestId: this.#runner?.requestId, ...options });
  }

  /** Converts a fault of the service to an error. */
  protected failure(fault: STTFault): VoiceError {
    // Only what listens hears of faults.
    const explained: Explained = this.#runner?.explained(fault) ?? { text: 'it is not initialized', code: 'not_ready' };
    const { text, ...options } = explained;
    const error = this.error(`${this.name}: ${text}`, options);
    const facts = this.#dialect?.factsOf?.(fault, error);
    const { message, code, status, cause } = error;
    return facts ? this.error(message, { status, cause, ...facts, code: facts.code ?? code }) : error;
  }

  /** Takes what the service tells besides its results. Default: drops it. */
  protected onNote(_note: STTNote): void {}

  protected override get transportOptions(): TransportOptions {
    const options = super.transportOptions;
    return { ...options, connectTimeoutMs: options.connectTimeoutMs ?? this.#service.connectTimeoutMs?.(this.config) };
  }

  protected override socketCredentials(key: string): SocketCredentials {
    return this.#dialect?.credentials?.(key, this.config, this.authType) ?? super.socketCredentials(key);
  }

  protected override configProblem(): string | undefined {
    const problem = configProblem(this.config, { ...streamingRules, ...this.#service.rules }, this.advise);
    return problem ?? this.#service.conflict?.(this.config, this.isProxyMode);
  }

  protected override async onInitialize(_signal: AbortSignal): Promise<void> {
    // Before the credential, whose key may be misspelt.
    this.assertConfig();
    this.assertAuth();
    this.resolveUrl('');
    this.reportRetiring(this.#service);
    if (this.#runner) return;
    // Loaded here, so that a page can render without it.
    const wire = this.#wire;
    const code = new OnDemand(this.name, () => import('./wire-runner.ts'));
    const dialect = 'load' in wire ? wire.load(this.#dialectHost) : wire;
    const [{ WireRunner }, loaded] = await Promise.all([code.load(), dialect]);
    this.#dialect = loaded;
    this.#runner = new WireRunner(this.#host(Object.assign({}, this.#service, loaded)));
    for (let chunk = this.#early.shift(); chunk; chunk = this.#early.shift()) this.#runner.sendAudio(chunk);
  }

  protected override async onDispose(): Promise<void> {
    this.#early = this.#earlyAudio();
    await this.#runner?.dispose();
  }

  protected override onConfigUpdate(changed: Partial<C>): void {
    if (this.initialized) this.reportRetiring(this.#service);
    const told = Object.entries(changed).filter(
      ([key]) => !laterKeys.has(key) && !this.#service.ownKeys?.includes(key),
    );
    if (told.length > 0) this.#runner?.change(Object.fromEntries(told) as Partial<C>);
  }

  /** The format of the audio being sent. */
  protected get format(): AudioMetadata {
    return this.#format ?? firstOf(this.accepts);
  }

  #forget(): void {
    this.#early = this.#earlyAudio();
    this.#runner?.reset();
  }

  /** What keeps audio until there is a runner; it reports once that it could not keep all of it. */
  #earlyAudio(): Fifo<AudioChunk> {
    let isTold = false;
    const sizeOf = ({ data, metadata = this.format }: AudioChunk): number =>
      isPcmLike(metadata.encoding) ? durationMs(data.length, metadata) : data.length / encodedBytesPerMs;
    const onDrop = (chunks: readonly AudioChunk[]): void => {
      this.dropped(chunks.reduce((ms, chunk) => ms + sizeOf(chunk), 0));
      if (isTold) return;
      isTold = true;
      const message = `${this.name}: more than ${earlyMs / 1000} s of audio before initialize(): the oldest is dropped`;
      this.report(this.error(message, { code: 'overflow', recoverable: true }));
    };
    return new Fifo({ limit: earlyMs, sizeOf, onDrop });
  }

  get #dialectHost(): STTHost<C> {
    return {
      name: this.name,
      config: () => this.config,
      format: () => this.format,
      isProxyMode: () => this.isProxyMode,
      url: (path, query) => this.resolveUrl(path, query),
      socketUrl: (path, query) => this.resolveSocketUrl(path, query),
      assertSecure: (url) => this.assertSecure(url),
      credential: () => this.resolveApiKey(),
      socketCredentials: () => this.resolveSocketCredentials(),
      remember: (secret) => this.freshCredential(secret),
      transport: () => this.transportOptions,
      error: (text, options) => this.error(`${this.name}: ${text}`, options),
      warn: (text) => this.logger.warn(`${this.name}: ${text}`),
    };
  }

  #host(wire: STTWire<C, S>): RunnerHost<C, S> {
    return {
      wire,
      config: () => this.config,
      format: () => this.format,
      configureAudio: (metadata) => this.configureAudio(metadata),
      transport: () => this.transportOptions,
      socketOptions: () => this.socketOptions(),
      request: (context) => this.request(context),
      failure: (fault) => this.failure(fault),
      error: (message, options) => this.error(message, options),
      report: (error) => this.report(error),
      dropped: (ms) => this.dropped(ms),
      log: (text) => this.logger.debug(`${this.name}: ${text}`),
      note: (note) => this.onNote(note),
      transcript: (result) => this.#transcripts$.next(result),
      speech: (event) => this.#speech$.next(event),
      connection: (event) => this.#connection$.next(event),
    };
  }
}
