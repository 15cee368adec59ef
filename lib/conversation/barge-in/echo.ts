import { afterEcho, repeats } from '../../text/echo.ts';
import { countWords } from '../../text/words.ts';
import { isSuspected } from './barge-in.ts';
import { chain, type ConversationStep } from '../fold/conversation-step.ts';
import { emit, type HeardSignal } from '../fold/inputs.ts';
import { dismiss } from './interruption.ts';
import { answerTime } from './overheard.ts';
import type { Rules } from '../fold/rules.ts';
import type { Sounding } from '../answer/sounding.ts';
import { change, statusOf, type ConversationState } from '../fold/state.ts';

/** How long after a speech its echo may begin to arrive, in milliseconds. */
const tailMs = 500;
/** How long a recognized echo may go on, in milliseconds. */
const echoMs = 5_000;
/** An answer may repeat the words of its question: "the blue one". */
const longestAnswer = 4;
/** Fewer words may match the agent's by chance. */
const leastWords = 3;
/** The user cannot repeat a word sooner after its end, and an echo cannot begin later, in milliseconds. */
const reactionMs = 250;
/** Time to say and recognize a word, in milliseconds, if only its arrival is known. */
const recognitionMs = 1_000;

type HeardWords = Extract<HeardSignal, { readonly type: 'transcript' }>;

/** Whether a transcript is the agent's own speech, heard back. `partly`: the words so far may turn out to be. */
export function echoOf(
  state: ConversationState,
  signal: HeardWords,
  at: number,
  rules: Rules,
): 'surely' | 'partly' | 'not' {
  if (!mayEcho(state, signal, at, rules)) return 'not';
  const { locale } = rules;
  const { text, utteranceComplete } = signal.result;
  const { between } = signal.sounding;
  const echo = repeats(text, signal.sounding.text, locale);
  if (echo === 'not') return echo;
  // Words this few may be the user's own.
  const isShort = echo === 'partly' || (between !== undefined && countWords(text, locale) < leastWords);
  if (isShort && !utteranceComplete) return 'partly';
  if (isShort && !soundedMeanwhile(state, signal, at, locale)) return 'not';
  return mayAnswer(state, signal, text, at, rules) ? 'not' : 'surely';
}

/**
 * What the user says after an echo in the same utterance, as a signal of its own, and the state that remembers the echo;
 * nothing if the two are not told apart, or if there is no echo. The echo is told once the utterance is complete.
 */
export function withoutEcho(
  state: ConversationState,
  signal: HeardWords,
  at: number,
  rules: Rules,
): readonly [HeardWords, ConversationStep] | readonly [] {
  if (!mayEcho(state, signal, at, rules)) return [];
  const { result, sounding } = signal;
  const { locale, phrasebook } = rules;
  const parts = afterEcho(result.text, sounding.text, locale);
  if (!parts) return [];
  const { echo, between, isLong, isOwn } = parts;
  const isCommand = phrasebook.isCommand(between);
  const rest = isCommand ? between : parts.rest;
  const beginning: HeardWords = { ...signal, result: { ...result, text: echo } };
  // A word or two may be the user's own.
  const isShortEcho = (): boolean =>
    isCommand && (state.echoUntil > at || soundedMeanwhile(state, beginning, at, locale));
  if (isLong ? mayAnswer(state, signal, echo, at, rules) : !isShortEcho()) return [];
  // What follows may be the echo too, misheard; not so a phrase.
  const isMeant = isOwn || isCommand || phrasebook.isBackchannel(rest);
  if (!isMeant && repeats(result.text, sounding.text, locale) !== 'not') return [];
  const isOver = result.utteranceComplete;
  const marked: ConversationState = change(state, { echoUntil: isOver ? -Infinity : at + echoMs });
  const told = emit('bargeIn.ignored', { reason: 'echo', text: echo, result });
  return [{ ...signal, result: { ...result, text: rest } }, isOver ? [marked, told] : [marked]];
}

/** Whether these words may be what the agent says, heard back: they come in time, and are not a mere command. */
function mayEcho(
  state: ConversationState,
  signal: HeardWords,
  at: number,
  { guardsEcho, phrasebook }: Rules,
): signal is HeardWords & { readonly sounding: Sounding } {
  if (!guardsEcho || !signal.sounding) return false;
  const isGoingOn = state.echoUntil > at || mayBeGoingOn(state, at);
  const { startOfSpeechAt: from = isGoingOn ? -Infinity : at } = signal;
  return from <= at - signal.sounding.endedMs + tailMs && !phrasebook.isCommand(signal.result.text);
}

/** Whether words of the agent's may be the answer to its question. */
function mayAnswer(
  state: ConversationState,
  signal: HeardSignal,
  text: string,
  at: number,
  { locale }: Rules,
): boolean {
  return answerTime(state, signal, at) !== undefined && countWords(text, locale) <= longestAnswer;
}

/** Whether the agent's same words were audible at that moment. */
function soundedMeanwhile(state: ConversationState, signal: HeardWords, at: number, locale?: string): boolean {
  const { result, sounding, endOfSpeechAt = at } = signal;
  const heard = sounding?.between?.(saidSince(state, signal, at) - reactionMs, endOfSpeechAt) ?? '';
  return repeats(result.text, heard, locale) !== 'not';
}

/** When the utterance began: by the times of its words, else by its voice, else by the arrival of its first words. */
function saidSince(state: ConversationState, { startOfSpeechAt }: HeardWords, at: number): number {
  if (startOfSpeechAt !== undefined) return startOfSpeechAt;
  if (mayBeGoingOn(state, at)) return state.echoSince;
  return isSuspected(state.bargeIn) ? state.bargeIn.since : at - recognitionMs;
}

function mayBeGoingOn({ echoSince }: ConversationState, at: number): boolean {
  return at - echoSince <= echoMs;
}

/** Words that may turn out to be an echo pause nothing; a single one is not a sign of anything. */
export function waitForEcho(before: ConversationState, signal: HeardWords, at: number, rules: Rules): ConversationStep {
  const state: ConversationState = change(before, { echoSince: saidSince(before, signal, at) });
  const isPair = countWords(signal.result.text, rules.locale) > 1;
  return isPair && statusOf(state) !== 'free' ? dismiss(state, false, at, rules) : [state];
}

/** An echo is not something the user said. */
export function dropEcho(state: ConversationState, { result }: HeardWords, at: number, rules: Rules): ConversationStep {
  const { text, utteranceComplete: isOver } = result;
  const marked: ConversationState = change(state, {
    echoUntil: isOver ? -Infinity : at + echoMs,
    echoSince: isOver ? -Infinity : state.echoSince,
  });
  const dropped: ConversationStep = isOver
    ? [change(marked, { user: { state: 'silent' } }), emit('bargeIn.ignored', { reason: 'echo', text, result })]
    : [marked];
  return statusOf(state) !== 'free' ? chain(dropped, (after) => dismiss(after, isOver, at, rules)) : dropped;
}
