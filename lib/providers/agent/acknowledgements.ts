import type { SchedulerLike } from 'rxjs';

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Promises that a service's acknowledgements keep, of each kind the oldest first. */
export class Acknowledgements {
  readonly #waiting = new Map<string, Waiting[]>();
  #included: Waiting[] = [];

  /** Resolves with the acknowledgement of this kind that belongs to it; rejects with `late()` after a time-out. */
  wait(kind: string, timeoutMs: number, late: () => Error, scheduler: SchedulerLike): Promise<void> {
    return new Promise((resolve, reject) => {
      // One that is late keeps its place: its acknowledgement may still come, and is nobody else's.
      const timer = scheduler.schedule(() => reject(late()), timeoutMs);
      const settled = (settle: () => void): void => {
        timer.unsubscribe();
        settle();
      };
      const waiting = { resolve: () => settled(resolve), reject: (error: Error) => settled(() => reject(error)) };
      this.#waiting.set(kind, [...(this.#waiting.get(kind) ?? []), waiting]);
    });
  }

  acknowledge(kind: string): void {
    this.#waiting.get(kind)?.shift()?.resolve();
  }

  /** What waits was said in another way, which {@link confirm} acknowledges. */
  include(): void {
    this.#included = this.#all();
    this.#waiting.clear();
  }

  confirm(): void {
    for (const { resolve } of this.#included) resolve();
    this.#included = [];
  }

  /** Nothing that waits will happen. */
  fail(error: Error): void {
    for (const { reject } of this.#all()) reject(error);
    this.#waiting.clear();
    this.#included = [];
  }

  #all(): Waiting[] {
    return [...this.#included, ...[...this.#waiting.values()].flat()];
  }
}
