import { messageOf, VoiceError } from '../../core/errors.ts';
import type { ListeningMoment, ListeningPolicy } from '../conversation-options.ts';
import type { ConversationStep } from '../fold/conversation-step.ts';
import { emit, type Effect } from '../fold/inputs.ts';
import { agentStateOf, change, type ConversationState } from '../fold/state.ts';

/** Does not listen until the greeting is over: for notices that every caller must hear. */
export const afterGreeting: ListeningPolicy = ({ isGreeting }) => !isGreeting;

/** Does not listen while a tool runs: nothing said meanwhile would change anything. */
export const unlessToolsRun: ListeningPolicy = ({ runsTools }) => !runsTools;

/** Listens, or not, as the policies now decide; all of them must agree. */
export function listenByPolicy(before: ConversationState): ConversationStep {
  if (before.rules.listening.length === 0 && before.isListening) return [before];
  if (before.isStopped) return endPolicies(before);
  const [state, ...failures] = askPolicies(before);
  const { isListening } = state;
  if (isListening === before.isListening) return [state, ...failures];
  return [state, ...failures, { type: 'listen', isOn: isListening }, told(isListening)];
}

/** No policy outlasts its session; until the session has ended, the service keeps hearing silence. */
function endPolicies(state: ConversationState): ConversationStep {
  return state.isListening ? [state] : [change(state, { isListening: true }), told(true)];
}

function told(listening: boolean): Effect {
  return emit('input.listening', { listening }, { role: 'input' });
}

/** A policy that fails is ignored from then on: when in doubt, listen. */
function askPolicies(state: ConversationState): ConversationStep {
  const moment = momentOf(state);
  const failures: Effect[] = [];
  let isListening = true;
  const listening = state.rules.listening.filter((policy) => {
    try {
      isListening = decide(policy, moment) && isListening;
      return true;
    } catch (cause) {
      const message = `a listening policy failed and is now ignored: ${messageOf(cause)}`;
      failures.push({ type: 'error', error: new VoiceError(message, { code: 'internal', cause }) });
      return false;
    }
  });
  const rules = failures.length === 0 ? state.rules : { ...state.rules, listening };
  return [change(state, { isListening, rules }), ...failures];
}

function decide(policy: ListeningPolicy, moment: ListeningMoment): boolean {
  const result: unknown = policy(moment);
  if (typeof result === 'boolean') return result;
  throw new Error('it must return true or false');
}

function momentOf(state: ConversationState): ListeningMoment {
  return {
    agentState: agentStateOf(state),
    userState: state.user.state,
    isGreeting: state.says.some(({ source }) => source === 'greeting'),
    runsTools: state.candidate?.tools !== undefined,
  };
}
