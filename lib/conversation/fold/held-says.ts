import { change, statusOf, type ConversationState, type Say } from './state.ts';

/** Longest voice without a word that holds up what the application wants said, in milliseconds. */
const longestNoiseMs = 8_000;

/** Adds what the application wants said: at once, or once the user has finished what would only cut it off. */
export function addSay(state: ConversationState, say: Say): ConversationState {
  const waits = say.interruptible && !say.urgent && statusOf(state) === 'free' && (isSaying(state) || isVoiced(state));
  return waits ? change(state, { heldSays: [...state.heldSays, say] }) : change(state, { says: [...state.says, say] });
}

/** The user has finished, or makes nothing but noise: the agent says what waited for that. */
export function releaseSays(state: ConversationState, at: number): ConversationState {
  const { says, heldSays, heldUntil } = state;
  if (heldSays.length === 0) return state;
  // Turn-taking sees to the end of words.
  if (isSaying(state)) return heldUntil === Infinity ? state : change(state, { heldUntil: Infinity });
  if (!isVoiced(state) || at >= heldUntil) return change(state, { says: [...says, ...heldSays], ...noHeldSays });
  return heldUntil === Infinity ? change(state, { heldUntil: at + longestNoiseMs }) : state;
}

/** Nothing waits. */
export const noHeldSays: Pick<ConversationState, 'heldSays' | 'heldUntil'> = { heldSays: [], heldUntil: Infinity };

/** Whether the user has said something that is not complete, or holds the button. */
function isSaying({ turnTaking }: ConversationState): boolean {
  if (turnTaking.phase === 'hearing') return turnTaking.said !== '' || turnTaking.text !== '';
  return turnTaking.phase !== 'idle';
}

/** Whether a voice is heard, which may become words. */
function isVoiced({ user }: ConversationState): boolean {
  return user.state === 'speaking';
}
