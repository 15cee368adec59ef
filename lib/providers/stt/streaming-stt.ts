import {
  asyncScheduler,
  defer,
  finalize,
  mergeMap,
  ReplaySubject,
  Subject,
  type Subscription,
  switchMap,
  takeUntil,
  tap,
  throwError,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import { bytesForMs, describeFormat, describeFormats, sameFormat } from '../../audio/formats.ts';
import { firstOf, takes } from '../../audio/negotiate.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem } from '../../core/config-rule.ts';
import type { VoiceError } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import {
  RemoteProvider,
  type AuthType,
  type SocketCredentials,
  type TransportOptions,
} from '../../core/remote-provider.ts';
import type { ConnectionEvent, SpeechEvent, STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { eachEffect } from '../../stream/fold.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import type {
  SocketCloseOptions,
  SocketRequest,
  SocketRequestContext,
  ReconnectingSocket,
  ReconnectingSocketOptions,
} from '../../transport/reconnecting-socket.ts';
import { AudioUplink, waitingMs, type CatchUp } from './audio-uplink.ts';
import { enactor } from './enact-hearing.ts';
import { hear, silentHearing, type Hearing, type HearingEffect, type HearingInput } from './hearing.ts';
import { disposeMs, sendAll, type Listening } from './listening.ts';
import { laterKeys, streamingRules, type StreamingSTTConfig } from './streaming-stt-config.ts';
import type { STTContext, STTFault, STTNote, STTWire } from './stt-wire.ts';
import { beginning, explained, listen, liveContext, type Say, type WireHost } from './wire-connection.ts';

export type { StreamingSTTConfig } from './streaming-stt-config.ts';

/**
 * Speech-to-text over a WebSocket: runs an {@link STTWire}. Folds inputs (messages, connections, operations, time)
 * through the wire and carries out its effects. Keeps audio until it is final, and sends it again after a loss.
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

  readonly #wire: STTWire<C, S>;
  readonly #context: STTContext<C>;
  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #lost$ = new Subject<VoiceError>();
  readonly #malformedOnce = oncePerKind((kind) => this.#warn(` ${kind}`, { code: 'protocol' }));
  readonly #uplink = new AudioUplink({
    format: () => this.format,
    scheduler: () => this.#scheduler,
    minFrameMs: () => this.#wire.minFrameMs ?? 0,
    catchUp: () => this.#catchUp,
    encode: (frame) => this.#wire.encode?.(frame, this.#hearing.wire, this.#context) ?? frame,
    isReady: () => this.#socket?.isReady ?? false,
    send: (data) => void this.#socket?.send(data),
    onSent: (frames) => this.#hear({ type: 'sent', frames }),
  });
  readonly #enact = enactor({
    uplink: this.#uplink,
    socket: () => this.#socket,
    listening: () => this.#listening,
    transcript: (result) => this.#transcripts$.next(result),
    speech: (event) => this.#speech$.next(event),
    note: (note) => this.onNote(note),
    beginning: () => beginning(this.#host),
    failure: (fault) => this.failure(fault),
    awaitFinal: (ask, ms) => this.#awaitFinal(ask, ms),
    warn: (text, options) => this.#warn(text, options),
    malformed: this.#malformedOnce,
    log: (text) => this.logger.debug(`${this.name}: ${text}`),
    dead: (effect) => this.#replaceDead(effect),
  });
  #hearing: Hearing<S>;
  #listening: Listening | undefined;
  #overdue: Subscription | undefined;
  #stopping: Promise<boolean> | undefined;
  #format: AudioMetadata | undefined;

  constructor(wire: STTWire<C, S>, config: C, logger?: Logger) {
    super(config, logger);
    this.name = wire.name;
    this.reportsSpeechEnd = wire.reportsSpeechEnd ?? false;
    this.credentialKey = wire.credentialKey ?? 'apiKey';
    this.#wire = wire;
    this.#hearing = silentHearing(wire.start());
    this.#context = liveContext<C>(this.#uplink, {
      config: () => this.config,
      format: () => this.format,
      now: () => this.#scheduler.now(),
      isEnding: () => this.#listening?.isEnding ?? false,
      hearing: () => this.#hearing,
    });
  }

  /** Formats that `sendAudio` accepts, best first. */
  get accepts(): readonly AudioFormat[] {
    return this.#wire.accepts(this.config);
  }

  /** Silence after which the service ends an utterance, in milliseconds; `undefined` if it judges in other ways. */
  get pauseMs(): number | undefined {
    return this.#wire.pauseMs?.(this.config);
  }

  /** How the credential is presented: `authType`, else the service's own way. */
  override get authType(): AuthType {
    return this.config.authType ?? this.#wire.authType?.(this.config) ?? this.defaultAuthType;
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
    if (isOther && this.#listening) {
      const message = `${this.name} uses ${describeFormat(this.format)}: disconnect() before configureAudio()`;
      throw this.error(message, { code: 'configuration' });
    }
    this.#format = metadata;
    if (isOther) this.#uplink.reset();
  }

  /**
   * Opens a session, starting with audio that arrived earlier (up to 60 s). Concurrent calls share it.
   *
   * @throws VoiceError when the service refuses for good.
   */
  connect(): Promise<void> {
    this.assertReady('connect');
    if (this.#stopping) return this.#stopping.then(() => this.connect());
    return (this.#listening ??= this.#listen()).socket.open();
  }

  /** Lets the service finish, waits for the last results (`closeTimeoutMs`), closes, and drops queued audio. */
  async disconnect(): Promise<void> {
    await this.#stop({ timeoutMs: this.config.closeTimeoutMs ?? 1_000 });
  }

  /** Asks for the final result of the audio so far: it always comes, at once and without text if nothing is pending. */
  finalize(): void {
    const isReady = this.#socket?.isReady;
    if (isReady !== undefined) this.#hear({ type: 'finalize', isPending: this.#uplink.hasSound, isReady });
  }

  /** Sends audio; keeps up to 60 s while there is no connection. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (data.length === 0 || (metadata && !this.#fits(metadata))) return;
    if (!this.#uplink.push(data)) {
      const message = `: more than ${waitingMs / 1000} s of audio queued for a connection: the oldest is dropped`;
      this.#warn(message, { code: 'overflow' });
    }
    if (this.#wire.hear) this.#hear({ type: 'audio', data });
  }

  /**
   * Transcribes one stream of audio: connects at its first chunk, sends it, completes with the last result. Fails when
   * the provider is already connected, or cannot continue. Unsubscribing ends the session. Cold.
   */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    return defer(() => {
      this.assertReady('transcribe');
      if (this.#listening) {
        throw this.error(`${this.name} is connected: it transcribes one stream at a time`, { code: 'configuration' });
      }
      const done$ = sendAll(audio$, this).pipe(switchMap(() => this.#finish()));
      return this.transcripts$.pipe(
        takeUntil(merge(done$, this.#lost$.pipe(mergeMap((error) => throwError(() => error))))),
        finalize(() => this.#socket?.terminate()),
      );
    });
  }

  protected get defaultBaseUrl(): string | undefined {
    return this.#wire.baseUrl(this.config);
  }

  /** Runs one of the wire's `commands`; false, doing nothing, when there is no session. */
  protected tell(command: string): boolean {
    if (!this.#listening) return false;
    this.#hear({ type: 'command', name: command });
    return true;
  }

  /** Address and credential of one connection. Default: from the wire's `path` and `query`. */
  protected async request(_context: SocketRequestContext): Promise<SocketRequest> {
    const url = this.resolveSocketUrl(this.#wire.path ?? '', this.#wire.query?.(this.#context));
    return { url, ...(await this.resolveSocketCredentials()) };
  }

  /** Connection options beyond the wire's. */
  protected socketOptions(): Partial<ReconnectingSocketOptions> {
    return {};
  }

  /** An error with the id of the session, if there is one. */
  protected override error(message: string, options: Parameters<RemoteProvider<C>['error']>[1]): VoiceError {
    return super.error(message, { requestId: this.#hearing.requestId, ...options });
  }

  /** Converts a fault of the service to an error. */
  protected failure(fault: STTFault): VoiceError {
    const { text, ...options } = explained(fault, this.#wire.failures, (sentence) => this.redact(sentence));
    return this.error(`${this.name}: ${text}`, options);
  }

  /** Takes what the service tells besides its results. Default: drops it. */
  protected onNote(_note: STTNote): void {}

  protected override get transportOptions(): TransportOptions {
    const options = super.transportOptions;
    return { ...options, connectTimeoutMs: options.connectTimeoutMs ?? this.#wire.connectTimeoutMs?.(this.config) };
  }

  protected override socketCredentials(key: string): SocketCredentials {
    return this.#wire.credentials?.(key, this.config, this.authType) ?? super.socketCredentials(key);
  }

  protected override configProblem(): string | undefined {
    const problem = configProblem(this.config, { ...streamingRules, ...this.#wire.rules }, this.advise);
    return problem ?? this.#wire.conflict?.(this.config, this.isProxyMode);
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    this.assertAuth();
    this.assertConfig();
    this.resolveUrl('');
    this.reportRetiring(this.#wire);
  }

  protected override async onDispose(): Promise<void> {
    if (this.#stopping) this.#socket?.terminate();
    await this.#stop({ timeoutMs: disposeMs });
  }

  protected override onConfigUpdate(changed: Partial<C>): void {
    if (this.initialized) this.reportRetiring(this.#wire);
    const told = Object.entries(changed).filter(([key]) => !laterKeys.has(key) && !this.#wire.ownKeys?.includes(key));
    if (!this.#listening || told.length === 0) return;
    this.#hear({ type: 'changed', changed: Object.fromEntries(told) as Partial<C> });
  }

  get #host(): WireHost<C, S> {
    return {
      wire: this.#wire,
      uplink: this.#uplink,
      context: this.#context,
      scheduler: this.#scheduler,
      hearing: () => this.#hearing,
      hear: (input, say) => this.#hear(input, say),
      request: (context) => this.request(context),
      failure: (fault) => this.failure(fault),
      onError: (error) => this.report(error),
      onConnection: (event) => this.#onConnection(event),
    };
  }

  get #socket(): ReconnectingSocket | undefined {
    return this.#listening?.socket;
  }

  get #scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  /** The format of the audio being sent. */
  protected get format(): AudioMetadata {
    return this.#format ?? firstOf(this.accepts);
  }

  /** Limits on queued audio; none for a connection that only says goodbye. */
  get #catchUp(): CatchUp | undefined {
    const { catchUpSpeed: speed = this.#wire.catchUpSpeed } = this.config;
    return !speed || this.#listening?.isLeaving ? undefined : { speed, endingMs: this.#wire.endingMs?.(this.config) };
  }

  /** Folds one input: the state advances before its effects run, so that whoever reacts to one sees the new state. */
  #hear(input: HearingInput<C>, say: Say = (data) => void this.#socket?.send(data)): void {
    const step = hear(this.#wire, this.#hearing, input, this.#context);
    this.#hearing = step[0];
    eachEffect(step, (effect) => this.#enact(effect, say));
  }

  #listen(): Listening {
    const maxOutboxBytes = this.#uplink.isPcm ? 2 * bytesForMs(waitingMs, this.format) : undefined;
    const common = { ...this.transportOptions, reconnect: this.config.reconnect, maxOutboxBytes };
    return listen(this.#host, common, this.socketOptions());
  }

  /** A service that is not connected, or still catches up, has more time. */
  #awaitFinal(ask: number, ms: number): void {
    this.#overdue?.unsubscribe();
    const onOverdue = (): void => {
      if (this.#listening && (!this.#socket?.isReady || this.#uplink.isWaiting)) this.#awaitFinal(ask, ms);
      else this.#hear({ type: 'overdue', ask });
    };
    this.#overdue = patientTimer(ms, this.#scheduler).pipe(tap(onOverdue)).subscribe();
  }

  #onConnection(event: ConnectionEvent): void {
    if (event.type === 'closed' || event.type === 'lost') {
      this.#overdue?.unsubscribe();
      this.#hear({ type: 'end' });
      this.#listening = undefined;
    }
    // After a loss, the next session receives what this one did not.
    if (event.type === 'closed') this.#uplink.reset();
    if (event.type === 'lost') this.#lost$.next(event.error);
    this.#connection$.next(event);
  }

  /** Ends the session; true when all its results have arrived. */
  async #stop(options: SocketCloseOptions): Promise<boolean> {
    if (!this.#listening) {
      // Audio kept after a loss is not meant for a new start.
      this.#uplink.reset();
      return true;
    }
    this.#stopping ??= this.#listening.end(options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** Ends the session of a recording, of which every word matters. */
  async #finish(): Promise<void> {
    // However fast the audio was sent, the service may process it in real time.
    const timeoutMs = (this.config.closeTimeoutMs ?? 1_000) + this.#uplink.pendingMs;
    if (await this.#stop({ timeoutMs, reconnect: true })) return;
    const message = `${this.name}: the last results did not arrive within ${Math.round(timeoutMs)} ms`;
    throw this.error(message, { code: 'timeout', recoverable: true });
  }

  /** Gives up a connection that receives speech but never answers (docs/faults.md, F10). */
  #replaceDead({ isFinal, limitMs }: Extract<HearingEffect, { type: 'dead' }>): void {
    const message = `${this.name}: no answer to ${limitMs} ms of speech: treating the connection as dead`;
    const error = this.error(message, { code: 'timeout', recoverable: !isFinal });
    if (!isFinal) this.report(error);
    this.#socket?.reconnect(error);
  }

  #fits(metadata: AudioMetadata): boolean {
    if (sameFormat(metadata, this.format)) return true;
    try {
      this.configureAudio(metadata);
      return true;
    } catch {
      this.#malformedOnce(`expects ${describeFormat(this.format)}; dropping ${describeFormat(metadata)}`);
      return false;
    }
  }

  #warn(text: string, { code }: Pick<VoiceError, 'code'>): void {
    this.report(this.error(`${this.name}${text}`, { code, recoverable: true }));
  }
}
