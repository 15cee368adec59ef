import { asNumber, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { TranscribedWord } from '../../core/roles.ts';
import { completed, heard, type Said, type STTContext, type STTEffect, type STTStep } from './stt-wire.ts';
import { meanConfidence } from './stt-words.ts';

/** A part of a word. */
interface Token {
  /** As it came: white space before it begins a word. */
  readonly text: string;
  readonly word: TranscribedWord | undefined;
  readonly language: string | undefined;
  /** Where it begins and ends, in milliseconds of the present connection. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** The utterance so far. */
export interface DeltaUtterance {
  /** What will not change. */
  readonly finals: readonly Token[];
  /** What follows, and may change. */
  readonly newest: readonly Token[];
  /** How many of `finals` another connection need not hear: whole words. */
  readonly settled: number;
  /** Whether another connection heard the words before. */
  readonly joins: boolean;
}

type Context = STTContext<unknown>;
type Step = STTStep<DeltaUtterance>;

/** Audio before a word that may belong to it, in milliseconds. */
const leadMs = 100;

/** Tokens after which an utterance counts as complete, whatever the service says: some minutes of speech. */
const maxTokens = 2_048;

/** What ends an utterance: silence, and the answer to `finalize`. */
const markers: ReadonlySet<string> = new Set(['<end>', '<fin>']);

/** Before anything was said. */
export const nothing: DeltaUtterance = { finals: [], newest: [], settled: 0, joins: false };

/** Another connection goes on: of the words that were final, it hears again the last, which may still grow. */
export function again({ finals, settled }: DeltaUtterance): DeltaUtterance {
  const kept = finals.slice(0, settled).map((token) => ({ ...token, startMs: undefined, endMs: undefined }));
  return { finals: kept, newest: [], settled, joins: kept.length > 0 };
}

/** What the service has heard since its last message; a marker among the tokens ends an utterance. */
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

/** @param joins - Whether another connection heard the word before. */
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

/** Tells what audio is not needed any more: up to the last word that may still grow. */
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
  // With the pause before it, for a word begins before it is heard to begin.
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

/** What will not change is the whole utterance. */
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

/** What they say together. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** Whether there is more than white space in them. */
function hasText(tokens: readonly Token[]): boolean {
  return tokens.some(({ text }) => text.trim() !== '');
}

/** Whole words: the tokens from one with white space before it to the next. */
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

/** The value that is there most often; the first of several. */
function mostFrequent(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
