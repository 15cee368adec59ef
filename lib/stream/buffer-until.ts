import { map, scan, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import { durationMs, isPcmLike } from '../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import { gate } from './gate.ts';

/** Options of {@link bufferUntil}. */
export interface BufferUntilOptions {
  /** Most audio to hold, in milliseconds. Default: 60,000. */
  readonly maxMs?: number;
  /** Most audio to hold when its duration is unknown (compressed, or without a format), in bytes. Default: 4 MiB. */
  readonly maxBytes?: number;
  /** Called on each loss with its duration in milliseconds; 0 if that is unknown. */
  readonly onDrop?: (droppedMs: number) => void;
}

/**
 * Holds audio while its receiver is not ready, and releases it in order, at once, when it is. The receiver may become
 * unready again, for example while it reconnects, even during a release.
 *
 * Beyond the limit the oldest audio is dropped and reported; if only a dropped chunk had the format, the next one gets
 * it. Completion waits until the receiver is ready; an error of the source or of `ready$` passes at once and drops what
 * is held. When `ready$` completes, its last value stands.
 *
 * ```text
 * source           -a--b-c------d-|
 * ready            t-f-----t-------    t: true, f: false
 * bufferUntil()    -a------(bc)-d-|
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
  const { maxMs = 60_000, maxBytes = 4 * 1024 * 1024, onDrop } = options;
  // One limit for both: bytes count in proportion to `maxBytes`.
  const limit = Math.min(maxMs, Number.MAX_SAFE_INTEGER);
  const sizeOf = ({ chunk: { data }, ms }: Timed): number => ms ?? data.length * (limit / maxBytes);
  return (source$) =>
    source$.pipe(
      scan(timed, untimed),
      gate(ready$, { limit, sizeOf, onDrop: (dropped) => onDrop?.(dropped.reduce((sum, { ms = 0 }) => sum + ms, 0)) }),
      scan(withFormat, untimed),
      map(({ chunk }) => chunk),
    );
}

interface Timed {
  readonly chunk: AudioChunk;
  /** Its own format, or that of the chunks before it. */
  readonly format?: AudioMetadata | undefined;
  /** Its duration, if known. */
  readonly ms?: number | undefined;
}

const untimed: Timed = { chunk: { data: new Uint8Array(0) } };

function timed(before: Timed, chunk: AudioChunk): Timed {
  const format = chunk.metadata ?? before.format;
  return {
    chunk,
    format,
    ms: format && isPcmLike(format.encoding) ? durationMs(chunk.data.length, format) : undefined,
  };
}

/** Restores the format when the chunk that had it was dropped. */
function withFormat(before: Timed, { chunk, format }: Timed): Timed {
  const isUntold = format && !chunk.metadata && format !== before.format;
  return { chunk: isUntold ? { ...chunk, metadata: format } : chunk, format };
}
