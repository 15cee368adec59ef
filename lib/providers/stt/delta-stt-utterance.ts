import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import { completed, heard, type Said, type STTContext, type STTEffect, type STTStep } from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** A part of a word. */
interface Token {
  /** Verbatim: leading white space starts a word. */
  readonly text: string;
  readonly word: TranscribedWord | undefined;
  readonly language: string | undefined;
  /** Start and end, in milliseconds of the current connection. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** The utterance so far. */
export interface DeltaUtterance {
  /** Final tokens. */
  readonly finals: readonly Token[];
  /** The tokens after them, which may change. */
  readonly newest: readonly Token[];
  /** How many of `finals` the next connection need not hear again: whole words. */
  readonly settled: number;
  /** Whether the words before were heard by an earlier connection. */
  readonly joins: boolean;
}

type Context = STTContext<unknown>;
type Step = STTStep<DeltaUtterance>;

/** Audio before a word that may belong to it, in milliseconds. */
const leadMs = 100;

/** Tokens after which an utterance is completed without waiting for the service: some minutes of speech. */
const maxTokens = 2_048;

/** Mark the end of an utterance: after silence, and in answer to `finalize`. */
const markers: ReadonlySet<string> = new Set(['<end>', '<fin>']);

/** An utterance before its first token. */
export const nothing: DeltaUtterance = { finals: [], newest: [], settled: 0, joins: false };

/** Prepares for the next connection: it hears the last final word again, which may still grow. */
export function again({ finals, settled }: DeltaUtterance): DeltaUtterance {
  const kept = finals.slice(0, settled).map((token) => ({ ...token, startMs: undefined, endMs: undefined }));
  return { finals: kept, newest: [], settled, joins: kept.length > 0 };
}

/** Reads the tokens of a message; a marker among them ends the utterance. */
export function onTokens(before: DeltaUtterance, message: WireObject, context: Context): Step {
  const said = asObjects(message['tokens'])
    .filter(({ text, translation_status: status }) => asString(text) && status !== 'translation')
    .map((each, at) => tokenOf(each, before.joins && at === 0, context));
  const newest = said.filter(({ isFinal }) => !isFinal);
  const [state, ...told] = said.filter(({ isFinal }) => isFinal).reduce(withFinal, [{ ...before, newest: [] }]);
  const next = { ...state, newest };
  const isOver = message['finished'] === true || next.finals.length >= maxTokens;
  const hasChanged = said.length > 0 || before.newest.length > 0;
  const [last, ...more]: Step = isOver ? complete(next) : [next, ...(hasChanged ? interim(next) : [])];
  const [settled, ...final] = settle(last, message, context);
  return [settled, ...told, ...more, ...final];
}

function withFinal([state, ...told]: Step, token: Token): Step {
  const [next, ...more]: Step = markers.has(token.text)
    ? complete(state, token.text === '<fin>')
    : [{ ...state, finals: [...state.finals, token] }];
  return [{ ...next, joins: false }, ...told, ...more];
}

/** @param joins - Whether an earlier connection heard the word before. */
function tokenOf(token: WireObject, joins: boolean, context: Context): Token & { readonly isFinal: boolean } {
  const { start_ms: start, end_ms: end } = token;
  const text = asString(token['text']) ?? '';
  const [word] = context.words([{ ...token, start, end }], () => text, 1);
  const isFinal = token['is_final'] === true;
  const isApart = /^\s/.test(text) || (isFinal && markers.has(text));
  return {
    text: joins && !isApart ? ` ${text}` : text,
    ...{ word, isFinal, language: asString(token['language']), startMs: asNumber(start), endMs: asNumber(end) },
  };
}

/** Marks audio as final, up to the last word that may still grow. */
function settle(state: DeltaUtterance, message: WireObject, context: Context): Step {
  const { finals, newest } = state;
  if (finals.length === 0) {
    const ms = asNumber(message['final_audio_proc_ms']) ?? 0;
    return newest.length === 0 ? [state, { type: 'finalized', ms }] : [state];
  }
  const last = finals.findLastIndex(({ text, startMs }) => /^\s/.test(text) && startMs !== undefined);
  const { startMs } = finals[last] ?? {};
  if (startMs === undefined) return [state];
  const { endMs = 0 } = finals[last - 1] ?? {};
  // Including the pause before it, since a word starts before it is first detected.
  const ms = startMs - Math.max(0, Math.min(leadMs, startMs - endMs));
  return context.isFinal(ms)
    ? [state]
    : [
        { ...state, settled: last },
        { type: 'finalized', ms },
      ];
}

function interim({ finals, newest }: DeltaUtterance): readonly STTEffect[] {
  const tokens = [...finals, ...newest];
  return hasText(tokens) ? heard(saidIn(tokens)) : [];
}

/** Completes the utterance with its final tokens. */
export function complete({ finals }: DeltaUtterance, evenEmpty: boolean = false): Step {
  return [nothing, ...(hasText(finals) || evenEmpty ? completed(saidIn(finals)) : [])];
}

function saidIn(tokens: readonly Token[]): Said {
  return {
    ...{ text: textOf(tokens), words: wordsOf(tokens) },
    confidence: meanConfidence(tokens.flatMap(({ word }) => word ?? [])),
    language: mostFrequent(tokens.flatMap(({ language }) => language ?? [])),
  };
}

/** Their combined text. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** Whether they contain more than white space. */
function hasText(tokens: readonly Token[]): boolean {
  return tokens.some(({ text }) => text.trim() !== '');
}

/** Groups tokens into words; leading white space starts a word. */
function wordsOf(tokens: readonly Token[]): TranscribedWord[] {
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
