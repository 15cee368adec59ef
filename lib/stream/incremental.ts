import { Observable, type OperatorFunction } from 'rxjs';
import { feed } from './feed.ts';

/** A stateful transformation of a stream's values. */
export interface IncrementalStage<I, O> {
  /** Returns what a value produces, possibly together with earlier ones. */
  push(value: I): Iterable<O>;
  /** Returns what is left when the source has completed. */
  flush(): Iterable<O>;
}

/**
 * Runs a stage over a stream, a new one per subscription. Values that arrive while results are being delivered wait
 * their turn; errors of the source pass at once, without a flush.
 */
export function incremental<I, O>(createStage: () => IncrementalStage<I, O>): OperatorFunction<I, O> {
  return (source$) =>
    new Observable((subscriber) => {
      const stage = createStage();
      const waiting: (() => Iterable<O>)[] = [];
      let delivering = false;
      const isClosed = (): boolean => subscriber.closed;
      const deliver = (results: () => Iterable<O>): void => {
        waiting.push(results);
        if (delivering) return;
        delivering = true;
        try {
          for (let next = waiting.shift(); next && !isClosed(); next = waiting.shift()) {
            for (const result of next()) {
              // A subscriber may unsubscribe on receiving a result.
              if (isClosed()) break;
              subscriber.next(result);
            }
          }
        } catch (error) {
          subscriber.error(error);
        } finally {
          delivering = false;
        }
      };
      const end = function* (): Iterable<O> {
        yield* stage.flush();
        subscriber.complete();
      };
      feed(source$, subscriber, {
        next: (value) => deliver(() => stage.push(value)),
        complete: () => deliver(end),
      });
    });
}
