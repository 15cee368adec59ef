import {
  defer,
  finalize,
  merge,
  mergeMap,
  ReplaySubject,
  Subject,
  switchMap,
  takeUntil,
  throwError,
  type Observable,
  type ObservableInput,
} from 'rxjs';
import { bytesForMs, describeFormat, describeFormats, sameFormat } from '../../audio/formats.ts';
import { takes } from '../../audio/negotiate.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { VoiceError } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type {
  ConnectionEvent,
  SpeechEvent,
  STTProvider,
  TranscribedWord,
  TranscriptionResult,
} from '../../core/roles.ts';
import type { SocketCloseOptions, SocketData, SocketSession } from '../../transport/socket-session.ts';
import { AudioLine, waitingMs } from './streaming/audio-line.ts';
import { disposeMs, ListeningSession } from './streaming/listening-session.ts';
import { laterKeys, type StreamingSTTConfig } from './streaming/streaming-stt-config.ts';
import { sendAll } from './streaming/send-all.ts';
import { StreamingWire } from './streaming/streaming-wire.ts';
import { transcribedWords } from './streaming/transcribed-words.ts';
import { VoiceWatch } from './streaming/voice-watch.ts';

export type { Failure, Failures } from './streaming/service-failure.ts';
export type { StreamingSTTConfig } from './streaming/streaming-stt-config.ts';

/** Connections in a row that hear a voice and say nothing, after which the session is given up. */
const maxAlarms = 3;

/**
 * Base of the speech-to-text providers that stream over a WebSocket. It owns the session: audio is kept until the
 * service has made it final, and heard again by the next connection when one is lost; times count from the start of all
 * audio, over any number of connections. A provider adds its address, its messages and what they mean.
 */
