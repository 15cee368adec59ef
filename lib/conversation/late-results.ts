import { defer, filter, type MonoTypeOperatorFunction } from 'rxjs';
import type { TranscriptionResult } from '../core/roles.ts';

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
      const finished: string[] = [];
      return source$.pipe(
        filter((result) => {
          const id = identity(result);
          if (id === undefined) return true;
          if (finished.includes(id)) return false;
          if (result.utteranceComplete) finished.push(id);
          if (finished.length > rememberedUtterances) finished.shift();
          return true;
        }),
      );
    });
}

function identity({ utteranceId, text, metadata }: TranscriptionResult): string | undefined {
  if (utteranceId !== undefined) return utteranceId;
  const starts = metadata?.words?.flatMap(({ startMs }) => startMs ?? []) ?? [];
  return starts.length ? `${text}@${starts.join()}` : undefined;
}
