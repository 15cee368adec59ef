import { joinWords } from '../text/words.ts';
import type { Effect, Input } from './inputs.ts';
import { noHeldSays } from './held-says.ts';
import { statusOf, type Commit, type ConversationState } from './state.ts';
import { noTurn } from './turn-taking.ts';
import { chain, commit, cut, discard, settle, type ConversationStep } from './user-turn.ts';

const notHeard = { heardText: '', interrupted: true } as const;

/** What is to be answered next: what has waited longest, else a message that lost its answer to what came to nothing. */
function nextOf({ waiting, unanswered, turn, isDraining }: ConversationState): Commit | undefined {
  if (waiting[0] || unanswered === undefined || turn || isDraining) return waiting[0];
  return { type: 'turn.commit', text: unanswered, endedBy: 'again', isRemembered: true };
}

/** Whether it may be answered now. What the user has not just said waits for the user as well as for the agent. */
function mayTakeUp(state: ConversationState, { isPatient, isRemembered }: Commit): boolean {
  if (state.isStopped || statusOf(state) !== 'free' || state.candidate?.phase === 'ending') return false;
  return (!isPatient && !isRemembered) || state.turnTaking.phase === 'idle';
}

/** Takes up what waits as soon as that is possible, behind what is under way already. */
export function takeUpWaiting(state: ConversationState): ConversationStep {
  const next = nextOf(state);
  return next && mayTakeUp(state, next) ? [state, { type: 'then', input: { type: 'turn.next' } }] : [state];
}

/** Commits what waits, unless something went before it meanwhile. */
export function commitNext(state: ConversationState, at: number): ConversationStep {
  const next = nextOf(state);
  if (!next || !mayTakeUp(state, next)) return [state];
  const [first, ...waiting] = state.waiting;
  const spoken = first && isSpoken(first) ? waiting.slice(0, countWhile(waiting, isSpoken)) : [];
  const joined = spoken.reduce((all, each) => ({ ...each, text: joinWords(all.text, each.text) }), next);
  return commit({ ...state, waiting: waiting.slice(spoken.length) }, joined, at);
}

/** What the user said in several utterances while nothing could be answered is one message. */
function isSpoken({ ticket, isPatient, isRemembered }: Commit): boolean {
  return !ticket && !isPatient && !isRemembered;
}

function countWhile<T>(items: readonly T[], is: (item: T) => boolean): number {
  const end = items.findIndex((item) => !is(item));
  return end < 0 ? items.length : end;
}

/** Ends the conversation: nothing that waits is begun, and everyone is told. */
export function stop(state: ConversationState, at: number): ConversationStep {
  const [quiet, ...settled] = forgetWaiting(state);
  const [stopped, ...effects] = cut(quiet, 'stop', 'stopped', at);
  return [
    { ...stopped, user: { state: 'silent' }, turnTaking: noTurn, isStopped: true },
    ...settled,
    ...effects,
    { type: 'then', input: { type: 'stopped' } },
  ];
}

/** The agent finishes speaking, and nothing new begins. */
export function drain(state: ConversationState, at: number): ConversationStep {
  return chain(forgetWaiting({ ...state, isDraining: true }), (after) => discard(after, 'cancelled', at));
}

/** Once the agent has finished, a conversation that is drained stops. */
export function endDrain(state: ConversationState): ConversationStep {
  const isOver = state.isDraining && !state.isStopped && statusOf(state) === 'free';
  if (!isOver || state.candidate || state.says.length > 0) return [state];
  return [state, { type: 'then', input: { type: 'stop' } }];
}

/** What begins something new, which a conversation that is drained does not take; others are `undefined`. */
export function refuseWhileDraining(state: ConversationState, input: Input): ConversationStep | undefined {
  if (!state.isDraining || !/^(say|send|begin|agent\.inject|turn\.(commit|speculate))$/.test(input.type)) {
    return undefined;
  }
  return [state, ...('ticket' in input ? settle([input.ticket], notHeard) : [])];
}

function forgetWaiting(state: ConversationState): ConversationStep {
  const { waiting, awaitingReply, heldSays } = state;
  const tickets = [
    ...waiting.flatMap(({ ticket = [] }) => ticket),
    ...awaitingReply,
    ...heldSays.flatMap((say) => say.tickets),
  ];
  const settled: Effect[] = settle(tickets, notHeard);
  return [{ ...state, waiting: [], awaitingReply: [], ...noHeldSays }, ...settled];
}
