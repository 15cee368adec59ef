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
import { createBackoff } from '../core/backoff.ts';
import { VoiceError } from '../core/errors.ts';

/** Options of {@link retryBeforeFirst}. */
export interface RetryOptions {
  /** Tries after the first one. Default: 2. */
  readonly retries?: number | undefined;
  /**
   * Longest wait, all waits of the subscription together, in milliseconds. A service that asks for a longer one has
   * failed at once. Default: 10,000.
   */
  readonly budgetMs?: number | undefined;
  /** Whether a recoverable error is worth another try here. Default: each is. */
  readonly shouldRetry?: ((error: VoiceError) => boolean) | undefined;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
  /** 0 to below 1. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Told of each error that is tried again. */
  readonly onRetry?: ((error: VoiceError, delayMs: number) => void) | undefined;
}

/**
 * Subscribes again after a recoverable error, as long as the source has emitted nothing: what was spoken is not spoken
 * twice. Waits exactly as long as the service asks, else up to 500 ms and then 1 s with full jitter (RELIABILITY.md,
 * F17 to F19). Unsubscribing ends a wait.
 */
export function retryBeforeFirst<T>(options: RetryOptions = {}): MonoTypeOperatorFunction<T> {
  const { retries = 2, budgetMs = 10_000, scheduler = asyncScheduler, random, onRetry } = options;
  const { shouldRetry = () => true } = options;
  return (source$) =>
    defer(() => {
      const backoff = createBackoff({
        ...{ maxTries: retries, initialMs: 500, maxRetryAfterMs: budgetMs, now: () => scheduler.now() },
        ...(random ? { random } : {}),
      });
      let isStarted = false;
      let waitedMs = 0;
      return source$.pipe(
        tap(() => {
          isStarted = true;
        }),
        retry({
          delay: (cause: unknown) => {
            const error = VoiceError.from(cause);
            const delayMs = isStarted || !shouldRetry(error) ? undefined : backoff.next(error);
            if (delayMs === undefined) return throwError(() => error);
            waitedMs += delayMs;
            if (waitedMs > budgetMs) return throwError(() => error);
            onRetry?.(error, delayMs);
            return timer(delayMs, scheduler);
          },
        }),
      );
    });
}
