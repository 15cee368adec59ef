import type { TranscribedWord } from '../../core/roles.ts';
import { meanConfidence } from './streaming/utterances.ts';

/** A part of a word. */
export interface Token {
  /** As it came: white space before it begins a word. */
  readonly text: string;
  readonly word: TranscribedWord | undefined;
  readonly language: string | undefined;
  /** Where it begins and ends, in milliseconds of the present connection. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** What they say together. */
export function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** Whether there is more than white space in them. */
export function hasText(tokens: readonly Token[]): boolean {
  return tokens.some(({ text }) => text.trim() !== '');
}

/** Whole words: the tokens from one with white space before it to the next. */
export function wordsOf(tokens: readonly Token[]): TranscribedWord[] {
  const groups: Token[][] = [];
  for (const token of tokens) {
    const last = groups.at(-1);
    if (!last || /^\s/.test(token.text)) groups.push([token]);
    else last.push(token);
  }
  return groups.filter(hasText).map((group) => {
    const parts = group.flatMap(({ word }) => word ?? []);
    const confidence = meanConfidence(parts);
    const { startMs, speaker } = parts[0] ?? {};
    const { endMs } = parts.at(-1) ?? {};
    return {
      text: textOf(group),
      ...(startMs !== undefined && { startMs }),
      ...(endMs !== undefined && { endMs }),
      ...(confidence !== undefined && { confidence }),
      ...(speaker !== undefined && { speaker }),
    };
  });
}

/** The value that is there most often; the first of several. */
export function mostFrequent(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
