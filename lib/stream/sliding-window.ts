interface Entry {
  readonly at: number;
  readonly amount: number;
}

/** A service's limit on the amount it accepts in any period of a given length. Immutable. */
export class SlidingWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #entries: readonly Entry[];

  /**
   * @param limit - Most that the service accepts in a window.
   * @param windowMs - Length of the window, in milliseconds.
   */
  constructor(limit: number, windowMs: number, entries: readonly Entry[] = []) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#entries = entries;
  }

  /** Returns the window with an amount added, dropping what has expired. */
  add(amount: number, now: number): SlidingWindow {
    return new SlidingWindow(this.#limit, this.#windowMs, [...this.#within(now), { at: now, amount }]);
  }

  /** The remaining amount. */
  left(now: number): number {
    return this.#limit - this.#within(now).reduce((sum, { amount }) => sum + amount, 0);
  }

  /** Milliseconds until `amount` (or a full window, if it exceeds the limit) may be added; 0 if now. */
  waitMs(amount: number, now: number): number {
    const missing = Math.min(amount, this.#limit) - this.left(now);
    if (missing <= 0) return 0;
    const entries = this.#within(now);
    const freed = entries.findIndex((_, index) => sumTo(entries, index) >= missing);
    return (entries[freed]?.at ?? now) + this.#windowMs - now;
  }

  #within(now: number): readonly Entry[] {
    return this.#entries.filter(({ at }) => at + this.#windowMs > now);
  }
}

function sumTo(entries: readonly Entry[], last: number): number {
  return entries.slice(0, last + 1).reduce((sum, { amount }) => sum + amount, 0);
}
