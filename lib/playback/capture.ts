import { defer, Subject, type Observable } from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk } from '../audio/types.ts';
import { Fifo } from '../stream/fifo.ts';

/** Options of a {@link Capture}. */
export interface CaptureOptions {
  /** Most audio that waits for `start()`, in milliseconds; beyond it the oldest is dropped. Default: 60,000. */
  readonly maxWaitingMs?: number;
  /** Called once for each wait that dropped something. */
  readonly onOverflow?: (maxWaitingMs: number) => void;
}

/**
 * What inputs share to which audio is pushed: keeps what comes before the start, in order and bounded, then delivers as
 * it comes. Paused or stopped, it drops.
 */
export class Capture {
  readonly #maxWaitingMs: number;
  readonly #onOverflow: ((maxWaitingMs: number) => void) | undefined;
  #audio$ = new Subject<AudioChunk>();
  #state: 'waiting' | 'flowing' | 'stopped' = 'waiting';
  #paused = false;
  #waiting = new Fifo<AudioChunk>();
  #waitingMs = 0;
  #overflowed = false;
  #ended = false;

  constructor({ maxWaitingMs = 60_000, onOverflow }: CaptureOptions = {}) {
    this.#maxWaitingMs = maxWaitingMs;
    this.#onOverflow = onOverflow;
  }

  /** The audio from the start on; completes at {@link end}. Hot. */
  get audio$(): Observable<AudioChunk> {
    return defer(() => this.#audio$);
  }

  /** Each chunk must bring its metadata. */
  push(chunk: AudioChunk): void {
    if (this.#ended || chunk.data.length === 0) return;
    if (this.#state === 'waiting') this.#wait(chunk);
    else if (this.#state === 'flowing' && !this.#paused) this.#audio$.next(chunk);
  }

  /** Delivers what waits, then what comes. */
  start(): void {
    if (this.#state === 'flowing') return;
    this.#state = 'waiting';
    this.#paused = false;
    // What comes while these are delivered waits behind them.
    while (this.#isWaiting()) {
      const chunk = this.#waiting.shift();
      if (chunk) {
        this.#audio$.next(chunk);
        continue;
      }
      this.#state = 'flowing';
      this.#forget();
      if (this.#ended) this.#complete();
    }
  }

  /** Drops what comes until {@link resume}, once started. */
  pause(): void {
    this.#paused = true;
  }

  /** Takes what comes again. */
  resume(): void {
    this.#paused = false;
  }

  /** Drops what waits, and what comes until {@link start}. */
  stop(): void {
    this.#state = 'stopped';
    this.#forget();
  }

  /** Nothing more will come: `audio$` completes after what was pushed before. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#state !== 'waiting') this.#complete();
  }

  /** After a {@link stop}, as new: what comes waits for {@link start}. */
  reopen(): void {
    if (this.#state !== 'stopped') return;
    this.#ended = false;
    this.#state = 'waiting';
  }

  /** A subscriber may have stopped it since. */
  #isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  #wait(chunk: AudioChunk): void {
    this.#waiting.push(chunk);
    this.#waitingMs += msOf(chunk);
    while (this.#waitingMs > this.#maxWaitingMs && this.#waiting.length > 1) {
      const oldest = this.#waiting.shift();
      if (oldest) this.#waitingMs -= msOf(oldest);
      if (this.#overflowed) continue;
      this.#overflowed = true;
      this.#onOverflow?.(this.#maxWaitingMs);
    }
  }

  #forget(): void {
    this.#waiting = new Fifo();
    this.#waitingMs = 0;
    this.#overflowed = false;
  }

  /** Who subscribes after an end listens to what comes after it. */
  #complete(): void {
    const ended$ = this.#audio$;
    this.#audio$ = new Subject();
    ended$.complete();
  }
}

function msOf({ data, metadata }: AudioChunk): number {
  return metadata && isPcmLike(metadata.encoding) ? durationMs(data.length, metadata) : 0;
}
