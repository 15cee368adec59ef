import { Observable, Subscription, type Observer, type Subscriber } from 'rxjs';

/**
 * What several sources emit, as it comes: completes when all of them have, fails with the first that fails.
 *
 * RxJS's `merge` does the same by way of `mergeMap`, whose nine closures and a subscriber for each source a call would
 * hold dozens of times over, and build anew in each turn.
 *
 * ```text
 * a                --1-----3--|
 * b                ----2--|
 * merge(a, b)      --1-2---3--|
 * ```
 */
export function merge<T extends readonly unknown[]>(
  ...sources: { readonly [K in keyof T]: Observable<T[K]> }
): Observable<T[number]> {
  return new Observable((subscriber) => {
    if (sources.length === 0) subscriber.complete();
    const merging = { subscriber, active: sources.length };
    for (const source$ of sources) {
      if (subscriber.closed) return;
      subscriber.add(source$.subscribe(new Branch(merging)));
    }
  });
}

interface Merging<T> {
  readonly subscriber: Subscriber<T>;
  /** Sources that have not completed. */
  active: number;
}

/** An observer that RxJS need not wrap, since it is a subscription too. */
class Branch<T> extends Subscription implements Observer<T> {
  readonly #merging: Merging<T>;

  constructor(merging: Merging<T>) {
    super();
    this.#merging = merging;
    // Before its source begins: an endless one must see the end of all.
    merging.subscriber.add(this);
  }

  next(value: T): void {
    if (!this.closed) this.#merging.subscriber.next(value);
  }

  error(error: unknown): void {
    if (!this.closed) this.#merging.subscriber.error(error);
  }

  complete(): void {
    if (this.closed) return;
    this.unsubscribe();
    this.#merging.active -= 1;
    if (this.#merging.active === 0) this.#merging.subscriber.complete();
  }
}
