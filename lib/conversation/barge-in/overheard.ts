import { endsInQuestion } from '../../text/questions.ts';
import { joinWords } from '../../text/words.ts';
import { isSuspected } from './barge-in.ts';
import type { ConversationStep } from '../fold/conversation-step.ts';
import type { IgnoreReason } from '../events.ts';
import type { HeardSignal, Input } from '../fold/inputs.ts';
import { change, statusOf, type Commit, type ConversationState, type Overheard } from '../fold/state.ts';
import { cut } from '../fold/user-turn.ts';

/** How long before the end of a speech, or of a question, the user's words count as said at that end. */
const beforeEndMs = 1_500;
/** How long after a question an answer to it is expected. */
const afterQuestionMs = 1_000;
/** Outputs report an end a little late; the first syllable of what follows may overlap. */
const graceMs = 250;

type HeardWords = Extract<HeardSignal, { readonly type: 'transcript' }>;

/** Whether what is being said answers a question: one that was just asked, or `soon` will have been. */
export function answerTime(state: ConversationState, signal: HeardSignal, at: number): 'now' | 'soon' | undefined {
  if (signal.type !== 'transcript' || !signal.sounding) return undefined;
  const { toQuestionMs, sinceQuestionMs } = signal.sounding;
  if (toQuestionMs <= beforeEndMs) return 'soon';
  const saidAt = signal.startOfSpeechAt ?? (isSuspected(state.bargeIn) ? state.bargeIn.since : at);
  return sinceQuestionMs - (at - saidAt) <= afterQuestionMs ? 'now' : undefined;
}

/** Handles a complete utterance that did not interrupt the agent. */
export function overhear(
  state: ConversationState,
  signal: HeardWords,
  reason: IgnoreReason,
  at: number,
): Overheard | undefined {
  if (reason !== 'backchannel' && reason !== 'too-short') return undefined;
  const { result, endOfSpeechAt, sounding } = signal;
  // What was overheard just before belongs to it.
  const commit: Commit = {
    type: 'turn.commit',
    text: joinWords(state.overheard?.commit.text ?? '', result.text.trim()),
    endedBy: 'stt',
    result,
    ...(endOfSpeechAt === undefined ? {} : { endOfSpeechAt }),
  };
  if (sounding && answerTime(state, signal, at) === 'soon') {
    return { commit, kind: 'answer', until: at + sounding.toQuestionMs + graceMs };
  }
  const kind = reason === 'backchannel' ? (state.overheard?.kind ?? 'nod') : 'short';
  return { commit, kind, until: at + beforeEndMs };
}

/**
 * What was overheard in the last moments of a speech is answered after the speech; an answer to a question, after the
 * question.
 */
export function takeUpOverheard(
  state: ConversationState,
  before: ConversationState,
  input: Input,
  at: number,
): ConversationStep {
  const { overheard, output } = state;
  if (!overheard) return [state];
  if (state.isStopped || state.isDraining) return [change(state, { overheard: undefined })];
  const { commit, kind, until } = overheard;
  const { speaking } = before.output;
  const hasEnded = speaking !== undefined && output.speaking?.id !== speaking.id;
  if (!hasEnded && at < until) return [state];
  const forgotten: ConversationState = change(state, { overheard: undefined });
  if (kind !== 'answer' && !(hasEnded && isInvited(kind, input))) return [forgotten];
  const taken: ConversationState = change(forgotten, { waiting: [...state.waiting, commit] });
  const isInterruptible = output.speaking?.interruptible ?? true;
  if (statusOf(taken) === 'free' || !isInterruptible || hasEnded) return [taken];
  return cut(taken, 'user', 'interrupted', at);
}

/** Whether the speech was heard to its end and a backchannel after it counts as an answer. */
function isInvited(kind: 'nod' | 'short', input: Input): boolean {
  if (input.type !== 'answer.ended' && input.type !== 'say.ended') return false;
  const { heardText, interrupted } = input.outcome;
  return !interrupted && (kind === 'short' || endsInQuestion(heardText));
}
