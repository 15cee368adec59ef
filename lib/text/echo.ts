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
  const said = foldText(text.slice(0, longest));
  if (!said) return 'not';
  const sentences = heard.split(endOfSentence).map(foldText);
  if (sentences.includes(said)) return 'surely';
  const known = ` ${sentences.join(' ')} `;
  const words = wordsOf(said, locale);
  const length = Math.min(run, words.length);
  const runs = words.slice(length - 1).map(({ end }, from) => said.slice(words[from]?.start, end));
  const repeated = runs.filter((each) => known.includes(unspaced.test(each) ? each : ` ${each} `));
  if (runs.length === 0 || repeated.length < share * runs.length) return 'not';
  return words.length < run ? 'partly' : 'surely';
}

/** Letters and digits with spaces between them, as most texts are once folded. */
const plain = /^[\p{L}\p{M}\p{N} ]*$/u;

function betweenSpaces(text: string): { readonly start: number; readonly end: number }[] {
  let end = -1;
  return text.split(' ').map((word) => {
    const start = end + 1;
    end = start + word.length;
    return { start, end };
  });
}

/** Where each word of a folded text is. Segmenters are slow, and most texts need none. */
function wordsOf(text: string, locale?: string): { readonly start: number; readonly end: number }[] {
  if (plain.test(text) && !unspaced.test(text)) return betweenSpaces(text);
  return Array.from(segmenterFor('word', locale).segment(text))
    .filter(({ isWordLike }) => isWordLike)
    .map(({ index: start, segment }) => ({ start, end: start + segment.length }));
}
