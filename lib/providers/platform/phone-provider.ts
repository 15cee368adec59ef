import { asyncScheduler, defer, EMPTY, Subject, type Observable, type ObservableInput, type SchedulerLike } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import { Provider } from '../../core/provider.ts';
import type { OutputProvider, PlaybackEvent, ProviderRole, ProviderType } from '../../core/roles.ts';
import type { Capture } from '../../playback/capture.ts';
import type { Playout } from '../../playback/playout.ts';
import { AttachedSocket, type PlatformSocket } from './attached-socket.ts';
import { CallInput } from './call-input.ts';

/** Configuration of every phone. */
export interface PhoneConfig {
  /**
   * Bytes per second that a caller may send (a call needs 20,000), with bursts of four times that. `Infinity` for no
   * limit. Default: 262,144.
   */
  readonly maxBytesPerSecond?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** How a call ended: by the platform, or because its socket was closed or lost. */
export interface CallEnd {
  readonly reason: 'stopped' | 'closed';
}

const maxMessageBytes = 64 * 1024;

const rules: Readonly<Record<string, ConfigRule>> = {
  leadMs: { min: 0, max: 20_000 },
  maxBytesPerSecond: { min: 1, max: Infinity },
};

/**
 * A phone call whose WebSocket the application accepts and attaches. Methods that input and output both have belong to
 * the output: `stop()`, `pause()` and `resume()` never affect capture.
 */
export abstract class PhoneProvider<C extends PhoneConfig> extends Provider<C> implements OutputProvider {
  readonly roles: readonly ProviderRole[] = ['input', 'output'];
  readonly type: ProviderType = 'websocket';
  abstract readonly accepts: readonly AudioFormat[];
  protected abstract readonly playout: Playout;
  readonly #input = new CallInput<CallEnd>((problem, options) =>
    this.report(this.error(`${this.name}: ${problem}`, options)),
  );
  readonly #dtmf$ = new Subject<string>();
  #socket: AttachedSocket | undefined;

  /** Reports each kind of ignored message once. */
  protected readonly warn: (kind: string) => void = oncePerKind((kind) =>
    this.report(this.error(`${this.name} ignores ${kind}`, { code: 'protocol', recoverable: true })),
  );

  /** Keys that the caller presses: `0` to `9`, `*`, `#`, `A` to `D`. Hot. */
  get dtmf$(): Observable<string> {
    return this.#dtmf$.asObservable();
  }

  /** The end of the call, once. Hot; replayed to late subscribers. */
  get callEnded$(): Observable<CallEnd> {
    return this.#input.end$;
  }

  /**
   * The caller's audio from `start()` on, preceded by up to 60 s that arrived earlier. Completes with the call. Hot.
   */
  get audio$(): Observable<AudioChunk> {
    return this.#input.audio$;
  }

  get playback$(): Observable<PlaybackEvent> {
    return this.playout.playback$;
  }

  /**
   * Audio once the caller has heard it, for recorders; `timestamp` is when its first sample sounded, on the scheduler's
   * clock. Hot.
   */
  get heard$(): Observable<AudioChunk> {
    return this.playout.heard$;
  }

  get positionMs(): number {
    return this.playout.positionMs;
  }

  /** The format of `audio$`. */
  abstract getMetadata(): AudioMetadata;

  /** Starts `audio$`. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.assertReady('start');
      this.capture.start();
      resolve();
    });
  }

  /** After the call has ended, played audio is discarded. */
  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return defer(() => {
      if (this.#input.isOver) return EMPTY;
      this.assertReady('play');
      return this.playout.play(audio$);
    });
  }

  enqueue(chunk: AudioChunk): void {
    if (this.#input.isOver) return;
    this.assertReady('enqueue');
    this.playout.enqueue(chunk);
  }

  flush(): Promise<void> {
    return this.playout.flush();
  }

  /** Silences playback at once and drops what was not heard. */
  // eslint-disable-next-line @typescript-eslint/no-misused-promises -- one method serves both roles, and an input's stop() has a promise
  stop(): Promise<void> {
    this.playout.stop();
    return Promise.resolve();
  }

  pause(): void {
    this.playout.pause();
  }

  resume(): void {
    this.playout.resume();
  }

  setVolume(volume: number): void {
    this.playout.setVolume(volume);
  }

  /** Calls back for each key; returns an unsubscribe function. */
  onDtmf(callback: (digit: string) => void): () => void {
    return this.#input.listen(this.dtmf$, callback);
  }

  /** Calls back when the call has ended; returns an unsubscribe function. */
  onCallEnded(callback: (end: CallEnd) => void): () => void {
    return this.#input.listen(this.callEnded$, callback);
  }

  /**
   * Attaches a `ws` or DOM WebSocket that the application has accepted: at once, before its first message;
   * `initialize()` may come later. Hangs up a call that is already attached: use one provider per call.
   */
  attach(socket: PlatformSocket): void {
    this.hangUp();
    if (this.#input.isOver) this.playout.stop();
    this.#input.begin();
    const { scheduler = asyncScheduler, maxBytesPerSecond = 256 * 1024 } = this.config;
    this.#socket = new AttachedSocket(socket, { maxMessageBytes, maxBytesPerSecond, scheduler });
    this.#socket.listen({
      message: (data) => this.receive(data),
      closed: (problem) => {
        if (problem) this.report(this.error(`${this.name} closed the call: ${problem}`, { code: 'overflow' }));
        this.endCall('closed');
      },
      failed: (cause) => this.report(this.error(`${this.name}: ${messageOf(cause)}`, { code: 'internal', cause })),
    });
  }

  /** Closes the socket. The platform decides what happens to the call then. */
  hangUp(): void {
    if (this.#socket) this.endCall('closed', 1000);
  }

  /** Buffers and delivers the caller's audio. */
  protected get capture(): Capture {
    return this.#input.capture;
  }

  /** Whether a call's socket is attached and open. */
  protected get isAttached(): boolean {
    return this.#socket !== undefined;
  }

  /** Handles a text frame, or the bytes of a binary one; what it throws goes to `errors$`. */
  protected abstract receive(data: string | Uint8Array): void;

  /** Sends a message to the platform; does nothing without a call. */
  protected send(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket?.send(data);
  }

  /** Reports a key that the caller pressed. */
  protected press(digit: string): void {
    if (/^[0-9*#A-D]$/.test(digit)) this.#dtmf$.next(digit);
    else this.warn('an unknown DTMF key');
  }

  /** Ends the call; closes its socket with `code` if still open. */
  protected endCall(reason: CallEnd['reason'], code?: number): void {
    const socket = this.#socket;
    if (!socket) return;
    // First, so that nothing more is sent.
    this.#socket = undefined;
    if (code !== undefined) socket.close(code);
    this.playout.hold();
    // Before the plays complete, so that listeners see them cut off. A listener may attach the next call.
    this.#input.end({ reason });
    if (!this.#input.isOver) return;
    this.playout.stop();
    this.#input.close();
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    this.assertConfig();
  }

  protected override onDispose(): Promise<void> | void {
    this.hangUp();
    this.capture.stop();
    this.playout.stop();
  }
}
