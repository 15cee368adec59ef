import { catchError, defaultIfEmpty, defer, map, of, pipe, switchMap, take, type OperatorFunction } from 'rxjs';
import { fromInput } from '../../stream/bridge.ts';
import type { Scorer } from './endpointing.ts';
import type { ScoreSignal } from './turn-rules.ts';

/** A question for a strategy's scorer. */
export interface ScoreQuestion {
  readonly text: string;
  readonly score: Scorer;
}

/** The likelihood of a text that counts as complete. */
const complete = 1;

/**
 * Asks each question until the next one replaces it. If a scorer fails, or ends without an answer, the text counts as
 * complete.
 *
 * @param tell - Called with each error.
 */
export function scores(tell: (error: unknown) => void): OperatorFunction<ScoreQuestion, ScoreSignal> {
  return pipe(
    switchMap(({ text, score }) =>
      defer(() => {
        const answer = score(text);
        return typeof answer === 'number' ? of(answer) : fromInput(answer);
      }).pipe(
        catchError((error: unknown) => {
          tell(error);
          return of(complete);
        }),
        take(1),
        defaultIfEmpty(complete),
        map((value): ScoreSignal => ({ type: 'score', text, value })),
      ),
    ),
  );
}
