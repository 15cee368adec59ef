import {
  asyncScheduler,
  defer,
  exhaustMap,
  ignoreElements,
  interval,
  map,
  startWith,
  Subject,
  takeWhile,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { VoiceError } from '../core/errors.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import type { RawSocket, SocketData } from './socket.ts';

export const mebibyte: number = 1024 * 1024;

/** Interval between checks of what has been sent, in milliseconds. */
export const drainMs = 20;

/** Options of an {@link Outbox}. Sizes are in bytes, times in milliseconds. */
export interface OutboxOptions {
  /** Most that the connection itself buffers; the rest is queued here. Default: 1 MiB. */
  readonly maxBufferedBytes?: number | undefined;
  /** Most that is queued; beyond it the oldest audio is dropped, since control messages matter more. Default: 4 MiB. */
  readonly maxOutboxBytes?: number | undefined;
  /** Longest time that the peer may read nothing. Default: 5,000. */
  readonly stallTimeoutMs?: number | undefined;
  readonly scheduler?: SchedulerLike | undefined;
  /** Called when the limit is reached, once until the queue is empty. */
  readonly onOverflow: (maxBytes: number) => void;
  /** Creates the error for a peer that reads nothing. */
  readonly stalled: (ms: number) => VoiceError;
}

/** An ordered queue of messages for a connection. */
export class Outbox {
  readonly #options: OutboxOptions;
  /** Emits when a message is queued although there is a connection. */
  readonly #blocked$ = new Subject<void>();
  #waiting: SocketData[] = [];
  #bytes = 0;
  #overflowing = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Number of queued messages. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Sends a message, or queues it; false when something was dropped for it. */
  send(data: SocketData, socket: RawSocket | undefined): boolean {
    if (socket && this.#waiting.length === 0 && this.#hasRoom(socket, data)) {
      socket.send(data);
      return true;
    }
    this.#waiting.push(data);
    this.#bytes += sizeOf(data);
    const isKept = this.#bound();
    this.#blocked$.next();
    return isKept;
  }

  /** Sends queued messages as the connection accepts them; fails when it stops accepting any. Never completes. */
  drain(socket: RawSocket): Observable<never> {
    return defer(() => (this.length > 0 ? this.#blocked$.pipe(startWith(undefined)) : this.#blocked$)).pipe(
      exhaustMap(() => this.#sending(socket)),
    );
  }

  #sending(socket: RawSocket): Observable<never> {
    const { stallTimeoutMs = 5_000, scheduler = asyncScheduler, stalled } = this.#options;
    let unread = socket.bufferedAmount;
    return interval(drainMs, scheduler).pipe(
      map(() => {
        // Before more is sent: that fills the buffer again.
        const hasRead = socket.bufferedAmount < unread;
        const waiting = this.drainInto(socket);
        unread = socket.bufferedAmount;
        return { hasRead, waiting };
      }),
      takeWhile(({ waiting }) => waiting > 0),
      stallTimeout({
        idleMs: stallTimeoutMs,
        isProgress: ({ hasRead }) => hasRead,
        scheduler,
        error: () => stalled(stallTimeoutMs),
      }),
      ignoreElements(),
    );
  }

  /** Puts messages at the front of the queue, whatever their size. */
  unshift(messages: readonly SocketData[]): void {
    for (const data of messages) this.#bytes += sizeOf(data);
    this.#waiting = [...messages, ...this.#waiting];
  }

  /** Sends what the connection accepts now; returns how many messages remain. */
  drainInto(socket: RawSocket): number {
    let sent = 0;
    for (const data of this.#waiting) {
      if (!this.#hasRoom(socket, data)) break;
      socket.send(data);
      this.#bytes -= sizeOf(data);
      sent++;
    }
    this.#waiting.splice(0, sent);
    if (this.#waiting.length === 0) this.#overflowing = false;
    return this.#waiting.length;
  }

  /** Empties the queue. */
  clear(): void {
    this.#waiting = [];
    this.#bytes = 0;
    this.#overflowing = false;
  }

  /** Drops the oldest audio, then the oldest text; returns whether everything fit. */
  #bound(): boolean {
    const { maxOutboxBytes = 4 * mebibyte, onOverflow } = this.#options;
    if (this.#bytes <= maxOutboxBytes) return true;
    while (this.#bytes > maxOutboxBytes && this.#waiting.length > 0) {
      const audio = this.#waiting.findIndex((each) => typeof each !== 'string');
      for (const dropped of this.#waiting.splice(Math.max(audio, 0), 1)) this.#bytes -= sizeOf(dropped);
    }
    if (!this.#overflowing) onOverflow(maxOutboxBytes);
    this.#overflowing = true;
    return false;
  }

  #hasRoom(socket: RawSocket, data: SocketData): boolean {
    const buffered = socket.bufferedAmount;
    return buffered === 0 || buffered + sizeOf(data) <= (this.#options.maxBufferedBytes ?? mebibyte);
  }
}

/** Size of a message; a character of text counts as one byte, to avoid encoding it. */
function sizeOf(data: SocketData): number {
  return data.length;
}
