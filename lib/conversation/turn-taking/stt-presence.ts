import type { SttPresence } from '../fold/inputs.ts';
import type { Rules } from '../fold/rules.ts';
import { change, type ConversationState } from '../fold/state.ts';
import type { TurnRules } from './turn-rules.ts';

/** Longest wait for speech-to-text to reconnect, in milliseconds. */
const awayMs = 30_000;

/** How long to wait for speech-to-text: it takes longer while it is away. */
export function patienceMs({ isSttAway }: ConversationState, { turnTaking: { sttTimeoutMs } }: Rules): number {
  return isSttAway ? Math.max(awayMs, sttTimeoutMs) : sttTimeoutMs;
}

/** The rules of turn-taking at this time: their patience, and the phrases of the users' language. */
export function turnRulesNow(state: ConversationState, rules: Rules): TurnRules {
  const { endOfTurn, bounds, isManual, sttLagMs, canFinalize } = rules.turnTaking;
  const { voiceEnds, detectsVoice, trustsVoice, stableInterimMs } = rules.turnTaking;
  // Every signal comes by here: a literal costs less than a spread.
  return {
    endOfTurn,
    bounds,
    isManual,
    sttTimeoutMs: patienceMs(state, rules),
    sttLagMs,
    canFinalize,
    voiceEnds,
    detectsVoice,
    trustsVoice,
    stableInterimMs,
    isBackchannel: rules.phrasebook.isBackchannel,
  };
}

/**
 * Waits for speech-to-text restart when its connection drops or returns, and end once it is lost. If a turn ended while
 * it is away, the next connection would deliver the same words again.
 */
export function waitAnew(state: ConversationState, is: SttPresence['is'], at: number, rules: Rules): ConversationState {
  const { user, turnTaking } = state;
  const until = is === 'lost' ? at : at + patienceMs(state, rules);
  return change(state, {
    user: user.state === 'speaking' ? { ...user, until } : user,
    turnTaking: 'until' in turnTaking ? waitFor(turnTaking, is, until) : turnTaking,
  });
}

/** The next connection will deliver again what is not final yet. */
function waitFor<T extends { readonly until: number }>(turn: T, is: SttPresence['is'], until: number): T {
  const isOpen = 'text' in turn && turn.text !== '';
  return { ...turn, until, ...(isOpen && is === 'away' && 'endsAt' in turn ? { endsAt: Infinity } : {}) };
}
