import { defer, EMPTY, fromEvent, type Observable } from 'rxjs';
import { VoiceError, withChanges } from '../core/errors.ts';

/** A browser is on a network again. */
export const online$: Observable<unknown> = defer(() =>
  'addEventListener' in globalThis ? fromEvent(globalThis as unknown as EventTarget, 'online') : EMPTY,
);

// docs/faults.md, F1, F4, F5, F18.
/** When to try again, and when to stop trying. */
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
  return new Retries(options);
}

const isWorthIt = (error: unknown): boolean => !VoiceError.is(error) || isRecoverable(error);

/** Without a closure of its own for each method: every connection holds one for as long as it lasts. */
class Retries implements Backoff {
  readonly #options: Parameters<typeof createBackoff>[0];
  #tries = 0;
  #waitedMs = 0;
  #quick = 0;
  #upSince: number | undefined;

  constructor(options: Parameters<typeof createBackoff>[0]) {
    this.#options = options;
  }

  get tries(): number {
    return this.#tries;
  }

  next(error?: unknown): number | undefined {
    const { maxTries = 10, maxRetryAfterMs = 60_000, budgetMs = Infinity } = this.#options;
    const { untilFirst = false, shouldRetry = isWorthIt } = this.#options;
    if (untilFirst && this.#upSince !== undefined) return undefined;
    this.#settle();
    const verdict = shouldRetry(error);
    if (verdict === false || this.#quick >= this.#quickFailures.count || this.#tries >= maxTries) return undefined;
    const asked = typeof verdict === 'number' ? verdict : VoiceError.is(error) ? error.retryAfterMs : undefined;
    if (asked !== undefined && verdict === true && asked > Math.min(maxRetryAfterMs, budgetMs)) return undefined;
    this.#tries += 1;
    const ownMs = this.#waitMs();
    // No wait only once: a service that keeps asking for no wait would use up all tries in a moment.
    const leastMs = this.#tries === 1 || typeof verdict === 'number' ? 0 : ownMs;
    const delayMs = asked === undefined ? ownMs : Math.max(asked, leastMs);
    this.#waitedMs += delayMs;
    return this.#waitedMs > budgetMs ? undefined : delayMs;
  }

  succeeded(): void {
    this.#upSince ??= this.#options.now();
  }

  get #quickFailures(): Required<BackoffOptions>['quickFailures'] {
    return this.#options.quickFailures ?? { count: 3, withinMs: 5_000 };
  }

  #settle(): void {
    if (this.#upSince === undefined) return;
    const { now, resetAfterMs = 10_000 } = this.#options;
    this.#waitedMs = 0;
    const lasted = now() - this.#upSince;
    this.#upSince = undefined;
    this.#quick = lasted < this.#quickFailures.withinMs ? this.#quick + 1 : 0;
    if (lasted >= resetAfterMs) this.#tries = 0;
  }

  #waitMs(): number {
    const { initialMs = 250, factor = 2, maxMs = 10_000, jitter = 'full', random = Math.random } = this.#options;
    const full = Math.min(maxMs, initialMs * factor ** (this.#tries - 1));
    return jitter === 'full' ? random() * full : full;
  }
}

/**
 * The error that ends all retries: unchanged if it was never worth one, else unrecoverable, with the last error as its
 * cause.
 */
export function asFatal(error: unknown, tries: number): VoiceError {
  const cause = VoiceError.from(error);
  if (!cause.recoverable && cause === error) return cause;
  const history = tries === 0 ? '' : ` (given up after ${tries} ${tries === 1 ? 'retry' : 'retries'})`;
  return withChanges(cause, { recoverable: false, cause: error }, cause.message + history);
}
