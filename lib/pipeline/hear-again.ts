import {
  catchError,
  defer,
  EMPTY,
  exhaustMap,
  of,
  type Observable,
  retry,
  type SchedulerLike,
  switchMap,
  take,
  tap,
  timer,
} from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { ProviderContract } from '../core/roles.ts';
import { createBackoff, online$ } from '../stream/backoff.ts';
import { filterMap } from '../stream/filter-map.ts';
import { merge } from '../stream/merge.ts';

/** Longest wait that a service may ask for, in milliseconds. */
const maxAskedMs = 60_000;

/** What hears the user: speech-to-text or an agent. */
type Listener = Pick<ProviderContract, 'connection$'> & { connect(): Promise<void> };

/**
 * Reconnects a listener after it has given up, until it can be reached: at first within 250 ms, then less and less
 * often, but at least every 10 s, and at once when a browser is on a network again. Speech-to-text does not stop even at
 * a permanent refusal: a key may be renewed, a quota raised or a server repaired during the conversation.
 *
 * ```text
 * connection$   -l--------------
 * connect()     ---#---#-----ok-      l: lost
 * ```
 *
 * @param mayPass - Whether to connect again after an error. Default: after any.
 */
export function hearAgain(
  listener: Listener,
  scheduler: SchedulerLike,
  mayPass: (error: unknown) => boolean = () => true,
): Observable<void> {
  return defer(() => {
    const backoff = createBackoff({
      now: () => scheduler.now(),
      maxTries: Infinity,
      quickFailures: { count: Infinity, withinMs: 0 },
      maxRetryAfterMs: maxAskedMs,
      shouldRetry: () => true,
    });
    const connected$ = defer(() => {
      // Of this loss: what the service asked for at an earlier one is over.
      let last: unknown;
      /** `online$` does not cut short a wait that the service has asked for. */
      const turn$ = defer(() => {
        const wait$ = timer(backoff.next(last) ?? maxAskedMs, scheduler);
        return VoiceError.is(last) && last.retryAfterMs !== undefined ? wait$ : merge(wait$, online$).pipe(take(1));
      });
      return turn$.pipe(
        switchMap(async () => listener.connect()),
        tap(() => backoff.succeeded()),
        catchError((error: unknown) => {
          last = error;
          throw error;
        }),
        retry({ delay: (error: unknown) => (mayPass(error) ? of(true) : EMPTY) }),
      );
    });
    return (listener.connection$ ?? EMPTY).pipe(
      // Whoever publishes these events reports their errors.
      filterMap(
        (event) => (event.type === 'lost' && mayPass(event.error) ? event : undefined),
        () => undefined,
      ),
      exhaustMap(() => connected$),
    );
  });
}
