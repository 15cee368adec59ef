import { Subscription, type SchedulerLike } from 'rxjs';

/** Length of a tick, in milliseconds: a frame on most wires. */
export const tickMs = 20;

/** Below any clock's resolution, above the rounding error of a sum. */
const roundingMs = 1e-6;

/** Something to be woken by the clock. */
export interface Sleeper {
  /** Called when its time has come; it calls {@link PlaybackClock.wake} to be called again. */
  wake(): void;
}

const clocks = new WeakMap<SchedulerLike, PlaybackClock>();

/**
 * The one clock of everything that plays on a scheduler: a single timer for all sleepers, and none without sleepers.
 * Those in no hurry sleep until a tick, and are served in one pass. Ticks are counted from one origin, so late timers
 * never add up. When the time is set back, the clock stands still instead (docs/faults.md, F45).
 */
export class PlaybackClock {
  readonly #scheduler: SchedulerLike;
  readonly #baseMs: number;
  readonly #wakeTimes = new Map<Sleeper, number>();
  /** Origin of the ticks. */
  #originMs = 0;
  #lastMs = 0;
  /** How far the scheduler's clock was set back. */
  #skewMs = 0;
  #timer = Subscription.EMPTY;
  #timerAt = Infinity;

  private constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler;
    this.#baseMs = scheduler.now();
  }

  /** The clock of a scheduler. */
  static of(scheduler: SchedulerLike): PlaybackClock {
    const clock = clocks.get(scheduler) ?? new PlaybackClock(scheduler);
    clocks.set(scheduler, clock);
    return clock;
  }

  /** Milliseconds since the clock was created. Never goes back. */
  now(): number {
    const now = this.#scheduler.now() - this.#baseMs;
    if (now + this.#skewMs < this.#lastMs) this.#skewMs = this.#lastMs - now;
    this.#lastMs = now + this.#skewMs;
    return this.#lastMs;
  }

  /** Converts a time of this clock to the scheduler's. */
  timestampOf(ms: number): number {
    return ms - this.#skewMs + this.#baseMs;
  }

  /** The first tick at or after a time. The only sleeper sets the origin. */
  tickAt(ms: number): number {
    if (this.#wakeTimes.size === 0) this.#originMs = this.now();
    return this.#originMs + Math.ceil((ms - this.#originMs) / tickMs - roundingMs) * tickMs;
  }

  /** Wakes a sleeper once at a time, replacing any earlier one; `Infinity` cancels. */
  wake(sleeper: Sleeper, atMs: number): void {
    if (atMs < Infinity) this.#wakeTimes.set(sleeper, atMs);
    else this.#wakeTimes.delete(sleeper);
    if (this.#wakeTimes.size === 0) this.#rest();
    else if (atMs < this.#timerAt) this.#setTimer(atMs);
  }

  #rest(): void {
    this.#timer.unsubscribe();
    this.#timerAt = Infinity;
  }

  #setTimer(atMs: number): void {
    this.#timer.unsubscribe();
    this.#timerAt = atMs;
    const delay = Math.max(0, Math.ceil(atMs - this.now() - roundingMs));
    this.#timer = this.#scheduler.schedule(() => this.#pass(), delay);
  }

  /** Serves everyone whose time has come. */
  #pass(): void {
    const now = this.now() + roundingMs;
    const due: Sleeper[] = [];
    for (const [sleeper, atMs] of this.#wakeTimes) if (atMs <= now) due.push(sleeper);
    // No timer is set before the pass is over.
    this.#timerAt = -Infinity;
    try {
      for (const sleeper of due) {
        // A sleeper served earlier may have cancelled or postponed this one.
        if ((this.#wakeTimes.get(sleeper) ?? Infinity) > now) continue;
        this.#wakeTimes.set(sleeper, Infinity);
        sleeper.wake();
      }
    } finally {
      this.#rest();
      let nextMs = Infinity;
      for (const [sleeper, atMs] of this.#wakeTimes) {
        if (atMs === Infinity) this.#wakeTimes.delete(sleeper);
        nextMs = Math.min(nextMs, atMs);
      }
      if (nextMs < Infinity) this.#setTimer(nextMs);
    }
  }
}
