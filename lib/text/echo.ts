import { segmenterFor } from './segmenter.ts';
import { foldText, unspaced } from './words.ts';

/** Words in a row that two texts rarely share by chance. */
const run = 3;
/** How much of a text must repeat another: speech-to-text often mishears echoes. */
const share = 0.6;
/** Longer texts are compared by their beginning, in characters. */
const longest = 1_024;
const endOfSentence = /[.!?。！？؟।…]+/u;

/**
 * Whether a text repeats what was heard: most of its runs of three words occur there, or it is one of the sentences.
 * `partly`: a word or two that occur there.
 *
 * @param locale - BCP 47, for telling words apart.
 */
export function repeats(text: string, heard: string, locale?: string): 'surely' | 'partly' | 'not' {
  const { said, words } = saidOf(text, locale);
  if (!said) return 'not';
  const { sentences, known } = heardOf(heard);
  if (sentences.includes(said)) return 'surely';
  const length = Math.min(run, words.length);
  const runs = words.slice(length - 1).map(({ end }, from) => said.slice(words[from]?.start, end));
  const repeated = runs.filter((each) => known.includes(inText(each)));
  if (runs.length === 0 || repeated.length < share * runs.length) return 'not';
  return words.length < run ? 'partly' : 'surely';
}

/** A text whose beginning repeats what was heard, and whose end does not. */
export interface EchoedBeginning {
  /** The beginning, as said. */
  readonly echo: string;
  /** The end, as said. */
  readonly rest: string;
  /** The end without words that repeat what sounded next: the echo may have gone on. */
  readonly between: string;
  /** Whether the beginning has three words or more: fewer may be repeated by chance. */
  readonly isLong: boolean;
  /**
   * Whether the rest cannot be an echo that was misheard: it has more words than had sounded by then, or three and more
   * of which hardly one sounded there.
   */
  readonly isOwn: boolean;
}

/**
 * Parts a text after the words with which it repeats what was heard, in the same order; `undefined` where it does not
 * begin with such words, or has no others.
 *
 * ```text
 * heard  One two three four five six
 * text   two three four stop five
 *        echo---------- rest-----
 *                       between
 * ```
 *
 * @param locale - BCP 47, for telling words apart.
 */
export function afterEcho(text: string, heard: string, locale?: string): EchoedBeginning | undefined {
  const { said, words } = saidOf(text, locale);
  const { known } = heardOf(heard);
  const first = (count: number): string => said.slice(0, words[count - 1]?.end);
  const long = lengthOfEcho(said, words, known);
  const count = long || ([2, 1].find((few) => few <= words.length && known.includes(inText(first(few)))) ?? 0);
  const lastEnd = words[count - 1]?.end;
  if (count >= words.length || lastEnd === undefined) return undefined;
  const last = inText(said.slice(words[Math.max(0, count - run)]?.start, lastEnd));
  const following = known.slice(known.lastIndexOf(last) + last.length).trim();
  const followers = following ? wordsOf(following, locale).map(({ start, end }) => following.slice(start, end)) : [];
  const others = words.slice(count).map(({ start, end }) => said.slice(start, end));
  const goesOn = words.findIndex(
    ({ start }, index) =>
      index > count && text.length <= longest && ` ${following} `.includes(inText(said.slice(start))),
  );
  const cutAt = endOfFolded(text, lastEnd);
  const shared = others.filter((word) => followers.slice(0, others.length).includes(word)).length;
  return {
    echo: text.slice(0, cutAt).trim(),
    rest: withoutMarks(text.slice(cutAt)),
    between: withoutMarks(text.slice(cutAt, goesOn < 0 ? undefined : endOfFolded(text, words[goesOn - 1]?.end ?? 0))),
    isLong: long > 0,
    isOwn: others.length > followers.length || (others.length >= run && shared * run < others.length),
  };
}

/** With how many words a text repeats what is known, if they are at least three: most runs of three, in their order. */
function lengthOfEcho(said: string, words: readonly WordRange[], known: string): number {
  let [from, repeated, count] = [0, 0, 0];
  for (const [index, { start }] of words.entries()) {
    const end = words[index + run - 1]?.end;
    const found = end === undefined ? -1 : known.indexOf(inText(said.slice(start, end)), from);
    if (found < 0) continue;
    // An echo goes on where it was: the same words again are somebody else's.
    from = found + 1;
    repeated += 1;
    if (repeated >= share * (index + 1)) count = index + run;
  }
  return count;
}

/** Where in a text its first `length` characters end, once it is folded. */
function endOfFolded(text: string, length: number): number {
  let [least, most] = [0, Math.min(text.length, longest)];
  while (least < most) {
    const middle = (least + most) >> 1;
    if (foldText(text.slice(0, middle)).length < length) least = middle + 1;
    else most = middle;
  }
  // An accent may be a character of its own.
  return least + (/^\p{M}*/u.exec(text.slice(least, least + longest))?.[0].length ?? 0);
}

/** Without the marks, and the white space, that belong to the words before. */
function withoutMarks(text: string): string {
  return text.replace(/^[^\p{L}\p{M}\p{N}\p{Ps}\p{Pi}¿¡]+/u, '');
}

/** What was heard, as its sentences and as a whole. */
interface Heard {
  readonly sentences: readonly string[];
  readonly known: string;
}

/** A text and its words. */
interface Said {
  readonly said: string;
  readonly words: readonly WordRange[];
}

/** What was asked about last: several questions are asked about the same. */
const latest: { heard: Heard & { of?: string }; said: Said & { of?: string; locale?: string | undefined } } = {
  heard: { sentences: [], known: '' },
  said: { said: '', words: [] },
};

function heardOf(heard: string): Heard {
  if (heard !== latest.heard.of) {
    const sentences = heard.split(endOfSentence).map(foldText);
    latest.heard = { of: heard, sentences, known: ` ${sentences.join(' ')} ` };
  }
  return latest.heard;
}

function saidOf(text: string, locale: string | undefined): Said {
  if (text !== latest.said.of || locale !== latest.said.locale) {
    const said = foldText(text.slice(0, longest));
    latest.said = { of: text, locale, said, words: wordsOf(said, locale) };
  }
  return latest.said;
}

/** Words as they are found between others. */
function inText(words: string): string {
  return unspaced.test(words) ? words : ` ${words} `;
}

/** Letters and digits with spaces between them, as most texts are once folded. */
const plain = /^[\p{L}\p{M}\p{N} ]*$/u;

/** Where a word is in a text. */
interface WordRange {
  readonly start: number;
  readonly end: number;
}

function betweenSpaces(text: string): WordRange[] {
  let end = -1;
  return text.split(' ').map((word) => {
    const start = end + 1;
    end = start + word.length;
    return { start, end };
  });
}

/** Where each word of a folded text is. Segmenters are slow, and most texts need none. */
function wordsOf(text: string, locale?: string): WordRange[] {
  if (plain.test(text) && !unspaced.test(text)) return betweenSpaces(text);
  return Array.from(segmenterFor('word', locale).segment(text))
    .filter(({ isWordLike }) => isWordLike)
    .map(({ index: start, segment }) => ({ start, end: start + segment.length }));
}
