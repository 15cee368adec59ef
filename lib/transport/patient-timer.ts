import { defer, switchMap, timer, type Observable, type SchedulerLike } from 'rxjs';

/** Most that a time-out is prolonged, in milliseconds: a clock that was set forward looks like a blocked event loop. */
const maxPatienceMs = 1_000;

/**
 * A `timer` for time-outs: when the event loop was blocked as it fell due, what arrived meanwhile is served before it
 * emits (RELIABILITY.md, F46).
 */
export function patientTimer(ms: number, scheduler: SchedulerLike): Observable<0> {
  return defer(() => {
    const dueAt = scheduler.now() + ms;
    return timer(ms, scheduler).pipe(
      switchMap(() => timer(Math.min(Math.max(0, scheduler.now() - dueAt), maxPatienceMs), scheduler)),
    );
  });
}
