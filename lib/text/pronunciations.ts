import { firstCharacter, lastCharacter } from './marks.ts';
import { PieceWriter, type SpokenPiece } from './spoken-piece.ts';
import type { TextStage, TextTransform } from './text-transform.ts';
import { unspaced } from './words.ts';

const wordEnd = /[\p{L}\p{M}\p{N}_]$/u;
const wordStart = /^[\p{L}\p{M}\p{N}_]/u;

/**
 * Makes words sound different from how they are written.
 *
 * @param words - What to say for each word, case-sensitive: `{ SQL: 'sequel' }`. Whole words match. Between Han, kana,
 * Thai, Lao, Khmer and Myanmar letters, whose scripts have no spaces, parts of words match too. Where several match,
 * the longest wins.
 *
 * @example
 * ```ts
 * import { markdown, Pipeline, pronunciations, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * new Pipeline({ providers, text: [markdown(), pronunciations({ SQL: 'sequel', nginx: 'engine x' })] });
 * ```
 */
export function pronunciations(words: Readonly<Record<string, string>>): TextTransform {
  const sorted = Object.entries(words)
    .filter(([written]) => written !== '')
    .sort(([a], [b]) => b.length - a.length);
  return { name: 'pronunciations', start: () => new PronouncedText(sorted) };
}

/** Replaces words in a growing text. */
class PronouncedText implements TextStage {
  readonly #words: readonly (readonly [written: string, said: string])[];
  /** The first characters of all words. */
  readonly #starts: ReadonlySet<string>;
  readonly #piece = new PieceWriter();
  #text: string = '';
  /** The last character before the text. */
  #before: string = '';

  constructor(words: readonly (readonly [string, string])[]) {
    this.#words = words;
    this.#starts = new Set(words.map(([written]) => firstCharacter(written)));
  }

  push(text: string): SpokenPiece[] {
    this.#text += text;
    return this.#run(false);
  }

  flush(): SpokenPiece[] {
    return this.#run(true);
  }

  #run(isEnd: boolean): SpokenPiece[] {
    let at = 0;
    let plainFrom = 0;
    const text = this.#text;
    const sayPlain = (): void => {
      if (plainFrom < at) this.#piece.say(text.slice(plainFrom, at), text.slice(plainFrom, at), plainFrom);
    };
    while (at < text.length) {
      const character = firstCharacter(text.slice(at, at + 2));
      const isHalf = character.length === 1 && /[\ud800-\udbff]/.test(character) && !isEnd;
      const found = isHalf ? 0 : this.#starts.has(character) ? this.#find(at, character, isEnd) : undefined;
      if (found === 0) break;
      if (found) {
        const [written, said] = found;
        sayPlain();
        this.#piece.say(said, written, at);
        at += written.length;
        plainFrom = at;
      } else at += character.length;
      this.#before = lastCharacter(text.slice(Math.max(0, at - 2), at));
    }
    if (at === 0) return [];
    sayPlain();
    this.#text = text.slice(at);
    return [this.#piece.take(text.slice(0, at))];
  }

  /** The word that begins here, if any; 0 if more text is needed to tell. */
  #find(at: number, character: string, isEnd: boolean): readonly [string, string] | 0 | undefined {
    const text = this.#text;
    const isInside =
      wordEnd.test(this.#before) && wordStart.test(character) && !unspaced.test(this.#before + character);
    for (const word of this.#words) {
      const [written] = word;
      if (isInside && wordStart.test(written)) continue;
      const left = text.slice(at, at + written.length + 2);
      if (left.length <= written.length && !isEnd && written.startsWith(left)) return 0;
      if (!left.startsWith(written)) continue;
      const next = firstCharacter(left.slice(written.length));
      if (/^[\ud800-\udbff]$/.test(next) && !isEnd) return 0;
      const goesOn = wordEnd.test(written) && wordStart.test(next) && !unspaced.test(next);
      if (!goesOn) return word;
    }
    return undefined;
  }
}
