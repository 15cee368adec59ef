import { asyncScheduler, defer, retry, tap, timer, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import { createBackoff, type BackoffOptions } from './backoff.ts';
import type { Retry } from './retry-backoff.ts';

/** Options of {@link keepRetrying}. */
export interface KeepRetryingOptions extends Pick<BackoffOptions, 'initialMs' | 'jitter' | 'random'> {
  /** Longest wait of any retry, in milliseconds. */
  readonly maxMs: number;
  /** Whether to retry after an error; any other passes unchanged. Default: after every error. */
  readonly shouldRetry?: (error: unknown) => boolean;
  /** Called before the wait of each retry. */
  readonly onRetry?: (retry: Retry) => void;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Resubscribes to a failed source however often it fails: waits grow from one failure to the next, and start over after
 * a value. For what may take its time, such as a broker that is away; {@link retryBackoff} gives up.
 *
 * ```text
 * source            -#                    fails 1 ms after each subscription
 * keepRetrying()    --------------        asks again after 2, 4, 4, … ms (initialMs: 2, maxMs: 4)
 * ```
 */
export function keepRetrying<T>(options: KeepRetryingOptions): MonoTypeOperatorFunction<T> {
  const { maxMs, shouldRetry = () => true, onRetry = () => undefined, scheduler = asyncScheduler, ...waits } = options;
  return (source$) =>
    defer(() => {
      const backoff = createBackoff({
        ...{ ...waits, maxMs, shouldRetry: () => true, now: () => scheduler.now() },
        ...{ maxTries: Infinity, resetAfterMs: 0, quickFailures: { count: Infinity, withinMs: 0 } },
      });
      return source$.pipe(
        tap(() => backoff.succeeded()),
        retry({
          delay: (error: unknown) => {
            if (!shouldRetry(error)) throw error;
            const delayMs = backoff.next(error) ?? maxMs;
            onRetry({ error, attempt: backoff.tries, delayMs });
            return timer(delayMs, scheduler);
          },
        }),
      );
    });
}
