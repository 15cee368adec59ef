import { num, objs, str, type WireObject } from '../../../core/guard.ts';
import type { TranscribedWord } from '../../../core/roles.ts';

/**
 * Words of a wire, whose `confidence` and `speaker` are what they are called; those without text are left out.
 *
 * @param momentOf - The milliseconds of a `start` or an `end`.
 */
export function transcribedWords(
  value: unknown,
  textOf: (word: WireObject) => string | undefined,
  momentOf: (time: number) => number | undefined,
): TranscribedWord[] {
  return objs(value).flatMap((word) => {
    const text = textOf(word)?.trim();
    if (!text) return [];
    const [startMs, endMs] = [word['start'], word['end']].map((time) => momentOf(num(time) ?? -1));
    const confidence = num(word['confidence']);
    const speaker = num(word['speaker'])?.toString() ?? str(word['speaker']);
    return {
      text,
      ...(startMs !== undefined && { startMs }),
      ...(endMs !== undefined && { endMs }),
      ...(confidence !== undefined && { confidence }),
      ...(speaker !== undefined && { speaker }),
    };
  });
}
