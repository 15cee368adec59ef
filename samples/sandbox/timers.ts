/** Timers that are cleared together, so that nothing outlives the sandbox or a connection. */
export class Timers {
  readonly #running = new Set<ReturnType<typeof setTimeout>>();
  readonly #children = new Set<Timers>();
  readonly #sleepers = new Set<() => void>();
  #parent: Timers | undefined;

  /** Timers that are cleared with these, or earlier. */
  child(): Timers {
    const child = new Timers();
    this.#children.add(child);
    child.#parent = this;
    return child;
  }

  /** Runs something once, later; the returned function forgets it. */
  after(ms: number, action: () => void): () => void {
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      action();
    }, ms);
    this.#running.add(timer);
    return () => {
      clearTimeout(timer);
      this.#running.delete(timer);
    };
  }

  /** Resolves later, or at once when these timers are cleared. */
  async sleep(ms: number): Promise<void> {
    if (ms <= 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      return;
    }
    await new Promise<void>((resolve) => {
      const forget = (): void => {
        cancel();
        this.#sleepers.delete(forget);
        resolve();
      };
      const cancel = this.after(ms, forget);
      this.#sleepers.add(forget);
    });
  }

  clear(): void {
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
    for (const wake of [...this.#sleepers]) wake();
    for (const child of [...this.#children]) child.clear();
    this.#children.clear();
    if (this.#parent) this.#parent.#children.delete(this);
  }
}

/** Calls back once nothing has touched it for a time. Touching costs next to nothing: audio does it for each frame. */
export class IdleTimer {
  #touched: number = performance.now();

  constructor(timers: Timers, ms: number, action: () => void) {
    const check = (): void => {
      const left = this.#touched + ms - performance.now();
      if (left > 0) timers.after(left, check);
      else action();
    };
    timers.after(ms, check);
  }

  touch(): void {
    this.#touched = performance.now();
  }
}
