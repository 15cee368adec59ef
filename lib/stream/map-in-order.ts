import { defer, Observable, Subscription, type OperatorFunction } from 'rxjs';
import { VoiceError } from '../core/errors.ts';

/** Most values waiting for their turn: far more sentences than any answer has. */
const maxWaiting = 10_000;

/** One inner Observable. */
interface Running<R> {
  /** Results before its turn. */
  readonly results: R[];
  /** Ends the result as the inner one ended; set once it has. */
  end?: () => void;
}

/**
 * Maps each value to an Observable and runs several at once, while emitting results in the order of the values: like
 * `concatMap`, with the next ones already running. An inner error is delivered in its turn, after everything before it;
 * an error of the source at once. Unsubscribing ends all of them.
 *
 * ```text
 * source:          --a--b--------|
 * project(a):        ----1----2|
 * project(b):           -4-5|
 * mapInOrder(.., 2) ------1----2(45)|
 * ```
 *
 * @param lookahead - How many run at once.
 */
export function mapInOrder<T, R>(project$: (value: T) => Observable<R>, lookahead: number): OperatorFunction<T, R> {
  return (source$) =>
    new Observable((subscriber) => {
      const waiting: T[] = [];
      const running: Running<R>[] = [];
      const subscriptions = new Subscription();
      let exhausted = false;

      const start = (value: T): void => {
        const inner: Running<R> = { results: [] };
        running.push(inner);
        const settle = (end: () => void): void => {
          inner.end = end;
          advance();
        };
        subscriptions.add(
          defer(() => project$(value)).subscribe({
            next: (result) => {
              if (running[0] === inner && inner.results.length === 0) subscriber.next(result);
              else inner.results.push(result);
            },
            error: (error: unknown) => settle(() => subscriber.error(error)),
            complete: () => settle(() => undefined),
          }),
        );
      };
      const advance = (): void => {
        for (let first = running[0]; first && !subscriber.closed; first = running[0]) {
          for (let result = first.results[0]; result !== undefined; result = first.results[0]) {
            subscriber.next(result);
            first.results.shift();
          }
          if (!first.end) break;
          running.shift();
          first.end();
        }
        while (running.length < lookahead && waiting.length > 0 && !subscriber.closed) start(waiting.shift() as T);
        if (exhausted && running.length === 0) subscriber.complete();
      };

      // First, so that an end during subscribe tears everything down.
      subscriber.add(subscriptions);
      subscriptions.add(
        source$.subscribe({
          next: (value) => {
            if (waiting.length >= maxWaiting) {
              subscriber.error(new VoiceError(`more than ${maxWaiting} texts are waiting`, { code: 'overflow' }));
              return;
            }
            waiting.push(value);
            advance();
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            exhausted = true;
            advance();
          },
        }),
      );
    });
}
