import { asNumber, type WireObject } from '../../core/guard.ts';
import type { TranscribedWord } from '../../core/roles.ts';

/**
 * Those words of a wire that a channel has not said before: after a reconnect, it is heard again from where another was
 * not final.
 *
 * @param words - With `start` and `end` in seconds of the connection.
 * @param isFinal - Of the context.
 * @param channel - `undefined` for audio that is transcribed as one.
 */
export function newWords(
  words: readonly WireObject[],
  isFinal: (connectionMs: number, channel?: number) => boolean,
  channel: number | undefined,
): readonly WireObject[] {
  if (channel === undefined) return words;
  const middleMs = ({ start, end }: WireObject): number => ((asNumber(start) ?? NaN) + (asNumber(end) ?? NaN)) * 500;
  return words.filter((word) => !isFinal(middleMs(word), channel));
}

/** The mean confidence of the words; `undefined` if none has one. */
export function meanConfidence(words: readonly TranscribedWord[]): number | undefined {
  const known = words.flatMap(({ confidence }) => confidence ?? []);
  return known.length > 0 ? known.reduce((sum, each) => sum + each, 0) / known.length : undefined;
}
