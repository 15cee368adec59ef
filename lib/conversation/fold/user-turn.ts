import { messageOf, VoiceError } from '../../core/errors.ts';
import { foldText } from '../../text/words.ts';
import { notHeard, type SpeechOutcome, type SpeechTicket } from '../commands.ts';
import type { PreflightRules } from '../conversation-options.ts';
import { chain, type ConversationStep } from './conversation-step.ts';
import type { DiscardReason, TurnEndReason } from '../events.ts';
import { noHeldSays } from './held-says.ts';
import { publishInterim } from '../turn-taking/interim.ts';
import { emit, type AgentReport, type Effect, type HeardSignal } from './inputs.ts';
import { release, withdraw } from './output-lock.ts';
import { noteSaid } from './said.ts';
import {
  change,
  candidateOf,
  statusOf,
  type Candidate,
  type Commit,
  type ConversationState,
  type Cut,
  type CutBy,
} from './state.ts';
import type { TurnDecision } from '../turn-taking/turn-rules.ts';
import { turnOver } from '../turn-taking/turn-taking.ts';
import { metricsOf, withMeasured, withWaste, type Turn } from './turn.ts';

/** The user's turn, started if necessary. */
export function openTurn(
  state: ConversationState,
  source: 'speech' | 'text',
  at: number,
): readonly [ConversationState, Turn, ...Effect[]] {
  if (state.turn) return [state, state.turn];
  const ids = state.ids + 1;
  const turn: Turn = { id: `turn-${ids}`, startedAt: at, speculations: 0, moments: {}, measured: {} };
  return [change(state, { ids, turn }), turn, emit('turn.started', { source }, { turnId: turn.id })];
}

/** The effects of a turn's end. */
export function turnEnded(turn: Turn, reason: TurnEndReason): Effect[] {
  const envelope = { turnId: turn.id };
  return [emit('turn.ended', { reason }, envelope), emit('turn.metrics', metricsOf(turn), envelope)];
}

/** Carries out a decision of turn-taking, except commits, which may have to wait. */
export function decide(
  state: ConversationState,
  decision: Exclude<TurnDecision, { readonly type: 'commit' }>,
  at: number,
  preflight: PreflightRules,
): ConversationStep {
  switch (decision.type) {
    case 'words':
      return decision.text === state.lastWords ? [state] : tellWords(state, 'transcript.interim', decision, at);
    case 'speculate':
      return chain(tellWords(state, 'transcript.preflight', decision, at), (told) =>
        speculate(told, decision.text, at, preflight),
      );
    case 'retract':
      return discard(state, decision.reason, at);
    case 'finalize':
      return [state, { type: 'finalize' }];
    case 'score': {
      const { score } = state.rules.turnTaking.endOfTurn;
      return score ? [state, { type: 'score', text: decision.text, score }] : [state];
    }
    case 'broken': {
      const message = `endpointing failed: ${messageOf(decision.error)}`;
      return [state, { type: 'error', error: new VoiceError(message, { code: 'internal', cause: decision.error }) }];
    }
    case 'timeout': {
      const told = emit('transcript.timeout', { text: decision.text });
      return decision.text ? [state, told] : chain([state, told], (after) => dropTurn(after, 'empty', at));
    }
    case 'cancel':
      return dropTurn(state, 'cancelled', at);
  }
}

function tellWords(
  before: ConversationState,
  type: 'transcript.interim' | 'transcript.preflight',
  { text, result }: Extract<TurnDecision, { readonly type: 'words' | 'speculate' }>,
  at: number,
): ConversationStep {
  const [open, turn, ...effects] = openTurn(before, 'speech', at);
  const state: ConversationState = change(open, { lastWords: text });
  if (type === 'transcript.interim') {
    const [after, ...told] = publishInterim(state, text, result, turn.id);
    return [after, ...effects, ...told];
  }
  return [change(state, { interim: text }), ...effects, emit(type, { text, result }, { turnId: turn.id, role: 'stt' })];
}

