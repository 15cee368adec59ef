import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { TranscribedWord } from '../../core/roles.ts';

/**
 * Converts a wire's words, whose `confidence` and `speaker` fields have these names; skips those without text.
 *
 * @param momentOf - Converts a `start` or `end` to milliseconds.
 */
export function transcribedWords(
  value: unknown,
  textOf: (word: WireObject) => string | undefined,
  momentOf: (time: number) => number | undefined,
): TranscribedWord[] {
  return asObjects(value).flatMap((word) => {
    const text = textOf(word)?.trim();
    if (!text) return [];
    const [startMs, end] = [word['start'], word['end']].map((time) => momentOf(asNumber(time) ?? -1));
    // A word cannot end before it starts.
    const endMs = startMs !== undefined && end !== undefined && end < startMs ? undefined : end;
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

/**
 * The wire's words, with `start` and `end` in seconds of the connection, that a channel has not said before: after a
 * reconnect, it is heard again from where another was not final.
 *
 * @param isFinal - Of the context.
 * @param channel - `undefined` for audio that is transcribed as one.
 */
export function newWords(
  value: unknown,
  isFinal: (connectionMs: number, channel?: number) => boolean,
  channel: number | undefined,
): readonly WireObject[] {
  const words = asObjects(value);
  if (channel === undefined) return words;
  const middleMs = ({ start, end }: WireObject): number => ((asNumber(start) ?? NaN) + (asNumber(end) ?? NaN)) * 500;
  return words.filter((word) => !isFinal(middleMs(word), channel));
}

/** The speaker of all the words; `undefined` when there are several, or none is known. */
export function soleSpeaker(words: readonly TranscribedWord[]): string | undefined {
  const sole = words[0]?.speaker;
  return sole !== undefined && words.every(({ speaker }) => speaker === sole) ? sole : undefined;
}

/** The mean confidence of the words; `undefined` if none has one. */
export function meanConfidence(words: readonly TranscribedWord[]): number | undefined {
  const known = words.flatMap(({ confidence }) => confidence ?? []);
  return known.length > 0 ? known.reduce((sum, each) => sum + each, 0) / known.length : undefined;
}
