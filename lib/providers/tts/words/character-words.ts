import type { Step } from '../../../stream/fold.ts';
import { unspaced, wordsOf, type WordTiming } from './spread-words.ts';

/** Characters of a text and their times, as a service gives them with a piece of audio. */
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

/** What is known of the characters so far. */
export interface CharacterWords {
  /** Times count from the beginning of a piece, not of the utterance. */
  readonly isPerPiece: boolean;
  /** Where the last piece ended, as it was given. */
  readonly givenEndMs: number;
  /** Where the last piece ended, from the beginning of the utterance. */
  readonly endMs: number;
  /** The beginning of a word. */
  readonly rest: readonly Character[];
}

/** Before the first character. */
export const noCharacters: CharacterWords = { isPerPiece: false, givenEndMs: 0, endMs: 0, rest: [] };

/**
 * Makes words of characters that come in pieces, cut anywhere. Services count the times of a piece from the beginning
 * of the utterance or from that of the piece: when one begins before half of what the last one ended at, it is the
 * latter from there on.
 *
 * @param audioMs - Where the audio of the piece begins, from the beginning of the utterance. Default: where the last
 * piece of text ended, for formats whose length cannot be counted.
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
  // Where no space ends a word, all but the last one are complete.
  const [rest, ...complete] = takeWords(state, wordsOf(text).at(-1)?.index ?? 0);
  return [rest, ...words, ...complete];
}

/** The last word, which no space has ended. */
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
