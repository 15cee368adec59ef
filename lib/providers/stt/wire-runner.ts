import {
  asyncScheduler,
  mergeMap,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
  Subject,
  type Subscription,
  switchMap,
  tap,
  throwError,
} from 'rxjs';
import { describeFormat, sameFormat } from '../../audio/described.ts';
import { bytesForMs } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { VoiceError } from '../../core/errors.ts';
import { oncePerKind } from '../../core/application-code.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { ConnectionEvent, SpeechEvent, STTProvider, TranscriptionResult } from '../../core/roles.ts';
import { eachEffect } from '../../stream/fold.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import type {
  ReconnectingSocket,
  ReconnectingSocketOptions,
  SocketRequest,
  SocketRequestContext,
} from '../../transport/reconnecting-socket.ts';
import { AudioUplink, waitingMs, type CatchUp } from './audio-uplink.ts';
import { enactor } from './enact-hearing.ts';
import { hear, silentHearing, type Hearing, type HearingEffect, type HearingInput } from './hearing.ts';
import { disposeMs, sendAll, type EndOptions, type Listening } from './listening.ts';
import type { StreamingSTTConfig } from './streaming-stt-config.ts';
import { explained, type Explained } from './stt-failure.ts';
import type { STTContext, STTFault, STTNote, STTWire } from './stt-wire.ts';
import { beginning, listen, LiveContext, type Say, type WireHost } from './wire-connection.ts';

/** A provider, as far as its wire is run for it. */
export interface RunnerHost<C extends StreamingSTTConfig, S> {
  readonly wire: STTWire<C, S>;
  readonly config: () => Readonly<C>;
  /** The format of the audio being sent. */
  readonly format: () => AudioMetadata;
  /** Changes it; throws when the service does not support it. */
  readonly configureAudio: (metadata: AudioMetadata) => void;
  readonly transport: () => TransportOptions;
  /** Connection options beyond the wire's. */
  readonly socketOptions: () => Partial<ReconnectingSocketOptions>;
  readonly request: (context: SocketRequestContext) => Promise<SocketRequest>;
  readonly failure: (fault: STTFault) => VoiceError;
  readonly error: (
    message: string,
    options: Pick<VoiceError, 'code'> & { readonly recoverable?: boolean },
  ) => VoiceError;
  readonly report: (error: VoiceError) => void;
  readonly dropped: (ms: number) => void;
  readonly log: (text: string) => void;
  readonly note: (note: STTNote) => void;
  readonly transcript: (result: TranscriptionResult) => void;
  readonly speech: (event: SpeechEvent) => void;
  readonly connection: (event: ConnectionEvent) => void;
}

/**
 * Runs an {@link STTWire}: folds inputs (messages, connections, operations, time) through it and carries out its effects.
 * Keeps audio until it is final, and sends it again after a loss. Loaded during `initialize()`.
 */
