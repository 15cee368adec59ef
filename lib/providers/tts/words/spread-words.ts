import { segmenterFor } from '../../../text/segmenter.ts';
import { unspaced } from '../../../text/words.ts';

/** When a word sounds, in milliseconds. */
export interface WordTiming {
  readonly text: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Distributes a text's words over the time of its audio in proportion to their characters: an estimate. */
export function spreadWords(text: string, startMs: number, endMs: number): WordTiming[] {
  const spoken = text.trim();
  const msPerCharacter = spoken && (endMs - startMs) / spoken.length;
  if (!msPerCharacter) return [];
  return wordsOf(spoken).map(({ word, index }) => ({
    text: word,
    startMs: startMs + index * msPerCharacter,
    endMs: startMs + (index + word.length) * msPerCharacter,
  }));
}

/** Words with their attached punctuation. */
export function wordsOf(text: string): { word: string; index: number }[] {
  return [...text.matchAll(/\S+/g)].flatMap(({ 0: token, index }) =>
    unspaced.test(token) ? unspacedWords(token, index) : [{ word: token, index }],
  );
}

function unspacedWords(token: string, start: number): { word: string; index: number }[] {
  const words: { word: string; index: number; complete: boolean }[] = [];
  for (const { segment, index, isWordLike = false } of segmenterFor('word').segment(token)) {
    const last = words.at(-1);
    // An opening bracket belongs to the word after it, other punctuation to the one before.
    if (last && (!isWordLike || !last.complete)) {
      last.word += segment;
      last.complete ||= isWordLike;
    } else words.push({ word: segment, index: start + index, complete: isWordLike });
  }
  return words.map(({ word, index }) => ({ word, index }));
}
