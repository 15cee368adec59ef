import { VoiceError } from '../core/errors.ts';

/** When to try again, and when to stop trying (docs/faults.md, F1, F4, F5, F18). */
export interface BackoffOptions {
  /** Longest wait before the first retry, in milliseconds. Default: 250. */
  readonly initialMs?: number;
  /** Growth of the wait from one retry to the next. Default: 2. */
  readonly factor?: number;
  /** Longest wait of any retry, in milliseconds. Default: 10,000. */
  readonly maxMs?: number;
  /**
   * `full` waits a random part of the delay, so that clients don't all return at once; `none` waits all of it. Default:
   * `full`.
   */
  readonly jitter?: 'full' | 'none';
  /** Consecutive retries before giving up; they take less than the minute of audio that is kept. Default: 10. */
  readonly maxTries?: number;
  /** How long a success must last, in milliseconds, to reset the count of retries. Default: 10,000. */
  readonly resetAfterMs?: number;
  /**
   * Gives up after `count` consecutive successes that each lasted less than `withinMs` milliseconds. Default: 3 within
   * 5,000.
   */
  readonly quickFailures?: { readonly count: number; readonly withinMs: number };
  /** Longest {@link VoiceError.retryAfterMs} to wait for; gives up when the service asks for more. Default: 60,000. */
  readonly maxRetryAfterMs?: number;
  /** Longest total wait since the last success, in milliseconds; gives up beyond it. Default: no limit. */
  readonly budgetMs?: number;
  /** Retries only until the first success; any later failure is final. Default: false. */
  readonly untilFirst?: boolean;
  /**
   * Whether to retry after an error; a number is the wait in milliseconds, instead of the backoff. Default: only
   * `recoverable` errors are retried.
   */
  readonly shouldRetry?: (error: unknown) => boolean | number;
  /** Returns 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Retry state of one operation. */
export interface Backoff {
  /** Attempts since the last lasting success, including the one just allowed by {@link next}. */
  readonly tries: number;
  /** Milliseconds to wait after a failure before the next attempt; `undefined` to give up. */
  next(error?: unknown): number | undefined;
  /** An attempt has succeeded just now. */
  succeeded(): void;
}

/** Whether it is a VoiceError that a retry may fix: a bug is not. */
export function isRecoverable(error: unknown): error is VoiceError {
  return VoiceError.is(error) && error.recoverable;
}

/**
 * The policy of every retry in the library: exponential backoff with full jitter, a first retry within 300 ms, respect
 * for the service's requested wait, and an end when successes never last.
 *
 * @param options - The policy, and `now`: the time in milliseconds, such as a scheduler's `now()`.
 */
export function createBackoff(options: BackoffOptions & { readonly now: () => number }): Backoff {
  const {
    initialMs = 250,
    factor = 2,
    maxMs = 10_000,
    jitter = 'full',
    maxTries = 10,
    resetAfterMs = 10_000,
  } = options;
  const { quickFailures = { count: 3, withinMs: 5000 }, maxRetryAfterMs = 60_000 } = options;
  const { budgetMs = Infinity, untilFirst = false } = options;
  const { shouldRetry = (error) => !VoiceError.is(error) || isRecoverable(error), random = Math.random, now } = options;
  let tries = 0;
  let waitedMs = 0;
  let quick = 0;
  let upSince: number | undefined;

  const settle = (): void => {
    if (upSince === undefined) return;
    waitedMs = 0;
    const lasted = now() - upSince;
    upSince = undefined;
    quick = lasted < quickFailures.withinMs ? quick + 1 : 0;
    if (lasted >= resetAfterMs) tries = 0;
  };
  const wait = (): number => {
    const full = Math.min(maxMs, initialMs * factor ** (tries - 1));
    return jitter === 'full' ? random() * full : full;
  };

  return {
    get tries() {
      return tries;
    },
    next(error) {
      if (untilFirst && upSince !== undefined) return undefined;
      settle();
      const verdict = shouldRetry(error);
      if (verdict === false || quick >= quickFailures.count || tries >= maxTries) return undefined;
      const asked = typeof verdict === 'number' ? verdict : VoiceError.is(error) ? error.retryAfterMs : undefined;
      if (asked !== undefined && verdict === true && asked > Math.min(maxRetryAfterMs, budgetMs)) return undefined;
      tries += 1;
      const ownMs = wait();
      // No wait only once: a service that keeps asking for no wait would use up all tries in a moment.
      const leastMs = tries === 1 || typeof verdict === 'number' ? 0 : ownMs;
      const delayMs = asked === undefined ? ownMs : Math.max(asked, leastMs);
      waitedMs += delayMs;
      return waitedMs > budgetMs ? undefined : delayMs;
    },
    succeeded() {
      upSince ??= now();
    },
  };
}

/**
 * The error that ends all retries: unchanged if it was never worth one, else unrecoverable, with the last error as its
 * cause.
 */
export function asFatal(error: unknown, tries: number): VoiceError {
  const cause = VoiceError.from(error);
  if (!cause.recoverable && cause === error) return cause;
  const { code, provider, status, retryAfterMs } = cause;
  const history = tries === 0 ? '' : ` (given up after ${tries} ${tries === 1 ? 'retry' : 'retries'})`;
  return new VoiceError(cause.message + history, { code, provider, status, retryAfterMs, cause: error });
}
