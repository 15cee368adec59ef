import { asyncScheduler, BehaviorSubject, filter, Subject, type Observable, type SchedulerLike } from 'rxjs';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import { AttachedSocket, type PlatformSocket } from './attached-socket.ts';
import { PlatformProvider } from './platform-provider.ts';

/** Configuration of every phone. */
export interface PhoneConfig {
  /**
   * Most that a caller may send, in bytes a second (a call needs 20,000), in bursts of four times that. `Infinity`
   * for no bound. Default: 262,144.
   */
  readonly maxBytesPerSecond?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** How a call ended: the platform said so, or its socket was closed or lost. */
export interface CallEnd {
  readonly reason: 'stopped' | 'closed';
}

const maxMessageBytes = 64 * 1024;

const rules: Readonly<Record<string, ConfigRule>> = {
  leadMs: { min: 0, max: 20_000 },
  maxBytesPerSecond: { min: 1, max: Infinity },
};

/** A phone call whose WebSocket the application accepts and attaches. */
export abstract class PhoneProvider<C extends PhoneConfig> extends PlatformProvider<C> {
  readonly #dtmf$ = new Subject<string>();
  readonly #callEnded$ = new BehaviorSubject<CallEnd | undefined>(undefined);
  #socket: AttachedSocket | undefined;

  /** Tells once of each kind of message that is ignored. */
  protected readonly warn: (kind: string) => void = oncePerKind((kind) =>
    this.report(this.error(`${this.name} ignores ${kind}`, { code: 'protocol', recoverable: true })),
  );

  /** Keys that the caller presses: `0` to `9`, `*`, `#`, `A` to `D`. Hot. */
  get dtmf$(): Observable<string> {
    return this.#dtmf$.asObservable();
  }

  /** The end of the call, once. Hot; late subscribers get it too. */
  get callEnded$(): Observable<CallEnd> {
    return this.#callEnded$.pipe(filter((end) => end !== undefined));
  }

  /** Calls back for each key; returns what undoes it. */
  onDtmf(callback: (digit: string) => void): () => void {
    return this.listen(this.dtmf$, callback);
  }

  /** Calls back when the call has ended; returns what undoes it. */
  onCallEnded(callback: (end: CallEnd) => void): () => void {
    return this.listen(this.callEnded$, callback);
  }

  /**
   * Takes a socket that the application has accepted, of the `ws` package or a DOM WebSocket: at once, before its first
   * message, with or without `initialize()`. A call that is attached already is hung up: one provider serves one call.
   */
  attach(socket: PlatformSocket): void {
    this.hangUp();
    if (this.isOver) this.#cleanUp();
    this.capture.reopen();
    this.isOver = false;
    this.#callEnded$.next(undefined);
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

  /** Closes the socket. What becomes of the call then is the platform's business. */
  hangUp(): void {
    if (this.#socket) this.endCall('closed', 1000);
  }

  /** Whether there is a call: a socket that has not ended. */
  protected get isAttached(): boolean {
    return this.#socket !== undefined;
  }

  /** Takes a text frame, or the bytes of a binary one; whatever it throws goes to `errors$`. */
  protected abstract receive(data: string | Uint8Array): void;

  /** Sends a message to the platform; without a call it goes nowhere. */
  protected send(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket?.send(data);
  }

  /** The caller has pressed a key. */
  protected press(digit: string): void {
    if (/^[0-9*#A-D]$/.test(digit)) this.#dtmf$.next(digit);
    else this.warn('a key that no phone has');
  }

  /** Ends the call, and its socket with `code` where that is still open. */
  protected endCall(reason: CallEnd['reason'], code?: number): void {
    const socket = this.#socket;
    if (!socket) return;
    // First of all: nothing is sent any more.
    this.#socket = undefined;
    this.isOver = true;
    if (code !== undefined) socket.close(code);
    this.playout.hold();
    // Before plays complete: who hears of it should see them cut off. It may attach the next call.
    this.#callEnded$.next({ reason });
    this.#cleanUp();
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
    return super.onDispose();
  }

  /** Lets go of what belongs to the call that has ended, unless the next one is there. */
  #cleanUp(): void {
    if (this.#socket) return;
    this.playout.stop();
    this.capture.end();
    this.capture.stop();
  }
}
