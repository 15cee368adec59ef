import { defer, filter, type MonoTypeOperatorFunction } from 'rxjs';
import type { TranscriptionResult } from '../core/roles.ts';
import { utteranceKey } from '../operators/utterances.ts';

/** Late and repeated results come soon after the end of an utterance. */
const rememberedUtterances = 32;

/**
 * Drops results of an utterance after its complete one: repeated finals, late interims, words of a finished turn.
 * Utterances are identified by the service's id, else by text and word times together.
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
      const finished = new Set<string>();
      return source$.pipe(
        filter((result) => {
          const key = utteranceKey(result);
          if (key === undefined) return true;
          if (finished.has(key)) return false;
          if (result.utteranceComplete) finished.add(key);
          for (const oldest of finished) {
            if (finished.size <= rememberedUtterances) break;
            finished.delete(oldest);
          }
          return true;
        }),
      );
    });
}
