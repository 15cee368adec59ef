import type { TranscribedWord } from '../../core/roles.ts';
import { meanConfidence } from './stt-words.ts';

/** A part of a word. */
export interface Token {
  /** Verbatim: leading white space starts a word. */
  readonly text: string;
  readonly word: TranscribedWord | undefined;
  /** Whether it is a translation: of the tokens before it, which it does not align with. */
  readonly isTranslation: boolean;
  readonly language: string | undefined;
  /** Start and end, in milliseconds of the current connection. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** The language of most of them. */
export function languageOf(tokens: readonly Token[]): string | undefined {
  return mostFrequent(tokens.flatMap(({ language }) => language ?? []));
}

/** Their combined text. */
export function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** Whether they contain more than white space. */
export function hasText(tokens: readonly Token[]): boolean {
  return tokens.some(({ text }) => text.trim() !== '');
}

/** Groups tokens into words; leading white space starts a word. */
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

/** The most frequent value; on a tie, the first. */
function mostFrequent(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
