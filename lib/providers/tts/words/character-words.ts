import { unspaced, wordsOf, type WordTiming } from './spread-words.ts';

/** Characters of a text and their times, as a service gives them with a piece of audio. */
export interface CharacterTimes {
  readonly characters: readonly string[];
  /** In milliseconds. */
  readonly startMs: readonly number[];
  /** In milliseconds. */
  readonly durationMs: readonly number[];
}

/**
 * Makes words of characters that come in pieces, cut anywhere. Services count the times of a piece from the beginning
 * of the utterance or from that of the piece: when one begins before half of what the last one ended at, it is the
 * latter from there on.
 */
export class CharacterWords {
  #isPerPiece: boolean = false;
  /** Where the last piece ended: as it was given, and from the beginning of the utterance. */
  #givenEndMs: number = 0;
  #endMs: number = 0;
  /** The beginning of a word. */
  #rest: { readonly character: string; readonly startMs: number; readonly endMs: number }[] = [];

  /**
   * @param audioMs - Where the audio of the piece begins, from the beginning of the utterance. Default: where the last
   * piece of text ended, for formats whose length cannot be counted.
   */
  push({ characters, startMs, durationMs }: CharacterTimes, audioMs: number = this.#endMs): WordTiming[] {
    const [first = 0] = startMs;
    this.#isPerPiece ||= first < this.#givenEndMs / 2;
    const offsetMs = this.#isPerPiece ? audioMs : 0;
    const words: WordTiming[] = [];
    characters.forEach((character, index) => {
      const givenMs = startMs[index] ?? this.#givenEndMs;
      const start = offsetMs + givenMs;
      this.#givenEndMs = givenMs + (durationMs[index] ?? 0);
      this.#endMs = offsetMs + this.#givenEndMs;
      if (/^\s*$/.test(character)) words.push(...this.flush());
      else this.#rest.push({ character, startMs: start, endMs: this.#endMs });
    });
    const text = this.#text;
    // Where no space ends a word, all but the last one are complete.
    if (unspaced.test(text)) words.push(...this.#take(wordsOf(text).at(-1)?.index ?? 0));
    return words;
  }

  /** The last word, which no space has ended. */
  flush(): WordTiming[] {
    return this.#take(this.#text.length);
  }

  get #text(): string {
    return this.#rest.map(({ character }) => character).join('');
  }

  /** The words in the first `length` code units of the rest. */
  #take(length: number): WordTiming[] {
    const text = this.#text.slice(0, length);
    /** The character that each code unit belongs to. */
    const at = this.#rest.flatMap((each) => Array.from({ length: each.character.length }, () => each));
    this.#rest = this.#rest.slice(new Set(at.slice(0, length)).size);
    return wordsOf(text).map(({ word, index }) => ({
      text: word,
      startMs: at[index]?.startMs ?? this.#endMs,
      endMs: at[index + word.length - 1]?.endMs ?? this.#endMs,
    }));
  }
}
