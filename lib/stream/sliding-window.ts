interface Entry {
  readonly at: number;
  readonly amount: number;
}

/** A service's limit on the amount it accepts in any period of a given length. Immutable. */
export class SlidingWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  /** Oldest first. */
  readonly #entries: readonly Entry[];
  /** The amount of all entries. */
  readonly #sum: number;

  /**
   * @param limit - Most that the service accepts in a window.
   * @param windowMs - Length of the window, in milliseconds.
   */
  constructor(limit: number, windowMs: number, entries: readonly Entry[] = [], sum: number = 0) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#entries = entries;
    this.#sum = sum;
  }

  /** Returns the window with an amount added, dropping what has expired. */
  add(amount: number, now: number): SlidingWindow {
    const { count, sum } = this.#expired(now);
    const entries = [...this.#entries.slice(count), { at: now, amount }];
    return new SlidingWindow(this.#limit, this.#windowMs, entries, this.#sum - sum + amount);
  }

  /** The remaining amount. */
  left(now: number): number {
    return this.#limit - this.#sum + this.#expired(now).sum;
  }

  /** Milliseconds until `amount` (or a full window, if it exceeds the limit) may be added; 0 if now. */
  waitMs(amount: number, now: number): number {
    let missing = Math.min(amount, this.#limit) - this.left(now);
    let waitMs = 0;
    for (const { at, amount: freed } of this.#entries.slice(this.#expired(now).count)) {
      if (missing <= 0) break;
      missing -= freed;
      waitMs = at + this.#windowMs - now;
    }
    return waitMs;
  }

  /** How many entries no longer count, and their amount. If the clock was set back, all before that (F45). */
  #expired(now: number): { readonly count: number; readonly sum: number } {
    let count = 0;
    let sum = 0;
    for (const { at, amount } of this.#entries) {
      if (at <= now && at + this.#windowMs > now) break;
      count += 1;
      sum += amount;
    }
    return { count, sum };
  }
}
