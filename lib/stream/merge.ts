import { Observable } from 'rxjs';
import { feed } from './feed.ts';

/**
 * Emits the values of several sources as they arrive: completes when all have completed, fails with the first that
 * fails.
 *
 * RxJS's `merge` does the same through `mergeMap`, whose nine closures and one subscriber per source a call would hold
 * dozens of times over and rebuild in each turn.
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
    let active = sources.length;
    const handlers = {
      next: (value: T[number]): void => subscriber.next(value),
      complete: (): void => {
        active -= 1;
        if (active === 0) subscriber.complete();
      },
    };
    for (const source$ of sources) if (!subscriber.closed) feed(source$, subscriber, handlers);
  });
}
