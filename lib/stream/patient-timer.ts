import { NEVER, Observable, Subscription, type SchedulerAction, type SchedulerLike } from 'rxjs';

/** Rounding error in sums of fractional milliseconds. */
const roundingMs = 0.001;

/** Whether a moment has come. A timer for a fraction of a millisecond may fire early by a rounding error. */
export function isDue(at: number, now: number): boolean {
  return at - now < roundingMs;
}

/** Longest extension of a timeout, in milliseconds: a clock set forward looks like a blocked event loop. */
const maxPatienceMs = 1_000;

/** Longest wait that a runtime's timers support, in milliseconds (25 days); a longer one would end at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/**
 * One timer for a deadline that moves. A timer due sooner is kept, and looks again when it fires: most deadlines only
 * move later.
 *
 * What arrived by the deadline is delivered first, even if the event loop was blocked when it came (docs/faults.md,
 * F46). A clock that is set back does not prolong the wait; one set forward ends it within a second (F45).
 */
export class Alarm {
  readonly #scheduler: SchedulerLike;
  readonly #onDue: (at: number) => void;
  #at = Infinity;
  #timer = Subscription.EMPTY;
  #timerAt = Infinity;
  #isOver = false;
  readonly #ring: (this: SchedulerAction<boolean>, hasWaited?: boolean) => void;

  /** @param onDue - Called with the deadline when it has come, on the scheduler's clock in milliseconds. */
  constructor(scheduler: SchedulerLike, onDue: (at: number) => void) {
    this.#scheduler = scheduler;
    this.#onDue = onDue;
    const fire = (hasWaited = false): number | undefined => this.#fire(hasWaited);
    this.#ring = function (hasWaited) {
      const moreMs = fire(hasWaited);
      if (moreMs !== undefined) this.schedule(true, moreMs);
    };
  }

  /** Moves the deadline; `Infinity` means none. */
  set(at: number): void {
    if (this.#isOver) return;
    this.#at = at;
    const isKept = at === this.#timerAt || (at > this.#timerAt && at < Infinity);
    if (!isKept) this.#start(this.#scheduler.now());
  }

  /** Ends it for good. */
  unsubscribe(): void {
    this.set(Infinity);
    this.#isOver = true;
  }

  #start(now: number): void {
    this.#timer.unsubscribe();
    this.#timerAt = this.#at < Infinity ? Math.min(this.#at, now + longestTimerMs) : Infinity;
    if (this.#at === Infinity) return;
    this.#timer = this.#scheduler.schedule(this.#ring, Math.max(0, this.#timerAt - now), false);
  }

  /** Returns how much longer to wait for what may have arrived meanwhile, in milliseconds. */
  #fire(hasWaited: boolean): number | undefined {
    // The timer's own moment has come, even if the clock was set back meanwhile.
    const now = Math.max(this.#timerAt, this.#scheduler.now());
    if (!isDue(this.#at, now)) {
      this.#start(now);
      return undefined;
    }
    if (!hasWaited) return Math.min(now - this.#timerAt, maxPatienceMs);
    const at = this.#at;
    this.#at = this.#timerAt = Infinity;
    this.#onDue(at);
    return undefined;
  }
}

/** A `timer` for timeouts of any length, as patient as an {@link Alarm}; never emits for `Infinity`. */
export function patientTimer(ms: number, scheduler: SchedulerLike): Observable<0> {
  if (ms === Infinity) return NEVER;
  return new Observable((subscriber) => {
    const alarm = new Alarm(scheduler, () => {
      subscriber.next(0);
      subscriber.complete();
    });
    alarm.set(scheduler.now() + Math.max(0, ms));
    return alarm;
  });
}