/** Prepares an answer when the user may have finished; discards a preflight for other words. */
export function speculate(
  before: ConversationState,
  text: string,
  at: number,
  { enabled, maxStarts, maxSpeechMs }: PreflightRules,
): ConversationStep {
  const { candidate, turn } = before;
  if (candidate?.phase === 'preflight') {
    if (foldText(candidate.text) === foldText(text)) return [before];
    return chain(discard(before, 'changed', at), (state) => [
      state,
      { type: 'then', input: { type: 'turn.speculate', text } },
    ]);
  }
  const isWorthIt = turn && turn.speculations < maxStarts && at - turn.startedAt <= maxSpeechMs;
  if (!enabled || !isWorthIt || candidate || before.isDraining || statusOf(before) !== 'free') return [before];
  const begun = change(before, { turn: { ...turn, speculations: turn.speculations + 1 } });
  const state = withCandidate(begun, turn.id, text, at, 'preflight');
  return [state, emit('preflight.started', { text }, { turnId: turn.id })];
}

function withCandidate(
  state: ConversationState,
  turnId: string,
  text: string,
  startedAt: number,
  phase: 'preflight' | 'certain',
  { ticket, answer, result }: Pick<Commit, 'ticket' | 'answer' | 'result'> = {},
): ConversationState {
  const ids = state.ids + 1;
  const candidate: Candidate = {
    id: `answer-${ids}`,
    speechId: `speech-${ids}`,
    turnId,
    text,
    startedAt,
    phase,
    tickets: ticket ? [ticket] : [],
    answer,
    result,
  };
  return change(state, { ids, candidate });
}

/** Discards the preflight. This is published once the answer has reported its cost. */
export function discard(state: ConversationState, reason: DiscardReason, at: number): ConversationStep {
  const { candidate } = state;
  return candidate?.phase === 'preflight'
    ? [change(state, { candidate: ending(candidate, { reason: 'cancelled', discard: reason, at }) })]
    : [state];
}

/** An answer that will end, and report what was heard. */
function ending(candidate: Candidate, cut: Cut): Candidate {
  if (candidate.phase === 'ending') return candidate;
  return { wasPreflight: candidate.phase === 'preflight', cut, ...candidate, phase: 'ending' };
}

/** Whether an answer is being heard that the user cannot cut off. */
function isUncuttable({ candidate, output: { speaking } }: ConversationState): boolean {
  return speaking?.interruptible === false && speaking.id === candidate?.speechId && candidate.phase !== 'ending';
}

/** Silences the agent, and aborts what it was preparing. */
export function cut(state: ConversationState, by: CutBy, reason: TurnEndReason, at: number): ConversationStep {
  const says = state.says.filter(({ interruptible }) => by === 'verdict' || (!interruptible && by === 'user'));
  const output = withdraw(state.output, says);
  const { candidate, answering } = state;
  const unsaid = state.heldSays.flatMap(({ tickets }) => settleTickets(tickets, notHeard));
  const isUnbegun = candidate && candidate.phase !== 'ending' && !candidateOf(state);
  if (!isUnbegun) {
    const isSpared = by === 'user' && isUncuttable(state);
    const ended = isSpared ? candidate : candidate && ending(candidate, { reason, discard: 'cancelled', at });
    const { heldSays, heldUntil } = noHeldSays;
    return [change(state, { says, heldSays, heldUntil, output, candidate: ended }), ...unsaid];
  }
  // None of it has started, so nobody will report its outcome.
  const unanswered = reason === 'merged' ? candidate.text : state.unanswered;
  const ended = answering ? turnEnded(answering, reason) : [];
  return [
    change(state, { says, ...noHeldSays, output, candidate: undefined, answering: undefined, unanswered }),
    ...ended,
    ...settleTickets(candidate.tickets, notHeard),
    ...unsaid,
  ];
}

