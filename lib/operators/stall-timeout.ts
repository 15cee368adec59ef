import { asyncScheduler, Observable, type MonoTypeOperatorFunction, type SchedulerLike, type Subscription } from 'rxjs';
import { VoiceError } from '../core/errors.ts';

/** Options of {@link stallTimeout}. */
export interface StallTimeoutOptions {
  /** Longest wait for the first value, in milliseconds. Default: `idleMs`. */
  readonly firstMs?: number;
  /** Longest wait from one value to the next, or to the end, in milliseconds. Default: no limit. */
  readonly idleMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
  /** Makes the error. Default: a recoverable VoiceError `timeout`. */
  readonly error?: (stalled: 'first' | 'idle', ms: number) => Error;
}

/**
 * Fails when a source stands still: when its first value doesn't come in time, or the next one after it. Both clocks end
 * with the source's completion or error, which pass at once.
 *
 * ```text
 * source                                       --a-b---------c-|
 * stallTimeout({ firstMs: 5, idleMs: 4 })      --a-b---#
 * ```
 *
 * @example
 * ```ts
 * import { NEVER } from 'rxjs';
 * import { stallTimeout } from 'rxvoice/operators';
 *
 * NEVER.pipe(stallTimeout({ firstMs: 10_000, idleMs: 30_000 })).subscribe({
 *   error: console.error, // nothing came within 10000 ms
 * });
 * ```
 */
export function stallTimeout<T>(options: StallTimeoutOptions): MonoTypeOperatorFunction<T> {
  const { firstMs, idleMs, scheduler = asyncScheduler, error = stallError } = options;
  if (firstMs === undefined && idleMs === undefined) return (source$) => source$;
  return (source$) =>
    new Observable((subscriber) => {
      let seen = false;
      let heardAt = scheduler.now();
      let timer: Subscription | undefined;
      /** One timer serves any number of values: it looks how long ago the last one came. */
      const look = (): void => {
        const ms = seen ? idleMs : (firstMs ?? idleMs);
        timer?.unsubscribe();
        if (ms === undefined) return;
        const restMs = heardAt + ms - scheduler.now();
        if (restMs > 0) timer = scheduler.schedule(look, restMs);
        else subscriber.error(error(seen ? 'idle' : 'first', ms));
      };
      timer = scheduler.schedule(look, firstMs ?? idleMs);
      subscriber.add(() => timer?.unsubscribe());
      subscriber.add(
        source$.subscribe({
          next: (value) => {
            const isFirst = !seen;
            seen = true;
            heardAt = scheduler.now();
            // The limit is another one now.
            if (isFirst) look();
            subscriber.next(value);
          },
          error: (cause: unknown) => subscriber.error(cause),
          complete: () => subscriber.complete(),
        }),
      );
    });
}

function stallError(stalled: 'first' | 'idle', ms: number): VoiceError {
  const message = stalled === 'first' ? `nothing came within ${ms} ms` : `nothing more came for ${ms} ms`;
  return new VoiceError(message, { code: 'timeout', recoverable: true });
}
