import { Subscription, type SchedulerLike } from 'rxjs';

/** Length of a tick, in milliseconds: a frame of most wires. */
export const tickMs = 20;

/** Less than any clock tells, and more than a sum of fractions loses. */
const roundingMs = 1e-6;

/** Something that the clock wakes. */
export interface Sleeper {
  /** Called when its time has come; says with {@link PlaybackClock.wake} when it wants to be called again. */
  wake(): void;
}

const clocks = new WeakMap<SchedulerLike, PlaybackClock>();

/**
 * The one clock of everything that plays on a scheduler: a single timer, whoever sleeps, and none while nobody does.
 * Those who are in no hurry sleep until a tick, and all of them are served in one pass. Ticks are counted from one
 * origin, so late timers never add up. Time that is set back stands still instead (RELIABILITY.md, F45).
 */
export class PlaybackClock {
  readonly #scheduler: SchedulerLike;
  readonly #baseMs: number;
  readonly #wakeTimes = new Map<Sleeper, number>();
  /** Where the ticks are counted from. */
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

  /** Milliseconds since the clock was made. Never runs back. */
  now(): number {
    const now = this.#scheduler.now() - this.#baseMs;
    if (now + this.#skewMs < this.#lastMs) this.#skewMs = this.#lastMs - now;
    this.#lastMs = now + this.#skewMs;
    return this.#lastMs;
  }

  /** A time of this clock, on the scheduler's. */
  timestampOf(ms: number): number {
    return ms - this.#skewMs + this.#baseMs;
  }

  /** The first tick at or after a time. Who is alone starts the count. */
  tickAt(ms: number): number {
    if (this.#wakeTimes.size === 0) this.#originMs = this.now();
    return this.#originMs + Math.ceil((ms - this.#originMs) / tickMs - roundingMs) * tickMs;
  }

  /** Wakes somebody at a time, once, and no longer at another; at `Infinity` not at all. */
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

  /** Serves everybody whose time has come. */
  #pass(): void {
    const now = this.now() + roundingMs;
    const due: Sleeper[] = [];
    for (const [sleeper, atMs] of this.#wakeTimes) if (atMs <= now) due.push(sleeper);
    // Nobody sets a timer before the pass is over.
    this.#timerAt = -Infinity;
    try {
      for (const sleeper of due) {
        // One who was served before may have sent this one to sleep, or put it off.
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
