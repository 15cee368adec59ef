import { Observable, type OperatorFunction } from 'rxjs';
import { feed } from './feed.ts';

/**
 * Emits what a function makes of each value, unless that is `undefined`: `filter` and `map` with one subscriber instead
 * of two.
 *
 * @param onError - Receives the source's error, which ends the result as its completion would. Default: it passes.
 *
 * ```text
 * source                 --1--2--3--|
 * filterMap(half)        -----1-----|     half: of even numbers only
 * ```
 */
export function filterMap<T, R>(
  project: (value: T) => R | undefined,
  onError?: (error: unknown) => void,
): OperatorFunction<T, R> {
  return (source$) =>
    new Observable((subscriber) => {
      const complete = (): void => subscriber.complete();
      feed(source$, subscriber, {
        next: (value) => {
          const result = project(value);
          if (result !== undefined) subscriber.next(result);
        },
        complete,
        ...(onError && {
          error: (error: unknown) => {
            onError(error);
            complete();
          },
        }),
      });
    });
}
