/** A service's limit on how much it takes in any stretch of a given length. */
export class SlidingWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  #entries: { readonly at: number; readonly amount: number }[] = [];
  /** The sum of all entries. */
  #taken = 0;

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
    this.#taken += amount;
  }

  /** What is left now. */
  left(now: number): number {
    let past = 0;
    for (const { at, amount } of this.#entries) {
      if (at + this.#windowMs > now) break;
      this.#taken -= amount;
      past++;
    }
    if (past > 0) this.#entries.splice(0, past);
    return this.#limit - this.#taken;
  }

  /** Milliseconds until `amount` (or all of an amount that is over the limit) may be added; 0 when it may be now. */
  waitMs(amount: number, now: number): number {
    let missing = Math.min(amount, this.#limit) - this.left(now);
    if (missing <= 0) return 0;
    for (const entry of this.#entries) {
      missing -= entry.amount;
      if (missing <= 0) return entry.at + this.#windowMs - now;
    }
    return 0;
  }
}
