import { Observable, type OperatorFunction } from 'rxjs';
import { feed } from './feed.ts';

/**
 * Emits a part of each value when it differs from the one before: `map` and `distinctUntilChanged` with one subscriber
 * instead of two.
 *
 * @param isSame - Whether two parts are the same. Default: `===`.
 *
 * ```text
 * source            --{a:1,b:1}--{a:1,b:2}--{a:2,b:2}--|
 * select(a)         --1----------------------2---------|
 * ```
 */
export function select<T, R>(
  pick: (value: T) => R,
  isSame: (before: R, now: R) => boolean = (before, now) => before === now,
): OperatorFunction<T, R> {
  return (source$) =>
    new Observable((subscriber) => {
      let latest: { readonly part: R } | undefined;
      feed(source$, subscriber, {
        next: (value) => {
          const part = pick(value);
          if (latest && isSame(latest.part, part)) return;
          latest = { part };
          subscriber.next(part);
        },
        complete: () => subscriber.complete(),
      });
    });
}
