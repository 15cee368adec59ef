import { defer, EMPTY, filter, map, repeat, startWith, switchMap, type Observable, type SchedulerLike } from 'rxjs';
import { patientTimer } from '../../transport/patient-timer.ts';

/** Options of {@link stalls}. */
export interface StallOptions {
  /** Emits when what is waited for has changed: the wait begins anew. */
  readonly wait$: Observable<void>;
  /** How long may be waited, in milliseconds; `undefined` while nothing is waited for. */
  readonly limitMs: () => number | undefined;
  /** When the service was last heard, or a wait began, in milliseconds of the scheduler's clock. */
  readonly heard: { at: number };
  readonly scheduler: SchedulerLike;
}

/**
 * Emits a wait's limit, in milliseconds, whenever nothing was heard for so long. One timer serves any number of
 * messages. Never completes by itself.
 */
export function stalls({ wait$, limitMs, heard, scheduler }: StallOptions): Observable<number> {
  return wait$.pipe(
    startWith(undefined),
    switchMap(() => {
      const ms = limitMs();
      if (ms === undefined) return EMPTY;
      heard.at = scheduler.now();
      const elapsedMs = (): number => scheduler.now() - heard.at;
      return defer(() => patientTimer(ms - elapsedMs(), scheduler)).pipe(
        repeat(),
        filter(() => elapsedMs() >= ms),
        map(() => ms),
      );
    }),
  );
}
