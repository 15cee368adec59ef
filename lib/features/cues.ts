import { segmenterFor } from '../text/segmenter.ts';
import { unspaced } from '../text/words.ts';

/** A word of a {@link CaptionCue}. */
export interface CueWord {
  readonly text: string;
  /** When it begins to sound, in milliseconds from the beginning of the captions. */
  readonly startMs: number;
  /** When it ends, on the same clock. */
  readonly endMs: number;
  /**
   * Its place in the visual text: start and end offset in the `text` of `speech.ended`, or for the user's words, of
   * `transcript.final`.
   */
  readonly range: readonly [number, number];
}

/** Full-width characters take two columns. */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/u;

function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += wide.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1;
  return columns;
}

/** Breaks words into lines of at most this many columns; a longer word gets a line of its own. */
export function linesOf(words: readonly CueWord[], lineLength: number): string[] {
  const lines: string[] = [];
  for (const [index, { text, range }] of words.entries()) {
    const line = lines.at(-1);
    // Words that touch belong to a script without spaces.
    const longer =
      line === undefined ? text : words[index - 1]?.range[1] === range[0] ? line + text : `${line} ${text}`;
    if (line !== undefined && columnsOf(longer) <= lineLength) lines[lines.length - 1] = longer;
    else lines.push(text);
  }
  return lines;
}

/** Groups words by at most this many lines. */
export function groupsOf(words: readonly CueWord[], lineLength: number, mostLines: number): CueWord[][] {
  const groups: CueWord[][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    if (group && linesOf([...group, word], lineLength).length <= mostLines) group.push(word);
    else groups.push([word]);
  }
  return groups;
}

/** The words of a text said between two moments; their times are interpolated. */
export function wordsBetween(text: string, fromMs: number, toMs: number): CueWord[] {
  const timeAt = (offset: number): number => Math.round(fromMs + ((toMs - fromMs) * offset) / text.length);
  return [...text.matchAll(/\S+/g)].flatMap(({ 0: run, index }) =>
    partsOf(run).map(([from, to]) => ({
      text: run.slice(from, to),
      startMs: timeAt(index + from),
      endMs: timeAt(index + to),
      range: [index + from, index + to] as const,
    })),
  );
}

/** A run without spaces, split where a line may break: punctuation stays with the word before it. */
function partsOf(run: string): (readonly [number, number])[] {
  if (!unspaced.test(run)) return [[0, run.length]];
  const starts = [...segmenterFor('word').segment(run)].flatMap(({ index, isWordLike }) =>
    index === 0 || isWordLike ? [index] : [],
  );
  return starts.map((start, at) => [start, starts[at + 1] ?? run.length]);
}
