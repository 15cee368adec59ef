import {
  asyncScheduler,
  defer,
  retry,
  tap,
  throwError,
  timer,
  type MonoTypeOperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { asFatal, createBackoff, type BackoffOptions } from './backoff.ts';

/** What {@link RetryBackoffOptions.onRetry} is told. */
export interface Retry {
  readonly error: unknown;
  /** 1 for the first retry since the source last worked for long. */
  readonly attempt: number;
  /** Milliseconds until it begins. */
  readonly delayMs: number;
}

/** Options of {@link retryBackoff}. */
export interface RetryBackoffOptions extends BackoffOptions {
  /** Told of each retry before its wait. */
  readonly onRetry?: (retry: Retry) => void;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Subscribes to a failed source again, after a wait that grows from one failure to the next (exponential backoff with
 * full jitter, the first retry within 250 ms), or that the error itself asks for (`retryAfterMs`).
 *
 * The first value of a subscription counts as success: the waits start anew when it lasted 10 s, and when three
 * successes in a row end within 5 s each, the source is given up, as it is after 10 retries without success, or when an
 * error is not recoverable. The error is then passed as a VoiceError that is not recoverable, with the last one as its
 * cause. Unsubscribing ends a wait at once.
 *
 * With `untilFirst` an error after the first value is passed at once: an answer that has begun is not begun twice. The
 * last error is then passed as it is, so that whoever asked can still see whether it is worth asking again.
 *
 * ```text
 * source            -a-#              fails 3 ms after each subscription
 * retryBackoff()    -a------a------a-#     (3 quick failures)
 * ```
 *
 * @example
 * ```ts
 * import { defer, throwError } from 'rxjs';
 * import { retryBackoff } from 'rxvoice/operators';
 *
 * const line$ = defer(() => throwError(() => new Error('refused')));
 * line$
 *   .pipe(retryBackoff({ maxTries: 3, onRetry: ({ delayMs }) => console.log(`again in ${delayMs} ms`) }))
 *   .subscribe({ error: console.error }); // refused (given up after 3 retries)
 * ```
 */
export function retryBackoff<T>(options: RetryBackoffOptions = {}): MonoTypeOperatorFunction<T> {
  const { scheduler = asyncScheduler, onRetry } = options;
  return (source$) =>
    defer(() => {
      const backoff = createBackoff({ ...options, now: () => scheduler.now() });
      return source$.pipe(
        tap(() => backoff.succeeded()),
        retry({
          delay: (error: unknown) => {
            const delayMs = backoff.next(error);
            if (delayMs === undefined) {
              return throwError(() => (options.untilFirst ? VoiceError.from(error) : asFatal(error, backoff.tries)));
            }
            onRetry?.({ error, attempt: backoff.tries, delayMs });
            return timer(delayMs, scheduler);
          },
        }),
      );
    });
}
