import { segmenterFor } from './segmenter.ts';

/**
 * Ends of sentences, then of clauses, then of words, including closing quotes and brackets. A run of marks without a
 * space after it is matched whole, as group 1: retrying at each of its marks would take forever.
 */
const breaks: readonly RegExp[] = [
  /[.!?…]+["'”’»)\]]*(?=\s|())|[。！？｡।॥؟۔]+["'”’»」』）)]*/gu,
  /[,;:–—]["'”’»)\]]*(?=\s)|[，、；：،؛]/gu,
  /\S(?=\s)/gu,
];

/**
 * Splits a text that is too long for one request: at the last sentence end that fits, else at the last clause end, else
 * between words, else between characters (never within one). Pieces have no outer white space; blank text returns none.
 *
 * @param maxLength - Longest piece, in units of `lengthOf`.
 * @param lengthOf - Length of one character (code point) as the service counts. Default: 1.
 */
export function splitText(
  text: string,
  maxLength: number = Infinity,
  lengthOf: (character: string) => number = () => 1,
): string[] {
  const pieces: string[] = [];
  let rest = text.trim();
  while (rest) {
    const fitting = fittingPrefix(rest, maxLength, lengthOf);
    const end = fitting === rest.length ? fitting : cutBefore(rest, fitting);
    pieces.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return pieces;
}

/** Bytes of a character (code point) in UTF-8, for services that count bytes. */
export function utf8Length(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/** A part of a text that is never split. */
export interface UncutText {
  readonly text: string;
  /** Quality of a split after it: 0 for the end of a sentence, 1 of a clause, 2 of a word. */
  readonly rank: number;
}

/** Divides a text at all points where {@link splitText} might split it, assuming that no word is too long. */
export function uncutParts(text: string): UncutText[] {
  const ranks = new Map<number, number>([[text.length, 2]]);
  // Append a space, so that a mark at the very end counts.
  for (const [rank, pattern] of [...breaks.entries()].reverse()) {
    for (const end of endsIn(`${text} `, pattern)) ranks.set(end, rank);
  }
  const ends = [...ranks.keys()].sort((a, b) => a - b).filter((end) => end > 0);
  return ends.map((end, at) => ({ text: text.slice(ends[at - 1] ?? 0, end), rank: ranks.get(end) ?? 2 }));
}

function endsIn(text: string, pattern: RegExp): number[] {
  const matches = [...text.matchAll(pattern)].filter(({ 1: isUnfollowed }) => isUnfollowed === undefined);
  return matches.map(({ index, 0: mark }) => index + mark.length);
}

/** Length, in code units, of the longest prefix that fits; at least one character. */
function fittingPrefix(text: string, maxLength: number, lengthOf: (character: string) => number): number {
  let length = 0;
  let end = 0;
  for (const character of text) {
    length += lengthOf(character);
    if (length > maxLength && end > 0) break;
    end += character.length;
  }
  return end;
}

function cutBefore(text: string, limit: number): number {
  // One more character, so that a mark at the limit sees the space after it.
  const window = text.slice(0, limit + 1);
  for (const pattern of breaks) {
    const last = endsIn(window, pattern).findLast((end) => end <= limit);
    if (last !== undefined) return last;
  }
  // Find the start of the character at the limit: one visible character can be many code points.
  const { index = 0, segment = '' } =
    segmenterFor('grapheme')
      .segment(text)
      .containing(limit - 1) ?? {};
  const end = index + segment.length;
  return end <= limit ? end : index || limit;
}
