import { hasWords } from '../../text/words.ts';
import type { ConversationStep } from './conversation-step.ts';
import { emit, type Input } from './inputs.ts';
import { change, statusOf, type ConversationState } from './state.ts';

/**
 * Sets the deadlines of `user.idle` and `user.away`: both run while nobody speaks. What the agent says on its own, such
 * as "Are you still there?", restarts the first and merely suspends the second.
 */
export function watchQuiet(
  state: ConversationState,
  before: ConversationState,
  input: Input,
  at: number,
): ConversationStep {
  const { idleAt, awayAt, awayInMs } = state;
  if (!isQuiet(state)) {
    const { awayMs } = state.rules;
    const leftMs = isUsers(state) ? awayMs : awayAt === Infinity ? awayInMs : awayAt - at;
    const isNoted = idleAt === Infinity && awayAt === Infinity && leftMs === awayInMs;
    return [isNoted ? state : change(state, { idleAt: Infinity, awayAt: Infinity, awayInMs: leftMs })];
  }
  const wasQuiet = isQuiet(before);
  const { idleMs, awayMs } = state.rules;
  // Push-to-talk: the user is there.
  const isThere = input.type === 'started' || input.type === 'begin';
  // A result without words says nothing about the user.
  const isSaid = input.type === 'transcript' && hasWords(input.result.text);
  const isSign = isThere || isSaid || input.type === 'speech';
  if (wasQuiet && !isSign) return [state];
  if (isThere) return [change(state, { idleAt: at + idleMs, awayAt: at + awayMs })];
  return [change(state, { idleAt: at + idleMs, awayAt: wasQuiet ? awayAt : at + awayInMs })];
}

/** A deadline has passed in silence: each event is published once. */
export function wakeQuiet(state: ConversationState, at: number): ConversationStep {
  const [isIdle, isAway] = [at >= state.idleAt, at >= state.awayAt];
  if (!isIdle && !isAway) return [state];
  const { idleMs, awayMs } = state.rules;
  const away = isAway ? { awayAt: Infinity, awayInMs: Infinity } : {};
  return [
    change(state, { ...(isIdle ? { idleAt: Infinity } : {}), ...away }),
    ...(isIdle ? [emit('user.idle', { idleMs })] : []),
    ...(isAway ? [emit('user.away', { awayMs })] : []),
  ];
}

/** Whether nobody speaks, and nothing is about to be said. */
function isQuiet(state: ConversationState): boolean {
  return state.user.state === 'silent' && statusOf(state) === 'free';
}

/** Whether the user speaks, or is being answered. */
function isUsers({ user, turn, answering }: ConversationState): boolean {
  return user.state === 'speaking' || turn !== undefined || answering !== undefined;
}
