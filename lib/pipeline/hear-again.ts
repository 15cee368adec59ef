import {
  catchError,
  defer,
  EMPTY,
  exhaustMap,
  type Observable,
  retry,
  type SchedulerLike,
  switchMap,
  tap,
  timer,
} from 'rxjs';
import type { STTProvider } from '../core/roles.ts';
import { createBackoff } from '../stream/backoff.ts';
import { filterMap } from '../stream/filter-map.ts';

/** Longest wait that a service may ask for, in milliseconds. */
const maxAskedMs = 60_000;

/**
 * Reconnects speech-to-text after it has given up, until it can be reached: at first within 250 ms, then less and less
 * often, but at least every 10 s. It does not stop even at a permanent refusal: a key may be renewed, a quota raised or
 * a server repaired during the conversation.
 *
 * ```text
 * connection$   -l--------------
 * connect()     ---#---#-----ok-      l: lost
 * ```
 */
export function hearAgain(stt: STTProvider, scheduler: SchedulerLike): Observable<void> {
  return defer(() => {
    const backoff = createBackoff({
      now: () => scheduler.now(),
      maxTries: Infinity,
      quickFailures: { count: Infinity, withinMs: 0 },
      maxRetryAfterMs: maxAskedMs,
      shouldRetry: () => true,
    });
    let last: unknown;
    const connected$ = defer(() => timer(backoff.next(last) ?? maxAskedMs, scheduler)).pipe(
      switchMap(async () => stt.connect()),
      tap(() => backoff.succeeded()),
      catchError((error: unknown) => {
        last = error;
        throw error;
      }),
      retry(),
    );
    return (stt.connection$ ?? EMPTY).pipe(
      // Whoever publishes these events reports their errors.
      filterMap(
        ({ type }) => (type === 'lost' ? type : undefined),
        () => undefined,
      ),
      exhaustMap(() => connected$),
    );
  });
}
