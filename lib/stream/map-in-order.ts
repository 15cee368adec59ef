import { defer, Observable, type OperatorFunction } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { feed } from './feed.ts';

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
      let exhausted = false;

      const start = (value: T): void => {
        const inner: Running<R> = { results: [] };
        running.push(inner);
        const settle = (end: () => void): void => {
          inner.end = end;
          advance();
        };
        feed(
          defer(() => project$(value)),
          subscriber,
          {
            next: (result) => {
              if (running[0] === inner && inner.results.length === 0) subscriber.next(result);
              else inner.results.push(result);
            },
            error: (error) => settle(() => subscriber.error(error)),
            complete: () => settle(() => undefined),
          },
        );
      };
      const advance = (): void => {
        for (let first = running[0]; first && !subscriber.closed; first = running[0]) {
          while (first.results.length > 0) {
            subscriber.next(first.results[0] as R);
            // Afterwards: what comes meanwhile queues up behind it.
            first.results.shift();
          }
          if (!first.end) break;
          running.shift();
          first.end();
        }
        while (running.length < lookahead && waiting.length > 0 && !subscriber.closed) start(waiting.shift() as T);
        if (exhausted && running.length === 0) subscriber.complete();
      };

      feed(source$, subscriber, {
        next: (value) => {
          if (waiting.length >= maxWaiting) {
            throw new VoiceError(`more than ${maxWaiting} texts are waiting`, { code: 'overflow' });
          }
          waiting.push(value);
          advance();
        },
        complete: () => {
          exhausted = true;
          advance();
        },
      });
    });
}
