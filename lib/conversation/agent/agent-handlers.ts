import { notHeard } from '../commands.ts';
import type { ConversationStep } from '../fold/conversation-step.ts';
import type { AgentSignal } from '../fold/inputs.ts';
import { change, type ConversationState, type Say } from '../fold/state.ts';
import { withMeasured } from '../fold/turn.ts';
import { settleTickets } from '../fold/user-turn.ts';

/** A handler for each signal of an agent's service. */
export type AgentHandlers = {
  readonly [T in AgentSignal['type']]: (
    state: ConversationState,
    signal: Extract<AgentSignal, { readonly type: T }>,
  ) => ConversationStep;
};

/** The handlers for an agent's service, which manages turns itself. */
export const agentHandlers: AgentHandlers = {
  'agent.inject': (state, signal) => {
    // Blank text counts as said.
    if (!signal.text.trim()) return [state, ...settleTickets([signal.ticket], { heardText: '', interrupted: false })];
    return [change(state, { awaitingReply: [...state.awaitingReply, signal.ticket] }), signal];
  },
  'agent.refused': (state, { error, ticket }) => [
    change(state, { awaitingReply: state.awaitingReply.filter((each) => each !== ticket) }),
    { type: 'error', error, role: 'llm' },
    ...settleTickets([ticket], notHeard),
  ],
  'agent.reply': (state, { reply$ }) => {
    const { candidate, awaitingReply: tickets } = state;
    // What arrives while the user speaks is the rest of what was cut off.
    if (state.user.state === 'speaking') return [state];
    const rest = change(state, { awaitingReply: [] });
    if (candidate?.phase === 'committed' && !candidate.reply$) {
      return [{ ...rest, candidate: { ...candidate, reply$, tickets: [...candidate.tickets, ...tickets] } }];
    }
    const ids = state.ids + 1;
    const say: Say = {
      id: `speech-${ids}`,
      content: { reply$ },
      source: 'answer',
      tickets,
      interruptible: true,
      store: true,
      urgent: false,
    };
    return [{ ...rest, ids, says: [...state.says, say] }];
  },
  'agent.latency': (state, { latency }) => [
    state.answering ? change(state, { answering: withMeasured(state.answering, { agent: latency }) }) : state,
  ],
  'agent.lost': (state, { error }) => [
    state,
    { type: 'error', error, role: 'stt' },
    { type: 'then', input: { type: 'stop' } },
  ],
};
