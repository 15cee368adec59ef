import type { Step } from '../../stream/fold.ts';
import type { Effect } from './inputs.ts';
import type { ConversationState } from './state.ts';

/** A step of the whole conversation. */
export type ConversationStep = Step<ConversationState, Effect>;

/** One step, then another. */
export function chain(step: ConversationStep, next: (state: ConversationState) => ConversationStep): ConversationStep {
  const following = next(step[0]);
  if (step.length === 1) return following;
  if (following.length === 1 && following[0] === step[0]) return step;
  const [, ...effects] = step;
  const [after, ...more] = following;
  return [after, ...effects, ...more];
}