/** Why an answer that is cut off now ends: if none of it was heard, its message joins the next one. */
export function reasonToCut({ candidate, output: { speaking } }: ConversationState): 'interrupted' | 'merged' {
  return speaking?.audible && speaking.id === candidate?.speechId ? 'interrupted' : 'merged';
}

/** The user has said, or typed, something that will be answered. */
export function commit(state: ConversationState, input: Commit, at: number): ConversationStep {
  const { text, endedBy, result, ticket, endOfSpeechAt, finalAt, images, isRemembered = false } = input;
  const { candidate } = state;
  const fits = candidate?.phase === 'preflight' && foldText(candidate.text) === foldText(text) && !ticket;
  if (candidate && !fits) {
    // Answered once that has been heard.
    if (isUncuttable(state)) return [change(state, { waiting: [...state.waiting, input] })];
    return chain(makeWay(state, candidate, at), (after) => [after, { type: 'then', input }]);
  }
  const [opened, turn, ...started] = openTurn(state, ticket ? 'text' : 'speech', at);
  const said = { text, images, turnId: turn.id, result };
  const [open, ...remembered] = isRemembered ? [opened] : noteSaid(opened, said);
  const envelope = { turnId: turn.id };
  const committed: Turn = {
    committedAt: at,
    ...(endOfSpeechAt === undefined ? {} : { endOfSpeechAt }),
    ...(finalAt === undefined ? {} : { finalAt }),
    ...turn,
  };
  const effects: Effect[] = [
    ...started,
    ...(ticket || isRemembered
      ? []
      : [emit('transcript.final', { text, ...(result ? { result } : {}) }, { role: 'stt', ...envelope })]),
    ...remembered,
    emit('turn.committed', { text, endedBy }, envelope),
  ];
  const told: ConversationState = change(ticket ? supersede(open) : open, messageTaken);
  const follow = (id: string): Effect => ({ type: 'then', input: { type: 'turn.answer', candidate: id } });
  if (candidate?.phase !== 'preflight') {
    const next = withCandidate(change(told, { answering: committed }), turn.id, text, at, 'certain', input);
    return [next, ...effects, ...(next.candidate ? [follow(next.candidate.id)] : [])];
  }
  const leadMs = at - candidate.startedAt;
  const answering = withMeasured(committed, { preflightLead: leadMs });
  return [
    change(told, { answering, candidate: { ...candidate, phase: 'adopted', result } }),
    ...effects,
    emit('preflight.adopted', { text, leadMs }, envelope),
    follow(candidate.id),
  ];
}

/** Ends the answer that another message replaces; one that is ending already costs nothing else. */
function makeWay(state: ConversationState, { phase }: Candidate, at: number): ConversationStep {
  if (phase === 'ending') return [state];
  return phase === 'preflight' ? discard(state, 'changed', at) : cut(state, 'user', reasonToCut(state), at);
}

/** The user's turn has become a message: the next one begins anew. */
export const turnTaken: Partial<ConversationState> = {
  turn: undefined,
  overheard: undefined,
  cuttingInUntil: -Infinity,
  isUnclear: false,
  lastWords: '',
  interim: '',
  user: { state: 'silent' },
};

/** And that message holds what was not answered before. */
const messageTaken: Partial<ConversationState> = { ...turnTaken, unanswered: undefined };

/** A typed message replaces what the user was saying: those words are not answered later. */
function supersede(state: ConversationState): ConversationState {
  const { turnTaking } = state;
  if (turnTaking.phase !== 'hearing') return state;
  const { until } = turnTaking;
  const text = foldText(turnTaking.text);
  return change(state, { turnTaking: turnOver(turnTaking), superseded: text ? { text, until } : undefined });
}

/** Whether these are the words that a typed message replaced. */
export function isSuperseded({ superseded }: ConversationState, signal: HeardSignal, at: number): boolean {
  if (!superseded || at > superseded.until || signal.type !== 'transcript') return false;
  return foldText(signal.result.text) === superseded.text;
}

