import { foldText } from '../text/words.ts';

/** How far what was made of some words is from them. */
export interface WordErrors {
  /** Words that are missing, added or other. */
  readonly errors: number;
  /** Words that there should be. */
  readonly words: number;
  /** Errors per word. */
  readonly rate: number;
}

/** Words without case, marks and white space; in scripts without spaces, characters. */
function wordsOf(text: string): string[] {
  return [...new Intl.Segmenter(undefined, { granularity: 'word' }).segment(foldText(text))]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment);
}

/** Compares two texts word by word. */
export function wordErrors(expected: string, actual: string): WordErrors {
  const [wanted, found] = [wordsOf(expected), wordsOf(actual)];
  // The row of Levenshtein's table for the words so far.
  let row = Array.from({ length: found.length + 1 }, (_, index) => index);
  for (const [index, word] of wanted.entries()) {
    const next = [index + 1];
    for (const [at, other] of found.entries()) {
      const replaced = (row[at] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  const errors = row.at(-1) ?? 0;
  return { errors, words: wanted.length, rate: errors / Math.max(1, wanted.length) };
}