export class WireRunner<C extends StreamingSTTConfig, S> {
  readonly #host: RunnerHost<C, S>;
  readonly #wire: STTWire<C, S>;
  /** What the wire can read. */
  readonly context: STTContext<C>;
  readonly #lost$ = new Subject<VoiceError>();
  readonly #malformedOnce = oncePerKind((kind) => this.#warn(` ${kind}`, { code: 'protocol', cause: this.#thrown }));
  /** What was thrown at the latest of them. */
  #thrown: unknown;
  readonly #uplink = new AudioUplink({
    format: () => this.#host.format(),
    scheduler: () => this.#scheduler,
    minFrameMs: () => this.#wire.minFrameMs ?? 0,
    catchUp: () => this.#catchUp,
    encode: (frame) => this.#wire.encode?.(frame, this.#hearing.wire, this.context) ?? frame,
    isReady: () => this.#socket?.isReady ?? false,
    send: (data) => void this.#socket?.send(data),
    onDropped: (ms) => this.#host.dropped(ms),
    onSent: (frames) => this.#hear({ type: 'sent', frames }),
  });
  readonly #enact: ReturnType<typeof enactor>;
  #hearing: Hearing<S>;
  #listening: Listening | undefined;
  #overdue: Subscription | undefined;
  #stopping: Promise<boolean> | undefined;

  constructor(host: RunnerHost<C, S>) {
    this.#host = host;
    this.#wire = host.wire;
    this.#hearing = silentHearing(host.wire.start());
    this.context = new LiveContext<C>(this.#uplink, {
      config: host.config,
      format: host.format,
      now: () => this.#scheduler.now(),
      isEnding: () => this.#listening?.isEnding ?? false,
      hearing: () => this.#hearing,
    });
    this.#enact = enactor({
      uplink: this.#uplink,
      socket: () => this.#socket,
      listening: () => this.#listening,
      transcript: host.transcript,
      speech: host.speech,
      note: host.note,
      beginning: () => beginning(this.#wireHost),
      failure: host.failure,
      awaitFinal: (ask, ms) => this.#awaitFinal(ask, ms),
      warn: (text, options) => this.#warn(text, options),
      malformed: (kind, cause) => this.#malformed(kind, cause),
      log: host.log,
      dead: (effect) => this.#replaceDead(effect),
    });
  }

  /** Whether there is a session. */
  get isListening(): boolean {
    return this.#listening !== undefined;
  }

  /** The service's id of the session, if there is one. */
  get requestId(): string | undefined {
    return this.#hearing.requestId;
  }

  /** Explains a fault of the service. */
  explained(fault: STTFault): Explained {
    return explained(fault, this.#wire.failures, this.#host.transport().redact);
  }

  /** Drops queued audio, which has another format. */
  reset(): void {
    this.#uplink.reset();
  }

  /** Opens a session, starting with audio that arrived earlier. Concurrent calls share it. */
  connect(): Promise<void> {
    if (this.#stopping) return this.#stopping.then(() => this.connect());
    return (this.#listening ??= this.#listen()).socket.open();
  }

  /** Asks for the final result of the audio so far. */
  finalize(): void {
    const isReady = this.#socket?.isReady;
    if (isReady !== undefined) this.#hear({ type: 'finalize', isPending: this.#uplink.hasSound, isReady });
  }

  /** Sends audio, or keeps it. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (metadata && !this.#fits(metadata)) return;
    if (!this.#uplink.push(data)) {
      const message = `: more than ${waitingMs / 1000} s of audio queued for a connection: the oldest is dropped`;
      this.#warn(message, { code: 'overflow' });
    }
    if (this.#wire.hear) this.#hear({ type: 'audio', data });
  }

  /** Sends a recording, connecting at its first chunk. Emits once its last result has arrived; fails when it is lost. */
  record(audio$: ObservableInput<AudioChunk>, stt: Pick<STTProvider, 'connect' | 'sendAudio'>): Observable<unknown> {
    const done$ = sendAll(audio$, stt).pipe(switchMap(() => this.#finish()));
    return merge(done$, this.#lost$.pipe(mergeMap((error) => throwError(() => error))));
  }

  /** Runs one of the wire's `commands`; false, doing nothing, when there is no session. */
  tell(command: string): boolean {
    if (!this.#listening) return false;
    this.#hear({ type: 'command', name: command });
    return true;
  }

  /** Keys of the configuration have changed that the service is told of. */
  change(changed: Partial<C>): void {
    if (this.#listening) this.#hear({ type: 'changed', changed });
  }

  /** Ends the session; true when all its results have arrived. */
  async stop(options: EndOptions): Promise<boolean> {
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

  /** Ends the session soon. */
  async dispose(): Promise<void> {
    if (this.#stopping) {
      this.terminate();
      await this.#stopping;
    }
    // The session, or that of a connect() which waited for the end of another.
    await this.stop({ timeoutMs: disposeMs });
  }

  /** Ends the session at once. */
  terminate(): void {
    this.#socket?.terminate();
  }

  get #wireHost(): WireHost<C, S> {
    return {
      wire: this.#wire,
      uplink: this.#uplink,
      context: this.context,
      scheduler: this.#scheduler,
      hearing: () => this.#hearing,
      hear: (input, say) => this.#hear(input, say),
      request: this.#host.request,
      failure: this.#host.failure,
      onError: this.#host.report,
      onConnection: (event) => this.#onConnection(event),
    };
  }

  get #socket(): ReconnectingSocket | undefined {
    return this.#listening?.socket;
  }

  get #scheduler(): SchedulerLike {
    return this.#host.config().scheduler ?? asyncScheduler;
  }

  /** Limits on queued audio; none for a connection that only says goodbye. */
  get #catchUp(): CatchUp | undefined {
    const { catchUpSpeed: speed = this.#wire.catchUpSpeed } = this.#host.config();
    return !speed || this.#listening?.isLeaving
      ? undefined
      : { speed, endingMs: this.#wire.endingMs?.(this.#host.config()) };
  }

  /** Folds one input: the state advances before its effects run, so that whoever reacts to one sees the new state. */
  #hear(input: HearingInput<C>, say: Say = (data) => void this.#socket?.send(data)): void {
    const step = hear(this.#wire, this.#hearing, input, this.context);
    this.#hearing = step[0];
    eachEffect(step, (effect) => this.#enact(effect, say));
  }

  #listen(): Listening {
    const { config, format, transport, socketOptions } = this.#host;
    const maxOutboxBytes = this.#uplink.isPcm ? 2 * bytesForMs(waitingMs, format()) : undefined;
    const common = { ...transport(), reconnect: config().reconnect, maxOutboxBytes };
    return listen(this.#wireHost, common, socketOptions());
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
    this.#host.connection(event);
  }

  /** Ends the session of a recording, of which every word matters. */
  async #finish(): Promise<void> {
    // However fast the audio was sent, the service may process it in real time.
    const timeoutMs = (this.#host.config().closeTimeoutMs ?? 1_000) + this.#uplink.pendingMs;
    if (await this.stop({ timeoutMs, reconnect: true })) return;
    const message = `${this.#wire.name}: the last results did not arrive within ${Math.round(timeoutMs)} ms`;
    throw this.#host.error(message, { code: 'timeout', recoverable: true });
  }

  /** Gives up a connection that receives speech but never answers (docs/faults.md, F10). */
  #replaceDead({ isFinal, limitMs }: Extract<HearingEffect, { type: 'dead' }>): void {
    const message = `${this.#wire.name}: no answer to ${limitMs} ms of speech: treating the connection as dead`;
    const error = this.#host.error(message, { code: 'timeout', recoverable: !isFinal });
    if (!isFinal) this.#host.report(error);
    this.#socket?.reconnect(error);
  }

  #fits(metadata: AudioMetadata): boolean {
    if (sameFormat(metadata, this.#host.format())) return true;
    try {
      this.#host.configureAudio(metadata);
      return true;
    } catch (cause) {
      this.#malformed(`expects ${describeFormat(this.#host.format())}; dropping ${describeFormat(metadata)}`, cause);
      return false;
    }
  }

  #malformed(kind: string, cause: unknown): void {
    this.#thrown = cause;
    this.#malformedOnce(kind);
  }

  #warn(text: string, options: Pick<VoiceError, 'code'> & { readonly cause?: unknown }): void {
    this.#host.report(this.#host.error(`${this.#wire.name}${text}`, { ...options, recoverable: true }));
  }
}
