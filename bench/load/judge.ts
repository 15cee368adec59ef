import { characterMs, durationMs, type HeardWord } from '../../samples/sandbox/modem.ts';

/** What the agent says first. */
export const greeting = 'Yes?';

/** What a caller waits before the next words, in milliseconds. */
export const pauseMs = 300;

/** Length of a frame, in milliseconds. */
export const frameMs = 20;

/** What a caller has to tell. */
export interface Told {
  readonly call: number;
  /** What was said, in order: each `say` and what is wanted. */
  readonly said: readonly string[];
  readonly heard: string;
  /** Why the call was no good. */
  readonly problem?: string;
}

/** Who said what in a call, as its agent remembers it. */
export type History = readonly (readonly [role: string, text: string])[];

const some = ['river', 'amber', 'window', 'seven', 'orchard', 'lantern', 'copper', 'meadow', 'signal', 'harbour'];

/** What a caller wants to hear in a turn: no two callers want the same. */
export function wanted(call: number, turn: number): string {
  return `${some[(call + turn * 3) % some.length] ?? ''} ${call} ${turn}`;
}

/** What the agent says in a call, in order. */
export function answersTo(said: readonly string[]): readonly string[] {
  return [greeting, ...said.map((text) => text.replace('say ', ''))];
}

/** What was wrong with a call: nothing, when both ends have every word of it. */
export function problemOf({ said, heard, problem }: Told, history: History = []): string | undefined {
  if (problem !== undefined) return problem;
  const answers = answersTo(said);
  const hoped = plain(answers.join(' '));
  if (plain(heard) !== hoped) return `a caller heard "${plain(heard)}" in place of "${hoped}"`;
  const turns = answers.flatMap((answer, turn): History => [
    ...(turn > 0 ? [['user', said[turn - 1] ?? ''] as const] : []),
    ['assistant', answer],
  ]);
  const text = (each: History): string => each.map(([role, words]) => `${role}: ${plain(words)}`).join('; ');
  return text(history) === text(turns)
    ? undefined
    : `an agent remembers "${text(history)}" in place of "${text(turns)}"`;
}

/** Silence at the end of each of the voice's characters, in milliseconds. */
const tailMs = 10;

/** Frames by which a voice stood still in the middle of an answer, as the caller heard it: they came too late. */
export function framesMissed(words: readonly HeardWord[]): number {
  const excess = (ms: number, expectedMs: number): number => (ms - expectedMs > frameMs / 2 ? ms - expectedMs : 0);
  const stoodMs = words.reduce((sum, { text, startMs, endMs }, index) => {
    const spaceMs = startMs - (words[index - 1]?.endMs ?? 0);
    const isOneAnswer = index > 0 && spaceMs < pauseMs;
    const inWordMs = excess(endMs - startMs, durationMs(text) - tailMs);
    return sum + inWordMs + (isOneAnswer ? excess(spaceMs, characterMs + tailMs) : 0);
  }, 0);
  return Math.round(stoodMs / frameMs);
}

/** The words of a text, without their case and punctuation. */
export function plain(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}\uFFFD]+/gu) ?? []).join(' ');
}
