import { repeats } from '../text/echo.ts';
import { countWords } from '../text/words.ts';
import { isSuspected } from './barge-in.ts';
import { emit, type HeardSignal } from './inputs.ts';
import { dismiss } from './interruption.ts';
import { answerTime } from './overheard.ts';
import type { Rules } from './rules.ts';
import { statusOf, type ConversationState } from './state.ts';
import { chain, type ConversationStep } from './user-turn.ts';

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
  signal: HeardSignal,
  at: number,
  { guardsEcho, locale, phrasebook }: Rules,
): 'surely' | 'partly' | 'not' {
  if (!guardsEcho || signal.type !== 'transcript' || !signal.sounding) return 'not';
  const { text, utteranceComplete } = signal.result;
  const { endedMs, between } = signal.sounding;
  const isGoingOn = state.echoUntil > at || mayBeGoingOn(state, at);
  const { startOfSpeechAt: from = isGoingOn ? -Infinity : at } = signal;
  if (from > at - endedMs + tailMs) return 'not';
  if (phrasebook.isCommand(text)) return 'not';
  const echo = repeats(text, signal.sounding.text, locale);
  if (echo === 'not') return echo;
  // Words this few may be the user's own.
  const isShort = echo === 'partly' || (between !== undefined && countWords(text, locale) < leastWords);
  if (isShort && !utteranceComplete) return 'partly';
  if (isShort && !soundedMeanwhile(state, signal, at, locale)) return 'not';
  const mayAnswer = answerTime(state, signal, at) !== undefined && countWords(text, locale) <= longestAnswer;
  return mayAnswer ? 'not' : 'surely';
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
  const state: ConversationState = { ...before, echoSince: saidSince(before, signal, at) };
  const isPair = countWords(signal.result.text, rules.locale) > 1;
  return isPair && statusOf(state) !== 'free' ? dismiss(state, false, at, rules) : [state];
}

/** An echo is not something the user said. */
export function dropEcho(state: ConversationState, { result }: HeardWords, at: number, rules: Rules): ConversationStep {
  const { text, utteranceComplete: isOver } = result;
  const marked: ConversationState = {
    ...state,
    echoUntil: isOver ? -Infinity : at + echoMs,
    echoSince: isOver ? -Infinity : state.echoSince,
  };
  const dropped: ConversationStep = isOver
    ? [{ ...marked, user: { state: 'silent' } }, emit('bargeIn.ignored', { reason: 'echo', text, result })]
    : [marked];
  return statusOf(state) !== 'free' ? chain(dropped, (after) => dismiss(after, isOver, at, rules)) : dropped;
}
