import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { feed } from './feed.ts';

/**
 * Emits the first value that matches, then completes: `filter` and `take(1)` with one subscriber instead of two. A
 * source without such a value completes without one.
 *
 * ```text
 * source                   --1--3--4--6--|
 * firstWhere(isEven)       --------(4|)
 * ```
 */
export function firstWhere<T>(matches: (value: T) => boolean): MonoTypeOperatorFunction<T> {
  return (source$) =>
    new Observable((subscriber) => {
      let isFound = false;
      feed(source$, subscriber, {
        next: (value) => {
          // The subscriber may cause another value before this call returns.
          if (isFound || !matches(value)) return;
          isFound = true;
          subscriber.next(value);
          subscriber.complete();
        },
        complete: () => subscriber.complete(),
      });
    });
}
