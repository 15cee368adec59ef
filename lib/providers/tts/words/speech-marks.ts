import { asNumber, asString } from '../../../core/guard.ts';
import { parseJsonObject } from '../../../core/parse-json.ts';
import type { Step } from '../../../stream/fold.ts';
import type { WordTiming } from './spread-words.ts';

/** A word as marked by a service: its place in the text, and when it sounds. */
export interface SpeechMark extends WordTiming {
  /** Offset of its first character; if unknown, the mark is a word of its own. */
  readonly start: number | undefined;
  /** Offset after its last character. */
  readonly end: number | undefined;
}

/** The last mark so far, which the next may extend. */
export type SpeechMarks = SpeechMark | undefined;

/** Joins adjacent marks: a service marks "text-to-speech" five times. Marks may arrive in any chunks. */
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

/** Returns the last word. */
export function endMarks(last: SpeechMarks): Step<SpeechMarks, WordTiming> {
  return last ? [undefined, wordOf(last)] : [undefined];
}

function wordOf({ text, startMs, endMs }: SpeechMark): WordTiming {
  return { text, startMs, endMs };
}

/** A word as marked by a service: its start, and its place in the text's UTF-8. */
export interface ByteMark {
  readonly text: string;
  readonly startMs: number;
  /** Offset of its first byte. */
  readonly start: number | undefined;
  /** Offset after its last byte. */
  readonly end: number | undefined;
}

/** The word marks in a text with one JSON object per line; skips anything else. */
export function marksIn(lines: string): ByteMark[] {
  return lines.split('\n').flatMap((line) => {
    const { type, value, time, start, end } = parseJsonObject(line) ?? {};
    const [text, startMs] = [asString(value), asNumber(time)];
    if (type !== 'word' || !text || startMs === undefined) return [];
    return [{ text, startMs, start: asNumber(start), end: asNumber(end) }];
  });
}

/**
 * Words from marks that have only starts: each lasts until the next, the last one to the end. Punctuation attached to a
 * word in the text is included.
 *
 * @param text - What the marks' offsets refer to; empty keeps the words as marked.
 * @param endMs - When the audio ends.
 */
export function wordsAt(marks: readonly ByteMark[], text: string, endMs: number): WordTiming[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const isInk = (at: number): boolean => (bytes[at] ?? 0) > 0x20;
  let written = 0;
  return marks.map(({ text: value, startMs, start = 0, end = 0 }, index) => {
    const next = marks[index + 1];
    const [first, last] = [Math.max(start, written), Math.min(end, next?.start ?? Infinity, bytes.length)];
    const word = { text: value, startMs, endMs: Math.max(startMs, next?.startMs ?? endMs) };
    if (first >= last) return word;
    let [from, to] = [first, last];
    while (from > written && isInk(from - 1)) from--;
    while (to < (next?.start ?? bytes.length) && isInk(to)) to++;
    written = to;
    return { ...word, text: decoder.decode(bytes.subarray(from, to)) };
  });
}
