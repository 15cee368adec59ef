import type { WordTiming } from './spread-words.ts';

/** A word as a service marks it: where it stands in the text, and when it sounds. */
export interface SpeechMark extends WordTiming {
  /** Offset of its first character; where it is not known, the mark is a word by itself. */
  readonly start: number | undefined;
  /** Offset after its last character. */
  readonly end: number | undefined;
}

/** Joins marks that nothing stands between: a service marks "text-to-speech" five times. Marks come in any pieces. */
export class SpeechMarks {
  #last: SpeechMark | undefined;

  push(marks: readonly SpeechMark[]): WordTiming[] {
    return marks.flatMap((mark) => {
      const last = this.#last;
      const isJoined = last?.end !== undefined && last.end === mark.start;
      this.#last = isJoined ? { ...mark, text: last.text + mark.text, start: last.start, startMs: last.startMs } : mark;
      return last && !isJoined ? [wordOf(last)] : [];
    });
  }

  /** The last word. */
  flush(): WordTiming[] {
    const last = this.#last;
    this.#last = undefined;
    return last ? [wordOf(last)] : [];
  }
}

function wordOf({ text, startMs, endMs }: SpeechMark): WordTiming {
  return { text, startMs, endMs };
}
