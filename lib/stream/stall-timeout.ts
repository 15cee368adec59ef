import { asyncScheduler, Observable, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { feed } from './feed.ts';
import { Alarm } from './patient-timer.ts';

/** Options of {@link stallTimeout}. */
export interface StallTimeoutOptions<T = unknown> {
  /** Longest wait for the first progress, in milliseconds. Default: `idleMs` if it is a number, else no limit. */
  readonly firstMs?: number | undefined;
  /**
   * Longest wait from one progress to the next, or to the end, in milliseconds. A function is called at each progress,
   * with its value; `undefined` means no limit until the next one. Default: no limit.
   */
  readonly idleMs?: number | ((value: T) => number | undefined) | undefined;
  /** Which values count as progress; others pass without restarting the wait. Default: all. */
  readonly isProgress?: ((value: T) => boolean) | undefined;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
  /**
   * Creates the error, from the limit that was missed and the last progress. Default: a recoverable VoiceError
   * `timeout`.
   */
  readonly error?: ((stalled: 'first' | 'idle', ms: number, last: T | undefined) => Error) | undefined;
}

/**
 * Fails when a source stalls: when its first progress, or the next one, does not arrive in time.
 *
 * Completion and errors of the source pass at once and end the wait. If the event loop was blocked when a wait ran out,
 * whatever arrived meanwhile is delivered before the source counts as stalled. One timer serves any number of values.
 *
 * ```text
 * source            --a-b---------c-|
 * stallTimeout()    --a-b---#            firstMs: 5, idleMs: 4
 * ```
 *
 * @example
 * ```ts
 * import { NEVER } from 'rxjs';
 * import { stallTimeout } from 'rxvoice/operators';
 *
 * NEVER.pipe(stallTimeout({ firstMs: 10_000, idleMs: 30_000 })).subscribe({
 *   error: console.error, // nothing arrived within 10000 ms
 * });
 * ```
 *
 * @example
 * ```ts
 * import { of } from 'rxjs';
 * import { stallTimeout } from 'rxvoice/operators';
 *
 * // The limit follows the state: a minute to connect, then ten seconds, and none while nothing is asked for.
 * const limits: Record<string, number> = { connecting: 60_000, asked: 10_000 };
 * of('connecting', 'idle', 'asked').pipe(stallTimeout({ idleMs: (state) => limits[state] })).subscribe(console.log);
 * ```
 */
export function stallTimeout<T>(options: StallTimeoutOptions<T>): MonoTypeOperatorFunction<T> {
  const { firstMs, idleMs, isProgress = () => true, scheduler = asyncScheduler, error = stallError } = options;
  if (firstMs === undefined && idleMs === undefined) return (source$) => source$;
  const limitAfter = typeof idleMs === 'function' ? idleMs : (): number | undefined => idleMs;

  return (source$) =>
    new Observable((subscriber) => {
      let limitMs = firstMs ?? (typeof idleMs === 'number' ? idleMs : undefined);
      let stalled: 'first' | 'idle' = 'first';
      let last: T | undefined;
      const alarm = new Alarm(scheduler, () => subscriber.error(error(stalled, limitMs ?? Infinity, last)));
      const watch = (): void => alarm.set(limitMs === undefined ? Infinity : scheduler.now() + limitMs);
      const advance = (value: T): void => {
        limitMs = limitAfter(value);
        stalled = 'idle';
        last = value;
        subscriber.next(value);
        watch();
      };

      // Timers are set after what they follow, and cleared after what ends: neither a request nor its end waits for one.
      feed(source$, subscriber, {
        next: (value) => {
          if (isProgress(value)) advance(value);
          else subscriber.next(value);
        },
        complete: () => subscriber.complete(),
      });
      subscriber.add(alarm);
      watch();
    });
}

function stallError(stalled: 'first' | 'idle', ms: number): VoiceError {
  const message = stalled === 'first' ? `nothing arrived within ${ms} ms` : `nothing more arrived for ${ms} ms`;
  return new VoiceError(message, { code: 'timeout', recoverable: true });
}
