import { concat, ignoreElements, NEVER, Observable, tap, type OperatorFunction } from 'rxjs';

/** Turns a stream's values into others, with state. */
export interface IncrementalStage<I, O> {
  /** What a value makes, perhaps together with earlier ones. */
  push(value: I): Iterable<O>;
  /** What is left when the source has completed. */
  flush(): Iterable<O>;
}

/**
 * Runs a stage over a stream, a new one for each subscription. Values that arrive while earlier results are being
 * delivered wait for their turn; errors of the source pass at once, and nothing is flushed after them.
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
              // Whoever takes a result may have had enough.
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
      const work$ = source$.pipe(
        tap({ next: (value) => deliver(() => stage.push(value)), complete: () => deliver(end) }),
        ignoreElements(),
      );
      // Who completes is `end`, which may have to wait.
      concat(work$, NEVER).subscribe(subscriber);
    });
}
