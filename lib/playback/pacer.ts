import { tickMs, type PlaybackClock } from './clock.ts';

/** Longest burst, in milliseconds of audio, however late a timer is (docs/faults.md, F46). */
const maxBurstMs = 200;

/** Sends one player's audio in real time, counted from one origin. */
export class Pacer {
  /** Audio sent so far, in milliseconds. */
  sentMs = 0;
  readonly #clock: PlaybackClock;
  readonly #leadMs: number;
  #originMs: number;
  /** The origin of {@link timeOf}. A late report does not move it: that does not mean that there was a gap. */
  #soundOriginMs: number;

  constructor(clock: PlaybackClock, leadMs: number) {
    this.#clock = clock;
    this.#leadMs = leadMs;
    this.#originMs = this.#soundOriginMs = clock.now();
  }

  /** The position now sounding if everything was sent in time, in milliseconds. */
  get positionMs(): number {
    return this.positionAt(this.#clock.now());
  }

  /** {@link positionMs} at a time already read: reading the clock costs more than the arithmetic. */
  positionAt(now: number): number {
    return now - this.#originMs;
  }

  /** Starts the clock: the audio at this position is the next to be sent, and sounds now. */
  seek(positionMs: number): void {
    this.sentMs = positionMs;
    this.#originMs = this.#soundOriginMs = this.#clock.now() - positionMs;
  }

  /** Called before sending after a gap: the next audio sounds now, not in the past. */
  skipGap(): void {
    if (this.positionMs > this.sentMs) this.seek(this.sentMs);
  }

  /** The receiver reports that it has only reached this position. */
  holdBack(positionMs: number): void {
    this.#originMs = Math.max(this.#originMs, this.#clock.now() - positionMs);
  }

  /** When the audio at a position sounds at this end, on the scheduler's clock. */
  timeOf(positionMs: number): number {
    return this.#clock.timestampOf(this.#soundOriginMs + positionMs);
  }

  /** Time until the clock reaches a position, in whole milliseconds. */
  until(positionMs: number, now: number = this.#clock.now()): number {
    return Math.max(0, Math.ceil(positionMs - this.positionAt(now) - 1e-9));
  }

  /**
   * Sends what is due, chunk by chunk; `send` is told for how many milliseconds the next one has been due, and returns
   * how many it sent, `undefined` when there was nothing. Lateness beyond the lead (or 200 ms) is forgiven: the schedule
   * shifts instead of bursting.
   *
   * @returns Time until the next chunk is due, in milliseconds.
   */
  run(send: (dueMs: number) => number | undefined): number {
    const now = this.#clock.now();
    const late = this.positionAt(now) + this.#leadMs - this.sentMs - Math.max(this.#leadMs, maxBurstMs);
    if (late > 0) this.#soundOriginMs = this.#originMs += late;
    let sent = 0;
    for (let wait = this.#wait(now); ; wait = this.#wait(now)) {
      if (wait > 0) return wait;
      if (sent >= maxBurstMs) return tickMs;
      const ms = send(this.positionAt(now) + this.#leadMs - this.sentMs);
      if (ms === undefined) return 0;
      sent += ms;
      this.sentMs += ms;
    }
  }

  #wait(now: number): number {
    return this.until(this.sentMs - this.#leadMs, now);
  }
}
