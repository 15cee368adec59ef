/** A service's limit on how much it takes in any stretch of a given length. */
export class SlidingWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  #entries: { readonly at: number; readonly amount: number }[] = [];

  /**
   * @param limit - Most that the service takes in a window.
   * @param windowMs - Length of the window, in milliseconds.
   */
  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  add(amount: number, now: number): void {
    this.#entries.push({ at: now, amount });
  }

  /** What is left now. */
  left(now: number): number {
    this.#entries = this.#entries.filter(({ at }) => at + this.#windowMs > now);
    return this.#limit - this.#entries.reduce((sum, { amount }) => sum + amount, 0);
  }

  /** Milliseconds until `amount` (or all of an amount that is over the limit) may be added; 0 when it may be now. */
  waitMs(amount: number, now: number): number {
    let missing = Math.min(amount, this.#limit) - this.left(now);
    for (const entry of this.#entries) {
      if (missing <= 0) break;
      missing -= entry.amount;
      if (missing <= 0) return entry.at + this.#windowMs - now;
    }
    return 0;
  }
}
