import { segmenterFor } from './segmenter.ts';
import { foldText, unspaced } from './words.ts';

/** Words in a row that two texts rarely share by chance. */
const run = 3;
/** How much of a text must repeat another: speech-to-text mishears echoes. */
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
  const words = [...segmenterFor('word', locale).segment(said)].filter(({ isWordLike }) => isWordLike);
  const length = Math.min(run, words.length);
  const runs = words.slice(length - 1).map(({ index, segment }, from) => {
    return said.slice(words[from]?.index, index + segment.length);
  });
  const repeated = runs.filter((each) => known.includes(unspaced.test(each) ? each : ` ${each} `));
  if (runs.length === 0 || repeated.length < share * runs.length) return 'not';
  return words.length < run ? 'partly' : 'surely';
}
