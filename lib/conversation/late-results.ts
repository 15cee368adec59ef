import { defer, filter, type MonoTypeOperatorFunction } from 'rxjs';
import type { TranscriptionResult } from '../core/roles.ts';
import { FinishedUtterances } from '../operators/finished-utterances.ts';

/**
 * Drops results of an utterance after its complete one: repeated finals, late interims, words of a finished turn.
 *
 * ```text
 * source  --a--A---a--A--b--B--|
 *         dropLateResults()
 * result  --a--A---------b--B--|
 * ```
 */
export function dropLateResults(): MonoTypeOperatorFunction<TranscriptionResult> {
  return (source$) =>
    defer(() => {
      const finished = new FinishedUtterances();
      return source$.pipe(
        filter((result) => {
          if (finished.has(result)) return false;
          if (result.utteranceComplete) finished.add(result);
          return true;
        }),
      );
    });
}
