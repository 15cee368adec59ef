import { Observable, type SchedulerLike } from 'rxjs';

/** What adding and subtracting fractions of milliseconds may be off by. */
const roundingMs = 0.001;

/** Whether a moment has come. A timer for a fraction of a millisecond may fire the width of a rounding too soon. */
export function isDue(at: number, now: number): boolean {
  return at - now < roundingMs;
}

/** Most that a time-out is prolonged, in milliseconds: a clock that was set forward looks like a blocked event loop. */
const maxPatienceMs = 1_000;

/** How long a time-out is prolonged that is looked at later than it was due, in milliseconds (RELIABILITY.md, F46). */
export function patienceMs(dueAt: number, now: number): number {
  return Math.min(Math.max(0, now - dueAt), maxPatienceMs);
}

/**
 * A `timer` for time-outs: when the event loop was blocked as it fell due, what arrived meanwhile is served before it
 * emits (RELIABILITY.md, F46).
 */
export function patientTimer(ms: number, scheduler: SchedulerLike): Observable<0> {
  return new Observable((subscriber) => {
    const delayMs = Math.max(0, ms);
    const dueAt = scheduler.now() + delayMs;
    return scheduler.schedule<boolean>(
      function (isServed) {
        if (isServed) {
          subscriber.next(0);
          subscriber.complete();
        } else this.schedule(true, patienceMs(dueAt, scheduler.now()));
      },
      delayMs,
      false,
    );
  });
}
