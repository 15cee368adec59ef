import { repeats } from '../text/echo.ts';
import { countWords } from '../text/words.ts';
import { emit, type HeardSignal } from './inputs.ts';
import { dismiss } from './interruption.ts';
import { answerTime } from './overheard.ts';
import type { Rules } from './rules.ts';
import { statusOf, type ConversationState } from './state.ts';
import { chain, type ConversationStep } from './user-turn.ts';

/** How long after a speech its echo may begin to arrive, in milliseconds. */
const tailMs = 500;
/** How long an echo that was recognized may go on, in milliseconds. */
const echoMs = 5_000;
/** An answer may repeat the words of its question: "the blue one". */
const longestAnswer = 4;

/** Whether a transcript is the agent's own speech, heard back. `partly`: words so far that may become that. */
export function echoOf(
  state: ConversationState,
  signal: HeardSignal,
  at: number,
  { guardsEcho, locale, phrasebook }: Rules,
): 'surely' | 'partly' | 'not' {
  if (!guardsEcho || signal.type !== 'transcript' || !signal.sounding) return 'not';
  const { text, utteranceComplete } = signal.result;
  const { endedMs } = signal.sounding;
  const { startOfSpeechAt: from = state.echoUntil > at ? -Infinity : at } = signal;
  if (from > at - endedMs + tailMs) return 'not';
  if (phrasebook.isCommand(text)) return 'not';
  const echo = repeats(text, signal.sounding.text, locale);
  if (echo === 'partly') return utteranceComplete ? 'not' : echo;
  const mayAnswer = answerTime(state, signal, at) !== undefined && countWords(text, locale) <= longestAnswer;
  return mayAnswer ? 'not' : echo;
}

/** Words that may become an echo pause nothing; a single one is no sign of anything. */
export function waitForEcho(state: ConversationState, signal: HeardSignal, at: number, rules: Rules): ConversationStep {
  const isPair = signal.type === 'transcript' && countWords(signal.result.text, rules.locale) > 1;
  return isPair && statusOf(state) !== 'free' ? dismiss(state, false, at, rules) : [state];
}

/** An echo is no word of the user. */
export function dropEcho(
  state: ConversationState,
  { result }: Extract<HeardSignal, { readonly type: 'transcript' }>,
  at: number,
  rules: Rules,
): ConversationStep {
  const { text, utteranceComplete: isOver } = result;
  const marked: ConversationState = { ...state, echoUntil: isOver ? -Infinity : at + echoMs };
  const dropped: ConversationStep = isOver
    ? [{ ...marked, user: { state: 'silent' } }, emit('bargeIn.ignored', { reason: 'echo', text, result })]
    : [marked];
  return statusOf(state) !== 'free' ? chain(dropped, (after) => dismiss(after, isOver, at, rules)) : dropped;
}
