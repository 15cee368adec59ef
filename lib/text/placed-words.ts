import { unspaced } from './words.ts';

/** The parts of a spoken word that determine its place. */
export interface PlaceableWord {
  readonly text: string;
  /** As in `SpokenWord`. */
  readonly resumesAt?: number;
}

/** A word, and its place in the text. */
export interface PlacedWord<W> {
  readonly word: W;
  readonly from: number;
  readonly to: number;
}

/** How far ahead the next word may be, in characters: markup and punctuation are not spoken. */
const nearby = 64;
/** Further characters for each letter that is not in the text: a number may be written in digits, or spelled out. */
const farther = 4;
const ofWord = /[\p{L}\p{N}]/u;

/**
 * Places a voice's words in the text that it was given: each after the one before, or from where the voice started
 * over. Words not found nearby have no place.
 */
export function* placedWords<W extends PlaceableWord>(text: string, words: Iterable<W>): Generator<PlacedWord<W>> {
  let at = 0;
  let reach = nearby;
  for (const word of words) {
    if (word.resumesAt !== undefined) [at, reach] = [afterCharacters(text, word.resumesAt), nearby];
    const from = word.text === '' ? undefined : findWord(text, word.text, at, reach);
    if (from === undefined) {
      reach += farther * word.text.length;
      continue;
    }
    [at, reach] = [from + word.text.length, nearby];
    yield { word, from, to: at };
  }
}

/** The next place of a word, unless it is too far: whole, unless it comes next, as a syllable may. */
function findWord(text: string, word: string, at: number, reach: number): number | undefined {
  const near = text.slice(at, at + reach + word.length + 1);
  const isWhole = (found: number): boolean =>
    unspaced.test(word) ||
    !(ofWord.test(near.charAt(found - 1)) || ofWord.test(near.charAt(found + word.length))) ||
    near.slice(0, found).trim() === '';
  for (let found = near.indexOf(word); found >= 0; found = near.indexOf(word, found + 1)) {
    if (isWhole(found)) return at + found;
  }
  return undefined;
}

/** The position after the first `count` characters of a text other than white space. */
export function afterCharacters(text: string, count: number): number {
  let at = 0;
  for (let left = count; left > 0 && at < text.length; at++) if (/\S/.test(text.charAt(at))) left--;
  return at;
}

/** How many characters of a text are not white space. */
export function countCharacters(text: string): number {
  return text.replace(/\s/g, '').length;
}
