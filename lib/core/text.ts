import { segmenterFor } from './segmenter.ts';

/**
 * Counts the words of a text, in any script, those that write no spaces included.
 *
 * @param locale - BCP 47; the default suits all but a few languages.
 */
export function countWords(text: string, locale?: string): number {
  let count = 0;
  for (const { isWordLike } of segmenterFor('word', locale).segment(text)) if (isWordLike) count += 1;
  return count;
}

/**
 * What two transcripts of the same words have in common: NFKC, case folded, punctuation and symbols removed, white space
 * collapsed. "Book the flight." and "book the flight" are one; "do not book the flight" is another.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/ς/g, 'σ')
    .replace(/[\p{P}\p{S}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
}
