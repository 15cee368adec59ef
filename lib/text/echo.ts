import { segmenterFor } from './segmenter.ts';
import { foldText } from './words.ts';

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
  const said = wordsOf(text, locale);
  const sentences = heard.split(endOfSentence).map((sentence) => wordsOf(sentence, locale));
  if (said.length === 0) return 'not';
  const whole = said.join(' ');
  if (sentences.some((sentence) => sentence.join(' ') === whole)) return 'surely';
  const length = Math.min(run, said.length);
  const known = new Set(runsOf(sentences.flat(), length));
  const runs = runsOf(said, length);
  if (runs.filter((each) => known.has(each)).length < share * runs.length) return 'not';
  return said.length < run ? 'partly' : 'surely';
}

/** The words of a text, folded. */
function wordsOf(text: string, locale: string | undefined): string[] {
  const folded = foldText(text.slice(0, longest));
  return [...segmenterFor('word', locale).segment(folded)].flatMap(({ segment, isWordLike }) =>
    isWordLike ? [segment] : [],
  );
}

function runsOf(words: readonly string[], length: number): string[] {
  return Array.from({ length: Math.max(0, words.length - length + 1) }, (_, at) =>
    words.slice(at, at + length).join(' '),
  );
}
