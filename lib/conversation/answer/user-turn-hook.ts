import type { InputGuard } from '../../text/text-transform.ts';
import type { UserTurnVerdict } from '../conversation-options.ts';
import { hookTimedOut } from './call-hook.ts';
import { chain, type ConversationStep } from '../fold/conversation-step.ts';
import type { Effect, HookInput } from '../fold/inputs.ts';
import { rememberSaid } from '../fold/said.ts';
import { change, type Candidate, type ConversationState } from '../fold/state.ts';
import { cut } from '../fold/user-turn.ts';

type Hooked = Extract<Candidate, { readonly phase: 'hooking' }>;

/** The turn is certain and published: it is answered once the application's hook has seen it. */
export function answerCandidate(state: ConversationState, id: string, at: number): ConversationStep {
  const { candidate, rules, unjudged } = state;
  if (candidate?.id !== id || (candidate.phase !== 'adopted' && candidate.phase !== 'certain')) return [state];
  const { onUserTurn: hook, hookMs, guards } = rules;
  // Guards that an update has taken away judge nothing anymore.
  if (unjudged && guards.length === 0) return chain(rememberSaid(state), (after) => answerCandidate(after, id, at));
  if (!hook || candidate.isHooked) return [change(state, { candidate: { ...candidate, phase: 'committed' } })];
  const { turnId, tickets, result } = candidate;
  const source = tickets.length > 0 ? 'text' : 'speech';
  const isPrepared = candidate.phase === 'adopted';
  const turn = { id: turnId, source, ...(result ? { result } : {}) } as const;
  return [
    change(state, { candidate: { ...candidate, phase: 'hooking', isPrepared, until: at + hookMs + waitsOf(guards) } }),
    { type: 'hook', candidate: id, hook, hookMs, guards, unjudged: unjudged?.text, turn },
  ];
}

/** The hook has decided, or failed: then the turn is answered as if there were no hook. */
export function takeVerdict(state: ConversationState, input: HookInput, at: number): ConversationStep {
  const { candidate, answering } = state;
  if (candidate?.id !== input.candidate || candidate.phase !== 'hooking') return [state];
  const { verdict, error } = input;
  const { text, refuse } = verdict;
  const before: ConversationState = change(state, { answering: answering && { ...answering, hookedAt: at } });
  const effects: Effect[] = [];
  if (error !== undefined) effects.push({ type: 'error', error, turnId: candidate.turnId });
  // A message that was refused silently must not be answered together with the next one.
  const whole = refuse === '' ? '' : text;
  const [judged, ...remembered] = rememberSaid(before, whole);
  effects.push(...remembered);
  if (!before.unjudged && whole !== undefined) effects.push({ type: 'rewrite', text: whole });
  if (refuse === '') return chain([judged, ...effects], (after) => cut(after, 'verdict', 'refused', at));
  const next = answeredAs(judged, candidate, verdict);
  // The answer begins in the step after: with the message as it is then.
  const answered: Effect = { type: 'then', input: { type: 'turn.answer', candidate: next.candidate.id } };
  return [change(judged, next), ...effects, answered];
}

/** The hook took too long. */
export function wakeHook(state: ConversationState, at: number): ConversationStep {
  const { candidate, rules } = state;
  if (candidate?.phase !== 'hooking' || at < candidate.until) return [state];
  const { hookMs, guards } = rules;
  // Text that no guard has judged goes nowhere.
  const verdict: UserTurnVerdict = guards.length > 0 ? { refuse: '' } : {};
  const error = hookTimedOut(hookMs);
  // A step of its own: whatever else is due now may end the answer, so its beginning must be visible first.
  return [state, { type: 'then', input: { type: 'turn.hooked', candidate: candidate.id, verdict, error } }];
}

/** How long guards may take, in milliseconds, with a margin: they have time-outs of their own. */
function waitsOf(guards: readonly InputGuard[]): number {
  return guards.reduce((sum, { waitsMs }) => sum + waitsMs + 1_000, 0);
}

/** A preflight that failed is requested again once the hook has decided; `undefined` for any other candidate. */
export function unprepare(state: ConversationState, candidate: Candidate): ConversationStep | undefined {
  if (candidate.phase === 'hooking') return [change(state, renamed(state, { ...candidate, isPrepared: false }))];
  if (candidate.phase !== 'adopted' || candidate.isHooked || !state.rules.onUserTurn) return undefined;
  const next = renamed(state, { ...candidate, phase: 'certain' });
  return [change(state, next), { type: 'then', input: { type: 'turn.answer', candidate: next.candidate.id } }];
}

type Change = Pick<ConversationState, 'ids'> & { readonly candidate: Candidate };

function answeredAs(state: ConversationState, candidate: Hooked, verdict: UserTurnVerdict): Change {
  const { text, context, refuse, answer } = verdict;
  const { isPrepared, until: _, ...rest } = candidate;
  const changed: Candidate = {
    ...rest,
    phase: 'adopted',
    isHooked: true,
    text: text ?? rest.text,
    context,
    refusal: refuse,
    answer: answer ? { ...rest.answer, ...answer } : rest.answer,
  };
  const isChanged = [text, context, refuse, answer].some((each) => each !== undefined);
  if (isPrepared && !isChanged) return { ids: state.ids, candidate: changed };
  const certain: Candidate = { ...changed, phase: 'certain' };
  // The preflight was prepared without it.
  return isPrepared ? renamed(state, certain) : { ids: state.ids, candidate: certain };
}

/** The same turn's answer, restarted. */
function renamed(state: ConversationState, candidate: Candidate): Change {
  const ids = state.ids + 1;
  return {
    ids,
    candidate: { ...candidate, id: `answer-${ids}`, speechId: `speech-${ids}`, replaces: candidate.id },
  };
}
