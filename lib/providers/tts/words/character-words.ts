import type { Step } from '../../../stream/fold.ts';
import { unspaced } from '../../../text/words.ts';
import { wordsOf, type WordTiming } from './spread-words.ts';

/** Characters of a text and their times, as given with a chunk of audio. */
export interface CharacterTimes {
  readonly characters: readonly string[];
  /** In milliseconds. */
  readonly startMs: readonly number[];
  /** In milliseconds. */
  readonly durationMs: readonly number[];
}

interface Character {
  readonly character: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** The characters so far. */
export interface CharacterWords {
  /** Whether times count from the start of each chunk, not of the utterance. */
  readonly isPerPiece: boolean;
  /** End of the last chunk, as given. */
  readonly givenEndMs: number;
  /** End of the last chunk, from the start of the utterance. */
  readonly endMs: number;
  /** The start of an incomplete word. */
  readonly rest: readonly Character[];
}

/** Before the first character. */
export const noCharacters: CharacterWords = { isPerPiece: false, givenEndMs: 0, endMs: 0, rest: [] };

/**
 * Assembles words from characters that arrive in chunks, split anywhere. Services count a chunk's times from the start
 * of the utterance or of the chunk: once one starts before half of the last one's end, it is the latter.
 *
 * @param audioMs - Start of the chunk's audio, from the start of the utterance. Default: the end of the last chunk of
 * text, for formats of unknown length.
 */
export function hearCharacters(
  before: CharacterWords,
  { characters, startMs, durationMs }: CharacterTimes,
  audioMs: number = before.endMs,
): Step<CharacterWords, WordTiming> {
  const [first = 0] = startMs;
  const isPerPiece = before.isPerPiece || first < before.givenEndMs / 2;
  const offsetMs = isPerPiece ? audioMs : 0;
  const [state, ...words] = characters.reduce<Step<CharacterWords, WordTiming>>(
    ([known, ...told], character, index) => {
      const givenMs = startMs[index] ?? known.givenEndMs;
      const givenEndMs = givenMs + (durationMs[index] ?? 0);
      const times = { isPerPiece, givenEndMs, endMs: offsetMs + givenEndMs };
      if (!/^\s*$/.test(character)) {
        const heard = { character, startMs: offsetMs + givenMs, endMs: times.endMs };
        return [{ ...times, rest: [...known.rest, heard] }, ...told];
      }
      const [ended, ...last] = endCharacters({ ...known, ...times });
      return [ended, ...told, ...last];
    },
    [{ ...before, isPerPiece }],
  );
  const text = textOf(state);
  if (!unspaced.test(text)) return [state, ...words];
  // Where no space ends a word, all but the last are complete.
  const [rest, ...complete] = takeWords(state, wordsOf(text).at(-1)?.index ?? 0);
  return [rest, ...words, ...complete];
}

/** Returns the last word, which no space has ended. */
export function endCharacters(state: CharacterWords): Step<CharacterWords, WordTiming> {
  return takeWords(state, textOf(state).length);
}

function textOf({ rest }: CharacterWords): string {
  return rest.map(({ character }) => character).join('');
}

/** Takes the words in the first `length` code units of the rest. */
function takeWords(state: CharacterWords, length: number): Step<CharacterWords, WordTiming> {
  const { rest, endMs } = state;
  /** The character that each code unit belongs to. */
  const at = rest.flatMap((each) => Array.from({ length: each.character.length }, () => each));
  const words = wordsOf(textOf(state).slice(0, length)).map(({ word, index }) => ({
    text: word,
    startMs: at[index]?.startMs ?? endMs,
    endMs: at[index + word.length - 1]?.endMs ?? endMs,
  }));
  return [{ ...state, rest: rest.slice(new Set(at.slice(0, length)).size) }, ...words];
}
