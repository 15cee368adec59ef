import { segmenterFor } from './segmenter.ts';

/** Far more words than any rule asks for, in characters; a segmenter's time grows with the square of the text. */
const maxCounted = 1_024;
/** Words as most transcripts have them once they are in lower case: nothing is left to fold. */
const folded = /^[a-z\d]+(?: [a-z\d]+)*$/;
const isHyphen = /^[-\u2010\u2011]$/;

/** Scripts without spaces between words. */
export const unspaced: RegExp =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Counts the words at the beginning of a text, its first 1,024 characters, in any script, including those without
 * spaces. A hyphen joins: "mm-hm" is one.
 *
 * @param locale - BCP 47; the default suits all but a few languages.
 */
export function countWords(text: string, locale?: string): number {
  const beginning = text.slice(0, maxCounted);
  // Segmenters are slow, and most transcripts need none.
  if (folded.test(beginning.toLowerCase())) return beginning.split(' ').length;
  let count = 0;
  let isJoined = false;
  for (const { segment, isWordLike } of segmenterFor('word', locale).segment(beginning)) {
    if (isWordLike && !isJoined) count += 1;
    isJoined = isHyphen.test(segment) && count > 0;
  }
  return count;
}

/** Whether anything in a text can be heard: marks and emoji cannot. */
export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

const mark = /[\p{P}\p{S}]/gu;
const endsInDigit = /\p{N}$/u;
const startsWithDigit = /^\p{N}/u;

/** "1.5" is not "15": a mark within a number is part of it. */
function withoutMark(found: string, at: number, text: string): string {
  const isInNumber =
    endsInDigit.test(text.slice(Math.max(0, at - 2), at)) &&
    startsWithDigit.test(text.slice(at + found.length, at + found.length + 2));
  return isInNumber ? found : '';
}

/**
 * Normalizes a transcript for comparison: NFKC, case folded, punctuation and symbols removed except in numbers, white
 * space collapsed. "Book the flight." equals "book the flight", but not "do not book the flight".
 */
export function foldText(text: string): string {
  const lower = text.trim().toLowerCase();
  if (folded.test(lower)) return lower;
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/ς/g, 'σ')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(mark, withoutMark)
    .replace(/\s+/g, ' ')
    .trim();
}

/** Joins two texts, with a space where words would touch. */
export function joinWords(left: string, right: string): string {
  if (!left || !right) return left || right;
  // A search for white space at the end would read the whole text.
  return /\s/.test(left.slice(-1)) || /^\s/.test(right) ? left + right : `${left} ${right}`;
}

/** Characters to look at before and after a position: longer than words are. */
const nearby = 256;

/** The end of the last word entirely within the first `length` characters; its cost does not grow with the text. */
export function wholeWords(text: string, length: number): number {
  if (length >= text.length) return text.length;
  // Words do not cross a space; where there is none nearby, as in some scripts, they are found from anywhere.
  const far = Math.max(0, length - 2 * nearby);
  const start = far && far + Math.max(0, text.slice(far, far + nearby).lastIndexOf(' '));
  let end = start;
  for (const { segment, index, isWordLike } of segmenterFor('word').segment(text.slice(start, length + nearby))) {
    const [from, to] = [start + index, start + index + segment.length];
    if (to > length) break;
    // Attached text, such as a full stop, belongs to the word before it.
    if (isWordLike || (end === from && segment.trim())) end = to;
  }
  return end;
}

/** The end of the first word after a position. */
export function endOfWord(text: string, from: number): number {
  for (const { segment, index, isWordLike } of segmenterFor('word').segment(text.slice(from, from + nearby))) {
    if (isWordLike) return from + index + segment.length;
  }
  return from;
}
