import type { Observable, SchedulerLike } from 'rxjs';
import type { PlatformSocket } from './platform-socket.ts';
import type { CallProvider } from './call-provider.ts';

/** Configuration of every phone. */
export interface PhoneConfig {
  /**
   * Longest wait for the platform's first message of the call, in milliseconds from `attach()`; then the call is ended.
   * `Infinity` for no limit. Default: 10,000.
   */
  readonly connectTimeoutMs?: number;
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

/** A phone call whose WebSocket the application accepts and attaches. */
export interface PhoneProvider<C extends PhoneConfig> extends CallProvider<C, CallEnd> {
  /**
   * The parameters of the call, once, when the platform has told them: from then on its ids are known, too. Completes
   * after that, or without a value if the call ends before. Replayed to late subscribers.
   */
  readonly started$: Observable<Readonly<Record<string, unknown>>>;

  /** Keys that the caller presses: `0` to `9`, `*`, `#`, `A` to `D`. Hot. */
  readonly dtmf$: Observable<string>;

  /**
   * The same keys, for this subscriber only: while there is one, and for 1 s after, `dtmf$` emits nothing and the
   * caller's audio is silence, since the tones would reveal the keys. `collectDigits()` uses it for secrets. Hot.
   */
  readonly secretDtmf$: Observable<string>;

  /** Calls back with the parameters of the call, once they are known; returns an unsubscribe function. */
  onStarted(callback: (parameters: Readonly<Record<string, unknown>>) => void): () => void;

  /** Calls back for each key; returns an unsubscribe function. */
  onDtmf(callback: (digit: string) => void): () => void;

  /**
   * Attaches a `ws` or DOM WebSocket that the application has accepted: at once, before its first message;
   * `initialize()` may come later. Hangs up a call that is already attached: use one provider per call.
   */
  attach(socket: PlatformSocket): void;

  /** Closes the socket. The platform decides what happens to the call then. */
  hangUp(): void;
}
