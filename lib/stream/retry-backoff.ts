import {
  asyncScheduler,
  defer,
  NEVER,
  Observable,
  take,
  timer,
  type MonoTypeOperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { asFatal, createBackoff, type BackoffOptions } from './backoff.ts';
import { feed } from './feed.ts';
import { merge } from './merge.ts';
import { longestTimerMs } from './patient-timer.ts';

/** The argument of {@link RetryBackoffOptions.onRetry}. */
export interface Retry {
  readonly error: unknown;
  /** 1 for the first retry since the last lasting success; 0 for a restart. */
  readonly attempt: number;
  /** Milliseconds until it starts. */
  readonly delayMs: number;
}

/** Options of {@link retryBackoff}. */
export interface RetryBackoffOptions extends BackoffOptions {
  /** Called before the wait of each retry. */
  readonly onRetry?: (retry: Retry) => void;
  /** Whether an error only asks to start over: at once, and without counting as a failure. Default: none does. */
  readonly isRestart?: (error: unknown) => boolean;
  /** Ends a wait at once, unless the error asked for it: whatever stood in the way may be over. Default: never. */
  readonly wake$?: Observable<unknown>;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Resubscribes to a failed source after a wait that grows with each failure (exponential backoff with full jitter, the
 * first retry within 250 ms), or that the error itself asks for (`retryAfterMs`).
 *
 * The first value of a subscription counts as success: waits start over once it has lasted 10 s. The source is given up
 * after three consecutive successes of under 5 s each, after 10 retries without success, or on an unrecoverable error.
 * It then fails with an unrecoverable VoiceError, whose cause is the last error. Unsubscribing ends a wait at once.
 *
 * With `untilFirst` an error after the first value passes at once: an answer that has begun is never begun twice. The
 * last error then passes unchanged, so that the caller can still see whether to ask again.
 *
 * ```text
 * source            -a-#                  fails 3 ms after each subscription
 * retryBackoff()    -a------a------a-#    waits 4 ms (initialMs: 4, factor: 1)
 *                                         gives up after 3 quick failures
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
  const { scheduler = asyncScheduler, onRetry, isRestart, wake$ = NEVER } = options;
  return (source$) =>
    new Observable((subscriber) => {
      const backoff = createBackoff({ now: () => scheduler.now(), ...options });
      const wait$ = (error: unknown): Observable<unknown> => {
        if (isRestart?.(error)) {
          onRetry?.({ error, attempt: 0, delayMs: 0 });
          return timer(0, scheduler);
        }
        const delayMs = backoff.next(error);
        if (delayMs === undefined) throw options.untilFirst ? VoiceError.from(error) : asFatal(error, backoff.tries);
        onRetry?.({ error, attempt: backoff.tries, delayMs });
        const delay$ = timer(Math.min(delayMs, longestTimerMs), scheduler);
        return VoiceError.is(error) && error.retryAfterMs !== undefined ? delay$ : merge(delay$, wake$).pipe(take(1));
      };
      const attempt = (): void => {
        feed(source$, subscriber, {
          next: (value) => {
            backoff.succeeded();
            subscriber.next(value);
          },
          error: (error) => {
            feed(
              defer(() => wait$(error)),
              subscriber,
              { next: attempt, complete: () => undefined },
            );
          },
          complete: () => subscriber.complete(),
        });
      };
      attempt();
    });
}
