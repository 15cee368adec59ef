import { segmenterFor } from './segmenter.ts';

/**
 * Ends of sentences, then of clauses, then of words; closing quotes and brackets go with the mark. A run of marks that
 * no space follows is taken whole, as group 1 tells: begun anew at each of its marks, a long one would take forever.
 */
const breaks: readonly RegExp[] = [
  /[.!?…]+["'”’»)\]]*(?=\s|())|[。！？｡।॥؟۔]+["'”’»」』）)]*/gu,
  /[,;:–—]["'”’»)\]]*(?=\s)|[，、；：،؛]/gu,
  /\S(?=\s)/gu,
];

/**
 * Cuts a text that is longer than a service takes in one request: at the last sentence end that fits, else at the last
 * clause end, else between words, else between characters (never within one). Pieces carry no outer white space;
 * blank text gives none.
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

/** Bytes of a character (code point) in UTF-8, for services that count those. */
export function utf8Length(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/** A part of a text that is not cut. */
export interface UncutText {
  readonly text: string;
  /** How well a cut after it sounds: 0 is a sentence's end, 1 a clause's, 2 a word's. */
  readonly rank: number;
}

/** A text in the parts between which {@link splitText} would cut it, were words never too long. */
export function uncutParts(text: string): UncutText[] {
  const ranks = new Map<number, number>([[text.length, 2]]);
  // A space after it, so that a mark at the very end counts.
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
  // One more character, so that a mark at the very limit sees the space after it.
  const window = text.slice(0, limit + 1);
  for (const pattern of breaks) {
    const last = endsIn(window, pattern).findLast((end) => end <= limit);
    if (last !== undefined) return last;
  }
  // The character at the limit, and the beginning of it: what the user sees as one is many code points at times.
  const { index = 0, segment = '' } =
    segmenterFor('grapheme')
      .segment(text)
      .containing(limit - 1) ?? {};
  const end = index + segment.length;
  return end <= limit ? end : index || limit;
}
