import { asyncScheduler, Subject, type Observable, type SchedulerLike } from 'rxjs';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { messageOf } from '../../core/errors.ts';
import { oncePerKind } from '../../core/guard.ts';
import { AttachedSocket, type PlatformSocket } from './attached-socket.ts';
import { CallProvider } from './call-provider.ts';

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

/** A phone call whose WebSocket the application accepts and attaches. */
export abstract class PhoneProvider<C extends PhoneConfig> extends CallProvider<C, CallEnd> {
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

  /** Calls back for each key; returns an unsubscribe function. */
  onDtmf(callback: (digit: string) => void): () => void {
    return this.listen(this.dtmf$, callback);
  }

  /**
   * Attaches a `ws` or DOM WebSocket that the application has accepted: at once, before its first message;
   * `initialize()` may come later. Hangs up a call that is already attached: use one provider per call.
   */
  attach(socket: PlatformSocket): void {
    this.hangUp();
    this.begin();
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
    this.end({ reason });
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override onInitialize(_signal: AbortSignal): Promise<void> | void {
    this.assertConfig();
  }

  protected override onDispose(): Promise<void> | void {
    this.hangUp();
    return super.onDispose();
  }
}
