import { defer, Subject, type Observable } from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk } from '../audio/types.ts';
import { Fifo } from '../stream/fifo.ts';

/** Options of a {@link Capture}. */
export interface CaptureOptions {
  /** Most audio to keep before `start()`, in milliseconds; beyond it the oldest is dropped. Default: 60,000. */
  readonly maxWaitingMs?: number;
  /** Called once per wait in which audio was dropped. */
  readonly onOverflow?: (maxWaitingMs: number) => void;
  /** Called at the start with how much was dropped before it, in milliseconds, if any was. */
  readonly onDropped?: (ms: number) => void;
}

/**
 * Shared by inputs that have audio pushed to them: keeps what arrives before the start, in order and up to a limit,
 * then delivers audio as it arrives. While paused or stopped, drops it.
 */
export class Capture {
  readonly #maxWaitingMs: number;
  readonly #onOverflow: ((maxWaitingMs: number) => void) | undefined;
  readonly #onDropped: ((ms: number) => void) | undefined;
  /** The audio from the start on; completes at {@link end}. Hot. */
  readonly audio$: Observable<AudioChunk> = defer(() => this.#audio$);
  #audio$ = new Subject<AudioChunk>();
  #state: 'waiting' | 'flowing' | 'stopped' = 'waiting';
  #paused = false;
  #waiting = new Fifo<AudioChunk>();
  #waitingMs = 0;
  #droppedMs = 0;
  #ended = false;

  constructor({ maxWaitingMs = 60_000, onOverflow, onDropped }: CaptureOptions = {}) {
    this.#maxWaitingMs = maxWaitingMs;
    this.#onOverflow = onOverflow;
    this.#onDropped = onDropped;
  }

  /** Adds a chunk, which must have metadata. */
  push(chunk: AudioChunk): void {
    if (this.#ended || chunk.data.length === 0) return;
    if (this.#state === 'waiting') this.#wait(chunk);
    else if (this.#state === 'flowing' && !this.#paused) this.#audio$.next(chunk);
  }

  /** Delivers what was kept, then what arrives. */
  start(): void {
    if (this.#state === 'flowing') return;
    this.#state = 'waiting';
    this.#paused = false;
    if (this.#droppedMs > 0) this.#onDropped?.(this.#droppedMs);
    // Audio that arrives meanwhile queues up behind.
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

  /** Drops incoming audio until {@link resume}, once started. */
  pause(): void {
    this.#paused = true;
  }

  /** Resumes delivering audio. */
  resume(): void {
    this.#paused = false;
  }

  /** Drops what was kept, and incoming audio until {@link start}. */
  stop(): void {
    this.#state = 'stopped';
    this.#forget();
  }

  /** Ends the input: `audio$` completes after what was pushed. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#state !== 'waiting') this.#complete();
  }

  /** Resets after a {@link stop}: incoming audio waits for {@link start}. */
  reopen(): void {
    if (this.#state !== 'stopped') return;
    this.#ended = false;
    this.#state = 'waiting';
  }

  /** A subscriber may have stopped it meanwhile. */
  #isWaiting(): boolean {
    return this.#state === 'waiting';
  }

  #wait(chunk: AudioChunk): void {
    this.#waiting.push(chunk);
    this.#waitingMs += msOf(chunk);
    while (this.#waitingMs > this.#maxWaitingMs && this.#waiting.length > 1) {
      const oldest = this.#waiting.shift();
      if (!oldest) return;
      const isFirst = this.#droppedMs === 0;
      this.#waitingMs -= msOf(oldest);
      this.#droppedMs += msOf(oldest);
      if (isFirst) this.#onOverflow?.(this.#maxWaitingMs);
    }
  }

  #forget(): void {
    this.#waiting = new Fifo();
    this.#waitingMs = 0;
    this.#droppedMs = 0;
  }

  /** Subscribers after an end receive what follows. */
  #complete(): void {
    const ended$ = this.#audio$;
    this.#audio$ = new Subject();
    ended$.complete();
  }
}

function msOf({ data, metadata }: AudioChunk): number {
  return metadata && isPcmLike(metadata.encoding) ? durationMs(data.length, metadata) : 0;
}
