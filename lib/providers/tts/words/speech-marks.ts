import type { Step } from '../../../stream/fold.ts';
import type { WordTiming } from './spread-words.ts';

/** A word as a service marks it: where it stands in the text, and when it sounds. */
export interface SpeechMark extends WordTiming {
  /** Offset of its first character; where it is not known, the mark is a word by itself. */
  readonly start: number | undefined;
  /** Offset after its last character. */
  readonly end: number | undefined;
}

/** The last mark so far, which the next one may go on with. */
export type SpeechMarks = SpeechMark | undefined;

/** Joins marks that nothing stands between: a service marks "text-to-speech" five times. Marks come in any pieces. */
export function hearMarks(before: SpeechMarks, marks: readonly SpeechMark[]): Step<SpeechMarks, WordTiming> {
  return marks.reduce<Step<SpeechMarks, WordTiming>>(
    ([last, ...words], mark) => {
      if (!last) return [mark, ...words];
      if (last.end === undefined || last.end !== mark.start) return [mark, ...words, wordOf(last)];
      return [{ ...mark, text: last.text + mark.text, start: last.start, startMs: last.startMs }, ...words];
    },
    [before],
  );
}

/** The last word. */
export function endMarks(last: SpeechMarks): Step<SpeechMarks, WordTiming> {
  return last ? [undefined, wordOf(last)] : [undefined];
}

function wordOf({ text, startMs, endMs }: SpeechMark): WordTiming {
  return { text, startMs, endMs };
}
