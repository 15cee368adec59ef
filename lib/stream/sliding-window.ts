/** An amount, or several that were added at about the same time. */
interface Entry {
  /** When the first of them was added. */
  readonly since: number;
  /** When the last of them was added: none is freed too early. */
  readonly at: number;
  readonly amount: number;
}

/** Up to so many amounts are kept one by one; beyond, those of one such part of the window are kept as one. */
const parts = 64;

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
    const entries = this.#entries.slice(count);
    const last = entries.at(-1);
    const isJoined = last && entries.length >= parts && now - last.since < this.#windowMs / parts;
    if (isJoined) entries[entries.length - 1] = { since: last.since, at: now, amount: last.amount + amount };
    else entries.push({ since: now, at: now, amount });
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