/** Drops the open turn. */
export function dropTurn(state: ConversationState, reason: 'empty' | 'cancelled', at: number): ConversationStep {
  if (state.candidate?.phase === 'preflight') {
    const [after] = discard(state, 'cancelled', at);
    return [after, { type: 'then', input: { type: 'turn.drop', reason } }];
  }
  const { turn } = state;
  const dropped: ConversationState = change(state, {
    turn: undefined,
    turnTaking: turnOver(state.turnTaking),
    cuttingInUntil: -Infinity,
    user: { state: 'silent' },
    lastWords: '',
    interim: '',
  });
  return [dropped, ...(turn ? turnEnded(turn, reason) : [])];
}

/** An answer has reported its outcome: its turn ends, or its preflight is discarded. */
export function endAnswer(
  state: ConversationState,
  report: Extract<AgentReport, { readonly type: 'answer.ended' }>,
): ConversationStep {
  const { candidate, answering } = state;
  if (candidate?.replaces === report.candidate) {
    const replaced = change(state, { answering: answering && withWaste(answering, report.tokens, report.wasted) });
    return [replaced, ...billed(report, candidate.turnId)];
  }
  if (candidate?.id !== report.candidate) return [state];
  const output = release(state.output, candidate.speechId);
  const { cut: why } = candidate.phase === 'ending' ? candidate : {};
  // What an agent's service was told before a reply that never came is not answered later.
  const awaited = report.failed && !candidate.reply$ ? state.awaitingReply : [];
  const settled = settleTickets([...candidate.tickets, ...awaited], report.outcome);
  if (candidate.phase === 'preflight' || (candidate.phase === 'ending' && candidate.wasPreflight)) {
    const { tokens, wasted } = report;
    const { characters, audioMs } = wasted;
    const turn = state.turn && withWaste(state.turn, tokens, wasted);
    const envelope = { turnId: candidate.turnId };
    const cost = { wastedTokens: tokens, wastedCharacters: characters, wastedAudio: audioMs };
    return [
      change(state, { output, candidate: undefined, turn }),
      emit('preflight.discarded', { reason: why?.discard ?? 'failed', ...cost }, envelope),
      ...billed(report, candidate.turnId),
      ...settled,
    ];
  }
  const reason = report.failed ? 'error' : (why?.reason ?? (candidate.refusal === undefined ? 'completed' : 'refused'));
  const unanswered = (reason === 'merged' ? report.unanswered : undefined) ?? state.unanswered;
  const { silentAt } = report;
  const after: ConversationState = change(state, {
    output,
    candidate: undefined,
    answering: undefined,
    unanswered,
    silentAt,
    awaitingReply: state.awaitingReply.filter((ticket) => !awaited.includes(ticket)),
  });
  if (!answering) return [after, ...settled];
  const cutMs = why && reason === 'interrupted' ? { bargeInCut: silentAt - why.at } : {};
  const turn = withWaste(
    withMeasured({ ...answering, moments: report.moments }, cutMs),
    report.outcome.interrupted ? report.wastedTokens : 0,
    report.wasted,
  );
  return [after, ...turnEnded(turn, reason), ...settled];
}

/** The usage of an answer that nobody heard; an audible one publishes it itself. */
function billed(
  { untold, wasted: { characters, voice } }: Extract<AgentReport, { readonly type: 'answer.ended' }>,
  turnId: string,
): Effect[] {
  return [
    ...(untold ? [emit('usage', { tokens: untold.tokens }, { turnId, role: 'llm', provider: untold.model })] : []),
    ...(characters ? [emit('usage', { characters }, { turnId, role: 'tts', provider: voice })] : []),
  ];
}

/** Reports the outcome to everyone who asked for it. */
export function settleTickets(tickets: readonly SpeechTicket[], outcome: SpeechOutcome): Effect[] {
  return tickets.map((ticket) => ({ type: 'settle', ticket, outcome }));
}
