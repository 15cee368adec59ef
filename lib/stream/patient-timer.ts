import { NEVER, Observable, type SchedulerLike } from 'rxjs';

/** Rounding error in sums of fractional milliseconds. */
const roundingMs = 0.001;

/** Whether a moment has come. A timer for a fraction of a millisecond may fire early by a rounding error. */
export function isDue(at: number, now: number): boolean {
  return at - now < roundingMs;
}

/** Longest extension of a timeout, in milliseconds: a clock set forward looks like a blocked event loop. */
const maxPatienceMs = 1_000;

/** How much to extend a timeout that is checked late, in milliseconds (RELIABILITY.md, F46). */
export function patienceMs(dueAt: number, now: number): number {
  return Math.min(Math.max(0, now - dueAt), maxPatienceMs);
}

/** Longest wait that a runtime's timers know, in milliseconds (25 days); a longer one would end at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/**
 * A `timer` for timeouts of any length; never emits for `Infinity`. If the event loop was blocked when it fell due,
 * whatever arrived meanwhile is delivered before it emits (RELIABILITY.md, F46).
 */
export function patientTimer(ms: number, scheduler: SchedulerLike): Observable<0> {
  if (ms === Infinity) return NEVER;
  return new Observable((subscriber) => {
    const delayMs = Math.max(0, ms);
    const dueAt = scheduler.now() + delayMs;
    let leftMs = delayMs - longestTimerMs;
    return scheduler.schedule<boolean>(
      function (isServed) {
        if (isServed) {
          subscriber.next(0);
          subscriber.complete();
        } else if (leftMs > 0) {
          this.schedule(false, Math.min(leftMs, longestTimerMs));
          leftMs -= longestTimerMs;
        } else this.schedule(true, patienceMs(dueAt, scheduler.now()));
      },
      Math.min(delayMs, longestTimerMs),
      false,
    );
  });
}
