import type { ConversationStep } from '../fold/conversation-step.ts';
import { emit, type HeardSignal } from '../fold/inputs.ts';
import { dismiss, isInterruptible, isStopCommand, suspect } from '../barge-in/interruption.ts';
import type { Rules } from '../fold/rules.ts';
import { change, keepsTools, type ConversationState } from '../fold/state.ts';
import type { TurnDecision } from '../turn-taking/turn-rules.ts';
import { openTurn, turnEnded, turnTaken } from '../fold/user-turn.ts';

/**
 * Whether what the user says while tools run joins the next request: the tools go on, and so does speech. Only a
 * command stops them.
 */
export function joinsTools(state: ConversationState, signal: HeardSignal, at: number, rules: Rules): boolean {
  if (!keepsTools(state) || !isInterruptible(state, rules)) return false;
  if (signal.type === 'speech') return true;
  const { text } = signal.result;
  return !rules.phrasebook.isBackchannel(text) && !isStopCommand(state, signal, at, rules);
}

/** The agent is silent while the user speaks, and then goes on. */
export function listenDuringTools(
  state: ConversationState,
  signal: HeardSignal,
  at: number,
  rules: Rules,
): ConversationStep {
  const isOver = signal.type === 'transcript' && signal.result.utteranceComplete;
  return isOver ? dismiss(state, true, at, rules) : suspect(state, signal, at, rules);
}

/** What the user has said becomes a part of the turn that is being answered. */
export function joinAnswer(
  before: ConversationState,
  { text, endedBy, result }: Extract<TurnDecision, { readonly type: 'commit' }>,
  at: number,
): ConversationStep {
  const [state, turn, ...started] = openTurn(before, 'speech', at);
  const envelope = { turnId: turn.id };
  return [
    change(state, turnTaken),
    ...started,
    emit('transcript.final', { text, ...(result ? { result } : {}) }, { ...envelope, role: 'stt' }),
    emit('turn.committed', { text, endedBy }, envelope),
    { type: 'join', text },
    ...turnEnded({ ...turn, committedAt: at }, 'merged'),
  ];
}
