import { joinWords } from '../../text/words.ts';
import { notHeard } from '../commands.ts';
import { chain, type ConversationStep } from './conversation-step.ts';
import type { Effect, Input } from './inputs.ts';
import { noHeldSays } from './held-says.ts';
import { change, statusOf, type Commit, type ConversationState } from './state.ts';
import { noTurn } from '../turn-taking/turn-taking.ts';
import { commit, cut, discard, settleTickets } from './user-turn.ts';

/** The next message to answer: the one that has waited longest, else one whose answer was cut off for nothing. */
function nextOf({ waiting, unanswered, turn, isDraining }: ConversationState): Commit | undefined {
  if (waiting[0] || unanswered === undefined || turn || isDraining) return waiting[0];
  return { type: 'turn.commit', text: unanswered, endedBy: 'again', isRemembered: true };
}

/** Whether it may be answered now. A message that the user did not just say waits for the user as well as the agent. */
function mayTakeUp(state: ConversationState, { isPatient, isRemembered }: Commit): boolean {
  if (state.isStopped || statusOf(state) !== 'free' || state.candidate?.phase === 'ending') return false;
  return (!isPatient && !isRemembered) || state.turnTaking.phase === 'idle';
}

/** Takes up what waits as soon as possible, behind what is already under way. */
export function takeUpWaiting(state: ConversationState): ConversationStep {
  const next = nextOf(state);
  return next && mayTakeUp(state, next) ? [state, { type: 'then', input: { type: 'turn.next' } }] : [state];
}

/** Commits what waits, unless something else came first meanwhile. */
export function commitNext(state: ConversationState, at: number): ConversationStep {
  const next = nextOf(state);
  if (!next || !mayTakeUp(state, next)) return [state];
  const [first, ...waiting] = state.waiting;
  const spoken = first && isSpoken(first) ? waiting.slice(0, countWhile(waiting, isSpoken)) : [];
  const joined = spoken.reduce((all, each) => ({ ...each, text: joinWords(all.text, each.text) }), next);
  return commit(change(state, { waiting: waiting.slice(spoken.length) }), joined, at);
}

/** Utterances made while nothing could be answered become one message. */
function isSpoken({ ticket, isPatient, isRemembered }: Commit): boolean {
  return !ticket && !isPatient && !isRemembered;
}

function countWhile<T>(items: readonly T[], is: (item: T) => boolean): number {
  const end = items.findIndex((item) => !is(item));
  return end < 0 ? items.length : end;
}

/** Ends the conversation: nothing that waits is started, and every handle is settled. */
export function stop(state: ConversationState, at: number): ConversationStep {
  const [quiet, ...settled] = forgetWaiting(state);
  const [stopped, ...effects] = cut(quiet, 'stop', 'stopped', at);
  return [
    change(stopped, { user: { state: 'silent' }, turnTaking: noTurn, isStopped: true }),
    ...settled,
    ...effects,
    { type: 'then', input: { type: 'stopped' } },
  ];
}

/** The agent finishes speaking, and nothing new begins. */
export function drain(state: ConversationState, at: number): ConversationStep {
  return chain(forgetWaiting(change(state, { isDraining: true })), (after) => discard(after, 'cancelled', at));
}

/** A draining conversation stops once the agent has finished. */
export function endDrain(state: ConversationState): ConversationStep {
  const isOver = state.isDraining && !state.isStopped && statusOf(state) === 'free';
  if (!isOver || state.candidate || state.says.length > 0) return [state];
  return [state, { type: 'then', input: { type: 'stop' } }];
}

/** Inputs that begin something new, which a draining conversation refuses; `undefined` for all others. */
export function refuseWhileDraining(state: ConversationState, input: Input): ConversationStep | undefined {
  if (!state.isDraining || !/^(say|send|begin|agent\.inject|turn\.(commit|speculate))$/.test(input.type)) {
    return undefined;
  }
  return [state, ...('ticket' in input ? settleTickets([input.ticket], notHeard) : [])];
}

function forgetWaiting(state: ConversationState): ConversationStep {
  const { waiting, awaitingReply, heldSays } = state;
  const tickets = [
    ...waiting.flatMap(({ ticket = [] }) => ticket),
    ...awaitingReply,
    ...heldSays.flatMap((say) => say.tickets),
  ];
  const settled: Effect[] = settleTickets(tickets, notHeard);
  return [change(state, { waiting: [], awaitingReply: [], ...noHeldSays }), ...settled];
}
