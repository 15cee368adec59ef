import type { MonoTypeOperatorFunction, Observable } from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { Fifo } from './fifo.ts';
import { gated, type Held } from './gated.ts';

/** Options of {@link bufferUntil}. */
export interface BufferUntilOptions {
  /** Most audio that may wait, in milliseconds. Default: 60,000. */
  readonly maxMs?: number;
  /** Most audio that may wait where its duration cannot be told (compressed, or of unknown format), in bytes. Default: 4 MiB. */
  readonly maxBytes?: number;
  /** Told of each loss, in milliseconds; 0 where the duration cannot be told. */
  readonly onDrop?: (droppedMs: number) => void;
}

/**
 * Keeps every frame of audio while its receiver is not ready, and releases them in order, at once, when it is. It may
 * become unready again, such as while a connection is made anew, even in the middle of a release.
 *
 * Beyond the bound the oldest audio is dropped, and reported; a format that only a dropped chunk told goes on to the next.
 * Completion waits until the receiver is ready; an error of the source or of `ready$` passes at once and drops what is
 * held. When `ready$` completes, its last value stays.
 *
 * ```text
 * source                -a--b-c------d-|
 * ready                 t-f-----t-------        t: true, f: false
 * bufferUntil(ready)    -a------(bc)-d-|
 * ```
 *
 * @example
 * ```ts
 * import { interval, map, timer } from 'rxjs';
 * import { bufferUntil } from 'rxvoice/operators';
 *
 * const frame = { data: new Uint8Array(640), metadata: { encoding: 'linear16', sampleRate: 16000, channels: 1 } } as const;
 * const connected$ = timer(1000).pipe(map(() => true));
 * interval(20)
 *   .pipe(map(() => frame), bufferUntil(connected$, { onDrop: (ms) => console.warn(`${ms} ms lost`) }))
 *   .subscribe(({ data }) => console.log(data.length)); // after 1 s 49 frames at once, then one every 20 ms
 * ```
 */
export function bufferUntil(
  ready$: Observable<boolean>,
  options: BufferUntilOptions = {},
): MonoTypeOperatorFunction<AudioChunk> {
  return gated(ready$, () => new AudioBuffer(options));
}

interface Waiting {
  readonly chunk: AudioChunk;
  /** 0 where it cannot be told. */
  readonly ms: number;
  /** 0 where the milliseconds can be told. */
  readonly bytes: number;
}

class AudioBuffer implements Held<AudioChunk> {
  readonly #maxMs: number;
  readonly #maxBytes: number;
  readonly #onDrop: (droppedMs: number) => void;
  readonly #waiting = new Fifo<Waiting>();
  #format: AudioMetadata | undefined;
  /** What a dropped chunk told of those behind it. */
  #lostFormat: AudioMetadata | undefined;
  #ms: number = 0;
  #bytes: number = 0;

  constructor({ maxMs = 60_000, maxBytes = 4 * 1024 * 1024, onDrop = () => undefined }: BufferUntilOptions) {
    this.#maxMs = maxMs;
    this.#maxBytes = maxBytes;
    this.#onDrop = onDrop;
  }

  get length(): number {
    return this.#waiting.length;
  }

  push(chunk: AudioChunk): void {
    this.#format = chunk.metadata ?? this.#format;
    const { length } = chunk.data;
    const isKnown = this.#format !== undefined && isPcmLike(this.#format.encoding);
    const ms = this.#format && isKnown ? durationMs(length, this.#format) : 0;
    const bytes = isKnown ? 0 : length;
    this.#waiting.push({ chunk, ms, bytes });
    this.#ms += ms;
    this.#bytes += bytes;
    this.#bound();
  }

  shift(): AudioChunk | undefined {
    const first = this.#waiting.shift();
    this.#ms -= first?.ms ?? 0;
    this.#bytes -= first?.bytes ?? 0;
    const metadata = this.#lostFormat;
    this.#lostFormat = undefined;
    return first && metadata && !first.chunk.metadata ? { ...first.chunk, metadata } : first?.chunk;
  }

  #bound(): void {
    const before = this.#ms;
    let lost = 0;
    // The newest chunk stays, however long it is.
    for (; (this.#ms > this.#maxMs || this.#bytes > this.#maxBytes) && this.length > 1; lost += 1) {
      this.#lostFormat = this.shift()?.metadata;
    }
    if (lost > 0) this.#onDrop(before - this.#ms);
  }
}
