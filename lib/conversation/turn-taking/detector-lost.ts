import { isSuspected, takeSign } from '../barge-in/barge-in.ts';
import { change, type ConversationState } from '../fold/state.ts';
import type { TurnRules } from './turn-rules.ts';

/**
 * The voice detector has ended: from now on the service's own voice events count, or its words if it has none.
 *
 * @param waitMs - How long to wait for a user who is speaking.
 */
export function withoutDetector(state: ConversationState, at: number, waitMs: number): ConversationState {
  const { rules, nextTurnTaking, user, bargeIn } = state;
  const stt = { ...rules.stt, detectsVoice: false };
  const byService = (turnTaking: TurnRules): TurnRules => ({
    ...turnTaking,
    detectsVoice: false,
    voiceEnds: stt.reportsSpeechEnd,
    trustsVoice: stt.reportsSpeechEnd && stt.pauseMs < Infinity,
  });
  return change(state, {
    rules: { ...rules, stt, reportsSpeechEnd: stt.reportsSpeechEnd, turnTaking: byService(rules.turnTaking) },
    nextTurnTaking: nextTurnTaking && byService(nextTurnTaking),
    user: user.state === 'speaking' ? { ...user, until: Math.min(user.until, at + waitMs) } : user,
    // The agent goes on, unless words arrive.
    bargeIn: isSuspected(bargeIn) ? takeSign(bargeIn, { type: 'voice-ended' }, at, () => bargeIn.rules)[0] : bargeIn,
  });
}

/** Whether the current voice goes on is unknown until new words arrive. */
export function withoutVoice(state: ConversationState): ConversationState {
  const { turnTaking } = state;
  if (turnTaking.phase === 'idle') return change(state, { turnTaking: { ...turnTaking, voiceUntil: undefined } });
  return turnTaking.phase === 'hearing' ? change(state, { turnTaking: { ...turnTaking, voice: 'unknown' } }) : state;
}