export abstract class StreamingSTT<C extends StreamingSTTConfig> extends StreamingWire<C> implements STTProvider {
  readonly roles = ['stt'] as const;
  readonly type = 'websocket' as const;

  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #lost$ = new Subject<VoiceError>();
  #session: ListeningSession | undefined;
  #stopping: Promise<boolean> | undefined;
  #format: AudioMetadata | undefined;
  readonly #line = new AudioLine({
    format: () => this.format,
    scheduler: () => this.scheduler,
    minFrameMs: () => this.minFrameMs,
    speed: () => this.#speed,
    encode: (frame) => this.encodeAudio(frame),
    isReady: () => this.#socket?.isReady ?? false,
    send: (data) => void this.#socket?.send(data),
    onSent: (frames) => this.#expectAnswer(frames),
  });
  readonly #watch = new VoiceWatch();
  /** What the connection had been sent when it was last asked for quiet. */
  #heardMs: number = 0;

  /** Results, each with the whole text of its utterance so far. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.utterances.transcripts$;
  }

  /** The speaker's voice, as the service hears it. Hot. */
  get speech$(): Observable<SpeechEvent> {
    return this.utterances.speech$;
  }

  /** The service's connection; the latest event first. Hot. */
  get connection$(): Observable<ConnectionEvent> {
    return this.#connection$.asObservable();
  }

  /**
   * Says what `sendAudio` will bring. Default: the format of the first chunk, else the first that is accepted.
   *
   * @throws VoiceError `unsupported_format` when the service does not take it, `configuration` while connected.
   */
  configureAudio(metadata: AudioMetadata): void {
    if (!this.accepts.some((format) => takes(format, metadata))) {
      throw this.error(`${this.name} does not take ${describeFormat(metadata)}, but ${describeFormats(this.accepts)}`, {
        code: 'unsupported_format',
      });
    }
    const isOther = !sameFormat(this.format, metadata);
    if (isOther && this.#session) {
      const message = `${this.name} hears ${describeFormat(this.format)}: disconnect() before another configureAudio()`;
      throw this.error(message, { code: 'configuration' });
    }
    this.#format = metadata;
    if (isOther) this.#line.reset();
  }

  /**
   * Opens the service's session; audio that came earlier (up to 60 s) is sent first. Calls at the same time share it.
   *
   * @throws VoiceError when the service refuses for good.
   */
  connect(): Promise<void> {
    this.assertReady('connect');
    if (this.#stopping) return this.#stopping.then(() => this.connect());
    return (this.#session ??= this.#start()).socket.open();
  }

  /** Has the service finish what it heard, waits for the last results (`closeTimeoutMs`), closes; forgets audio that waits. */
  async disconnect(): Promise<void> {
    await this.#stop({ timeoutMs: this.#closeTimeoutMs });
  }

  /** Sends audio; while there is no connection it is kept, up to 60 s. */
  sendAudio({ data, metadata }: AudioChunk): void {
    if (data.length === 0 || (metadata && !this.#fits(metadata))) return;
    if (this.#line.push(data)) return;
    const message = `${this.name}: more than ${waitingMs / 1000} s of audio wait for a connection: the oldest is lost`;
    this.report(this.error(message, { code: 'overflow', recoverable: true }));
  }

  /**
   * The results for one stream of audio: connects at its first chunk, sends it, completes with the last result. Fails
   * when the provider is in use, or cannot go on. Unsubscribing ends the session. Cold.
   */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    return defer(() => {
      this.assertReady('transcribe');
      if (this.#session) {
        throw this.error(`${this.name} is connected: it hears one stream at a time`, { code: 'configuration' });
      }
      const done$ = sendAll(audio$, this).pipe(switchMap(() => this.#finish()));
      const lost$ = this.#lost$.pipe(mergeMap((error) => throwError(() => error)));
      return this.transcripts$.pipe(
        takeUntil(merge(done$, lost$)),
        finalize(() => this.#socket?.terminate()),
      );
    });
  }

  /** The format of the audio that is sent. */
  protected get format(): AudioMetadata {
    if (this.#format) return this.#format;
    const { encoding, sampleRates, channels } = this.accepts[0] ?? { encoding: 'linear16' };
    return { encoding, sampleRate: sampleRates?.[0] ?? 16_000, channels: channels?.[0] ?? 1 };
  }

  /** Sends a control message; false when there is no session. */
  protected say(message: WireObject): boolean {
    return this.#socket?.send(JSON.stringify(message)) ?? false;
  }

  /**
   * Sends a control message that is about the audio so far: after the audio that still waits, on the next connection when
   * there is none. False when there is no session.
   */
  protected sayAfterAudio(message: WireObject): boolean {
    if (this.#session) this.#line.say(JSON.stringify(message));
    return this.#session !== undefined;
  }

  /** A message for a connection that was sent nothing since the last question, `undefined` for any other. */
  protected whenQuiet(message: WireObject): string | undefined {
    const isQuiet = this.sentMs === this.#heardMs;
    this.#heardMs = this.sentMs;
    return isQuiet ? JSON.stringify(message) : undefined;
  }

  /** Gives the connection up: another follows at once, or after an error by the rules of a loss. */
  protected renew(error?: VoiceError): void {
    this.#socket?.reconnect(error);
  }

  /** The service begins anew on the same connection: it hears again what it has not made final. */
  protected beginAgain(): void {
    const socket = this.#socket;
    if (!socket?.isReady) return;
    for (const data of this.#begin()) socket.send(data);
  }

  /** Whether the audio has ended, and the service is to say that it has heard all of it. */
  protected get isEnding(): boolean {
    return this.#session?.isEnding ?? false;
  }

  /** The service has heard the audio to its end; see `endsAudio`. */
  protected heardAll(): void {
    this.#session?.heardAll();
  }

  /** Milliseconds of audio that the service has not made final. */
  protected get pendingMs(): number {
    return this.#line.pendingMs;
  }

  /** Milliseconds of audio and silence that were sent, and sent again, since the service's clock began. */
  protected get sentMs(): number {
    return this.#line.sentMs;
  }

  /** Where the audio so far ends, in milliseconds of the connection, with what waits for it; `undefined` without one. */
  protected get audioEndMs(): number | undefined {
    return this.#line.endMs;
  }

  /** The position in all audio of a moment of the connection, both in milliseconds. */
  protected audioMs(connectionMs: number): number {
    return this.#line.audioMs(connectionMs);
  }

  /** The service needs no audio before a moment of the connection, in milliseconds; false when it said so before. */
  protected finalized(connectionMs: number): boolean {
    return this.#line.finalized(connectionMs);
  }

  /** Sends silence that is no part of the audio. */
  protected sendSilence(ms: number): void {
    this.#line.fill(ms);
  }

  /** Words of the wire; `unitMs` are the milliseconds of a unit of their `start` and `end`, which count from the connection's start. */
  protected words(
    value: unknown,
    textOf: (word: WireObject) => string | undefined,
    unitMs: number = 1_000,
  ): TranscribedWord[] {
    return transcribedWords(value, textOf, (time) => this.#line.momentOf(time * unitMs));
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    this.assertAuth();
    this.assertConfig();
    this.resolveUrl('');
  }

  protected override async onDispose(): Promise<void> {
    if (this.#stopping) this.#socket?.terminate();
    await this.#stop({ timeoutMs: disposeMs });
  }

  protected override onConfigUpdate(changed: Partial<C>): void {
    const matters = ([key]: [string, unknown]): boolean => !laterKeys.has(key) && !this.ownKeys.includes(key);
    const told = Object.entries(changed).filter(matters);
    if (this.#session && told.length > 0 && !this.applyLive(Object.fromEntries(told) as Partial<C>)) this.renew();
  }

  get #socket(): SocketSession | undefined {
    return this.#session?.socket;
  }

  /** How many times as fast as it sounds a connection hears what has waited; one that only says goodbye hears it at once. */
  get #speed(): number | undefined {
    const { catchUpSpeed = this.catchUpSpeed } = this.config;
    return catchUpSpeed === false || this.#session?.isLeaving ? undefined : catchUpSpeed;
  }

  get #closeTimeoutMs(): number {
    return this.config.closeTimeoutMs ?? 1_000;
  }

  #start(): ListeningSession {
    return new ListeningSession({
      socket: {
        ...this.transportOptions,
        reconnect: this.config.reconnect,
        maxOutboxBytes: this.#line.isPcm ? 2 * bytesForMs(waitingMs, this.format) : undefined,
        // Nobody has told the service to end: another connection goes on.
        classifyClose: () => 'retry',
        ...this.socketOptions(),
        request: (context) => this.request(context),
      },
      ...{ line: this.#line, scheduler: this.scheduler, endsAudio: this.endsAudio },
      gaps$: this.gapMs === undefined ? undefined : this.#line.fillGaps(this.gapMs, (ms) => this.wantsSilence(ms)),
      begin: () => this.#begin(),
      farewell: () => this.farewell(),
      onMessage: (data) => {
        this.#watch.answered();
        this.receive(data);
      },
      onError: (error) => this.report(error),
      onConnection: (event) => {
        if (event.type === 'closed' || event.type === 'lost') this.#onEnd(event);
        this.#connection$.next(event);
      },
    });
  }

  /** What a connection that is ready hears first. */
  #begin(): SocketData[] {
    const resumeMs = this.resumeFromMs();
    this.#watch.restart();
    this.#line.open(resumeMs === undefined);
    this.onConnection();
    return [...this.preamble(), ...this.#line.first(resumeMs, this.isEnding)];
  }

  #onEnd(event: Extract<ConnectionEvent, { type: 'closed' | 'lost' }>): void {
    this.utterances.ended();
    this.onEnd();
    this.utterances.reset();
    this.#session = undefined;
    // The next session hears other audio; after a loss it hears what this one did not.
    if (event.type === 'lost') this.#lost$.next(event.error);
    else this.#line.reset();
  }

  /** Ends the session; true when the service has said all that it had to say. */
  async #stop(options: SocketCloseOptions): Promise<boolean> {
    if (!this.#session) {
      // What was kept after a loss is not for whoever begins anew.
      this.#line.reset();
      return true;
    }
    this.#stopping ??= this.#session.end(options).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** Ends the session of a recording, every word of which matters. */
  async #finish(): Promise<void> {
    // However fast the audio came, a service hears it at the speed of speech, or faster.
    const timeoutMs = this.#closeTimeoutMs + this.pendingMs;
    if (await this.#stop({ timeoutMs, reconnect: true })) return;
    const message = `${this.name}: the last results did not come within ${Math.round(timeoutMs)} ms`;
    throw this.error(message, { code: 'timeout', recoverable: true });
  }

  /** Gives up a connection that hears a voice and says nothing (RELIABILITY.md, F10). */
  #expectAnswer(frames: readonly Uint8Array<ArrayBuffer>[]): void {
    const { silenceTimeoutMs = this.silenceTimeoutMs } = this.config;
    if (silenceTimeoutMs === false || !this.#watch.sent(frames, this.format, silenceTimeoutMs)) return;
    const recoverable = this.#watch.alarms < maxAlarms;
    const message = `${this.name}: no word for ${silenceTimeoutMs} ms of speech: the connection counts as dead`;
    const error = this.error(message, { code: 'timeout', recoverable });
    // One that is not recoverable ends the session, which reports it.
    if (recoverable) this.report(error);
    this.forget();
    this.renew(error);
  }

  #fits(metadata: AudioMetadata): boolean {
    if (sameFormat(metadata, this.format)) return true;
    try {
      this.configureAudio(metadata);
      return true;
    } catch {
      this.warnOnce(`hears ${describeFormat(this.format)}, and drops ${describeFormat(metadata)}`);
      return false;
    }
  }
}
