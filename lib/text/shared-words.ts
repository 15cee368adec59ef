import { unspaced } from './words.ts';

/** What belongs to the word before it, in scripts that set words apart. */
const inWord = /[\p{L}\p{N}\p{M}'’]/u;
/** What cannot stand alone: a combining mark, or the second half of a pair. */
const attached = /^[\p{M}\p{Cs}]/u;

/**
 * The words that two texts begin with: `the dog is` and `the dogs are` share `the`. Takes as long as they are, in any
 * script.
 */
export function sharedWords(left: string, right: string): string {
  const most = Math.min(left.length, right.length);
  let end = 0;
  while (end < most && left.charCodeAt(end) === right.charCodeAt(end)) end += 1;
  while (end > 0 && (isWithin(left, end) || isWithin(right, end))) end -= 1;
  return right.slice(0, end).trimEnd();
}

/** Whether a place is within a word; without spaces, a word may end after any character. */
function isWithin(text: string, at: number): boolean {
  const next = text.charAt(at);
  if (!next) return false;
  if (attached.test(next)) return true;
  const before = text.charAt(at - 1);
  return inWord.test(before) && inWord.test(next) && !(unspaced.test(before) || unspaced.test(next));
}
