import { defer, filter, type MonoTypeOperatorFunction } from 'rxjs';
import { asArray, asObject } from '../core/guard.ts';
import type { TranscriptionResult } from '../core/roles.ts';

/**
 * Drops what is no result: providers may be the application's own. Tells of the first for each subscriber.
 *
 * ```text
 * source  --a--null--b--5--|
 *         dropMalformedResults(tell)
 * result  --a--------b-----|
 * ```
 */
export function dropMalformedResults(tell: () => void): MonoTypeOperatorFunction<TranscriptionResult> {
  return (source$) =>
    defer(() => {
      let isTold = false;
      return source$.pipe(
        filter((result) => {
          if (isResult(result)) return true;
          if (!isTold) tell();
          isTold = true;
          return false;
        }),
      );
    });
}

/** Whether a value has what a conversation reads of a result, in the right types. */
function isResult(value: unknown): boolean {
  const { text, metadata } = asObject(value) ?? {};
  const words = asObject(metadata)?.['words'];
  const hasWords = Array.isArray(words) && asArray(words).every((word) => asObject(word) !== undefined);
  return typeof text === 'string' && (words === undefined || hasWords);
}
