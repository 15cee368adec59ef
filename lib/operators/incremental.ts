import { concat, concatMap, defer, type OperatorFunction } from 'rxjs';

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
    defer(() => {
      const stage = createStage();
      return concat(
        source$.pipe(concatMap((value) => stage.push(value))),
        defer(() => stage.flush()),
      );
    });
}
