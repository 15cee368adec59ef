import { defer, Subject, type Observable } from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk } from '../audio/types.ts';

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
  #state: 'waiting' | 'flowing' | 'paused' | 'stopped' = 'waiting';
  #waiting: AudioChunk[] = [];
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
    if (this.#state === 'flowing') this.#audio$.next(chunk);
    else if (this.#state === 'waiting') this.#wait(chunk);
  }

  /** Delivers what waits, then what comes. */
  start(): void {
    if (this.#state === 'flowing') return;
    this.#state = 'flowing';
    const waiting = this.#waiting;
    this.#forget();
    for (const chunk of waiting) this.#audio$.next(chunk);
    if (this.#ended) this.#complete();
  }

  /** Drops what comes until {@link resume}. */
  pause(): void {
    if (this.#state === 'flowing') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state === 'paused') this.#state = 'flowing';
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
    this.#waiting = [];
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
