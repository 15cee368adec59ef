import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { TranscribedWord } from '../../core/roles.ts';

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
  return asObjects(value).flatMap((word) => {
    const text = textOf(word)?.trim();
    if (!text) return [];
    const [startMs, endMs] = [word['start'], word['end']].map((time) => momentOf(asNumber(time) ?? -1));
    const confidence = asNumber(word['confidence']);
    const speaker = asNumber(word['speaker'])?.toString() ?? asString(word['speaker']);
    return {
      text,
      ...(startMs !== undefined && { startMs }),
      ...(endMs !== undefined && { endMs }),
      ...(confidence !== undefined && { confidence }),
      ...(speaker !== undefined && { speaker }),
    };
  });
}

/** Who said all of some words; `undefined` when several did, or when nobody knows. */
export function soleSpeaker(words: readonly TranscribedWord[]): string | undefined {
  const [first, ...others] = words;
  return others.every(({ speaker }) => speaker === first?.speaker) ? first?.speaker : undefined;
}

/** The mean of the words' confidences; `undefined` without any. */
export function meanConfidence(words: readonly TranscribedWord[]): number | undefined {
  const known = words.flatMap(({ confidence }) => confidence ?? []);
  return known.length > 0 ? known.reduce((sum, each) => sum + each, 0) / known.length : undefined;
}
