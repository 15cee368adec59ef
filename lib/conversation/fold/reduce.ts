import { takeStep } from '../../stream/fold.ts';
import type { AgentHandlers } from '../agent/agent-handlers.ts';
import { answerCandidate, takeVerdict, unprepare, wakeHook } from '../answer/user-turn-hook.ts';
import { isSuspected } from '../barge-in/barge-in.ts';
import { dismiss, endSuspicion, wakeBargeIn } from '../barge-in/interruption.ts';
import { answerTime, takeUpOverheard } from '../barge-in/overheard.ts';
import { notHeard, type SpeechTicket } from '../commands.ts';
import { withoutDetector, withoutVoice } from '../turn-taking/detector-lost.ts';
import { listenByPolicy } from '../turn-taking/listening.ts';
import { patienceMs, waitAnew } from '../turn-taking/stt-presence.ts';
import { chain, type ConversationStep } from './conversation-step.ts';
import { hear, takeTurns } from './hear.ts';
import { addSay, releaseSays } from './held-says.ts';
import { emit, type Effect, type Input } from './inputs.ts';
import { enqueue, grant, heard, release, withdraw } from './output-lock.ts';
import { wakeQuiet, watchQuiet } from './quiet.ts';
import type { Rules } from './rules.ts';
import { adoptTurnTaking, changeSettings, followLanguage, learnPhrases, phrasesToLearn } from './settings.ts';
import { agentStateOf, change, statusOf, type Commit, type ConversationState, type Say } from './state.ts';
import {
  commit,
  cut,
  discard,
  dropTurn,
  endAnswer,
  reasonToCut,
  settleTickets,
  speculate,
  turnEnded,
} from './user-turn.ts';
import { commitNext, drain, endDrain, refuseWhileDraining, stop, takeUpWaiting } from './waiting.ts';

type Handlers = {
  readonly [T in Exclude<Input['type'], keyof AgentHandlers>]: (
    state: ConversationState,
    input: Extract<Input, { readonly type: T }>,
    at: number,
    rules: Rules,
  ) => ConversationStep;
};

/** The handler of each input. */
const handlers: Handlers = {
  started: (state) => [state, ...phrasesToLearn(state)],
  phrases: (state, { phrases }) => learnPhrases(state, phrases),
  'output.resume': (state) => [state],
  tick: (state, _, at, rules) => wake(state, at, rules),

  transcript: (state, signal, at, rules) => {
    const [after, ...told] = followLanguage(state, signal, at);
    return after === state
      ? hear(state, signal, at, rules)
      : chain([after, ...told], (next) => hear(next, signal, at, next.rules));
  },
  speech: hear,
  'detector.lost': (before, _, at, rules) => {
    const state = withoutDetector(before, at, patienceMs(before, rules));
    const isOn = state.turnTaking.phase === 'hearing' && state.turnTaking.voice === 'on';
    const ended = { type: 'speech', event: 'ended' } as const;
    const step: ConversationStep = isOn ? takeTurns(state, ended, at, state.rules) : [state];
    return chain(step, (after) => [withoutVoice(after)]);
  },
  input: (state, { hears }) => [change(state, { isDeaf: !hears })],
  stt: (before, { is }, at, rules) => {
    const state = waitAnew(change(before, { isSttAway: is === 'away' }), is, at, rules);
    // No words will come of what has paused the agent.
    return is === 'lost' && isSuspected(state.bargeIn) ? dismiss(state, true, at, rules) : [state];
  },

  say: (state, { text$, source, ticket, options }) => {
    const { interruptible = true, store = true, priority, tts } = options;
    const ids = state.ids + 1;
    const urgent = priority === 'high';
    const say: Say = {
      id: `speech-${ids}`,
      content: { text$, tts },
      source,
      tickets: [ticket],
      interruptible,
      store,
      urgent,
    };
    return [addSay(change(state, { ids }), say)];
  },
  send: (state, { text, options, ticket }, at) => {
    const input: Commit = {
      type: 'turn.commit',
      text,
      endedBy: 'text',
      ticket,
      answer: options.answer,
      images: options.images,
    };
    if (options.interrupt === false) {
      return [change(state, { waiting: [...state.waiting, { ...input, isPatient: true }] })];
    }
    return chain(cut(state, 'user', reasonToCut(state), at), (after) => [after, { type: 'then', input }]);
  },
  interrupt: (state, _, at) => cut(change(state, { unanswered: undefined }), 'application', 'interrupted', at),
  begin: (state, input, at, rules) =>
    // Pressed already: nothing is new.
    state.turnTaking.phase === 'open'
      ? [state]
      : chain(cut(state, 'user', reasonToCut(state), at), (after) => takeTurns(after, input, at, rules)),
  commit: (state, input, at, rules) => takeTurns(state, input, at, rules),
  cancel: (state, input, at, rules) => takeTurns(state, input, at, rules),
  score: (state, input, at, rules) => takeTurns(state, input, at, rules),
  update: (state, { changes }, at) => changeSettings(state, changes, at),
  stop: (state, input, at) => (input.drain ? drain(state, at) : stop(state, at)),
  stopped: (state) => [
    change(state, { turn: undefined }),
    ...(state.turn ? turnEnded(state.turn, 'stopped') : []),
    { type: 'complete' },
  ],
  'ticket.interrupt': (state, { ticket }, at) => interruptTicket(state, ticket, at),

  'answer.failed': (state, { candidate: id, error, role }, at) => {
    const { candidate } = state;
    // Errors of an answer that was cut off are irrelevant.
    if (candidate?.id !== id || candidate.phase === 'ending') return [state];
    if (candidate.phase === 'preflight') return discard(state, 'failed', at);
    return unprepare(state, candidate) ?? [state, { type: 'error', error, role, turnId: candidate.turnId }];
  },
  'answer.refused': (state, { candidate }, at) =>
    state.candidate?.id === candidate ? cut(state, 'application', 'refused', at) : [state],
  'answer.tools': (state, { candidate: id, tools }) => {
    const { candidate } = state;
    return [candidate?.id === id ? change(state, { candidate: { ...candidate, tools } }) : state];
  },
  'answer.ended': (state, report) => endAnswer(state, report),
  'speech.ready': (state, { speech }) => [change(state, { output: enqueue(state.output, speech) })],
  'speech.audible': (state, { id }) => [change(state, { output: heard(state.output, id) })],
  'say.ended': (state, { id, tickets, outcome, silentAt }) => [
    change(state, { silentAt, says: state.says.filter((say) => say.id !== id), output: release(state.output, id) }),
    ...settleTickets(tickets, outcome),
  ],
  'say.failed': (state, { error, role }) => [state, { type: 'error', error, role }],

  'turn.commit': (state, input, at) => commit(state, input, at),
  'turn.next': (state, _, at) => commitNext(state, at),
  'turn.speculate': (state, { text }, at, { preflight }) => speculate(state, text, at, preflight),
  'turn.drop': (state, { reason }, at) => dropTurn(state, reason, at),
  'turn.answer': (state, { candidate }, at) => answerCandidate(state, candidate, at),
  'turn.hooked': takeVerdict,
  'bargeIn.cut': (before, { detectMs, confirmedAt, envelope, signal }, at, rules) => {
    // Speech that was not audible yet has ended by now; audible speech ends when the output says so.
    const cutMs = Math.max(at, before.silentAt) - confirmedAt;
    const told = emit('bargeIn.confirmed', { detectMs, cutMs }, envelope);
    const cuttingInUntil = answerTime(before, signal, at) === undefined ? Infinity : -Infinity;
    const isUnclear = signal.type !== 'transcript';
    const mergedSince = before.unanswered === undefined ? undefined : confirmedAt - detectMs;
    // The turn starts with what confirmed it: words, or a voice that turn-taking has not seen.
    return chain([change(before, { cuttingInUntil, isUnclear }), told], (after) =>
      takeTurns(after, signal, at, rules, mergedSince),
    );
  },
};

/**
 * Folds an input into a conversation's state: the next state and its effects. Pure.
 *
 * @param agentHandlers - For the signals of an agent's service.
 */
export function reduce(
  state: ConversationState,
  input: Input,
  at: number,
  agentHandlers?: AgentHandlers,
): ConversationStep {
  if (isTooLate(state, input)) return [state];
  const table = (input.type in handlers ? handlers : agentHandlers) as Handlers & AgentHandlers;
  const handle = table[input.type] as (...all: [ConversationState, Input, number, Rules]) => ConversationStep;
  const step = refuseWhileDraining(state, input) ?? handle(state, input, at, state.rules);
  const { user } = step[0];
  if (user.state === state.user.state) return step;
  const [after, ...effects] = step;
  // What the user was heard saying is published before its consequences.
  return [after, emit('user.state', { state: user.state }), ...effects];
}

/**
 * What follows from any step, whatever caused it: a step of its own, so that an interrupted agent falls silent without
 * waiting for it. Pure.
 *
 * @param before - The state before the step.
 */
export function follow(
  after: ConversationState,
  before: ConversationState,
  input: Input,
  at: number,
): ConversationStep {
  if (isTooLate(before, input)) return [after];
  const effects: Effect[] = [];
  let state = after;
  for (const next of followers) state = takeStep(effects, next(state, before, input, at));
  return [state, ...effects];
}

/** Once stopped, only the ends of answers and speeches matter. */
function isTooLate(state: ConversationState, input: Input): boolean {
  return state.isStopped && !/^(answer|say|speech)\.|^stopped$/.test(input.type);
}

type Follower = (state: ConversationState, before: ConversationState, input: Input, at: number) => ConversationStep;

const sayWhatWaited: Follower = (state, _before, _input, at) => [releaseSays(state, at)];

const releaseBargeIn: Follower = (state) => (statusOf(state) === 'free' ? endSuspicion(state) : [state]);

/** Nothing new starts to play while the user may be about to speak. */
const grantOutput: Follower = (state, before) => {
  if (isSuspected(state.bargeIn) || state.isStopped) return [state];
  // The end of the suspicion is published first.
  const isOver = isSuspected(before.bargeIn) && state.output.queue.length > 0;
  if (isOver) return [state, { type: 'then', input: { type: 'output.resume' } }];
  const output = grant(state.output);
  return [output === state.output ? state : change(state, { output })];
};

const publishStates: Follower = (state, before, input) => {
  const agent = agentStateOf(state);
  const previous = input.type === 'started' ? 'idle' : agentStateOf(before);
  const step: [ConversationState, ...Effect[]] = [state];
  if (state.user.state === 'speaking' && before.user.state === 'silent') step.push({ type: 'warm' });
  if (agent !== previous) step.push(emit('agent.state', { state: agent, previous }));
  return step;
};

/** Asks the user again after an interruption without words. */
const askAgain: Follower = (state) => {
  const isOver = state.turnTaking.phase === 'idle' && state.user.state === 'silent' && statusOf(state) === 'free';
  if (!state.isUnclear || !isOver || state.isDraining || state.isStopped) return [state];
  const ask = state.settings.onUnclear;
  return [change(state, { isUnclear: false }), ...(ask ? [{ type: 'unclear', ask } as const] : [])];
};

/** The order matters: the published agent state is the result of all of these. */
const followers: readonly Follower[] = [
  adoptTurnTaking,
  takeUpOverheard,
  sayWhatWaited,
  releaseBargeIn,
  grantOutput,
  takeUpWaiting,
  askAgain,
  endDrain,
  publishStates,
  watchQuiet,
  listenByPolicy,
];

/** Ends what a handle stands for: the answer, or what has not been said yet. */
function interruptTicket(state: ConversationState, ticket: SpeechTicket, at: number): ConversationStep {
  if (state.candidate?.tickets.includes(ticket)) return cut(state, 'application', 'interrupted', at);
  const waiting = state.waiting.filter((each) => each.ticket !== ticket);
  const awaitingReply = state.awaitingReply.filter((each) => each !== ticket);
  const says = state.says.filter(({ tickets }) => !tickets.includes(ticket));
  const heldSays = state.heldSays.filter(({ tickets }) => !tickets.includes(ticket));
  const isSaid = says.length < state.says.length;
  const answered = state.candidate ? [{ id: state.candidate.speechId }] : [];
  const output = withdraw(state.output, [...says, ...answered]);
  return [
    change(state, { waiting, awaitingReply, says, heldSays, output }),
    ...(isSaid ? [] : settleTickets([ticket], notHeard)),
  ];
}

/** A deadline has passed: whatever waited for it continues. */
function wake(before: ConversationState, at: number, rules: Rules): ConversationStep {
  const { user } = before;
  const state: ConversationState =
    user.state === 'speaking' && at >= user.until ? change(before, { user: { state: 'silent' } }) : before;
  const quiet = wakeQuiet(state, at);
  const hooked = chain(quiet, (after) => wakeHook(after, at));
  const turned = chain(hooked, (after) => takeTurns(after, { type: 'tick' }, at, rules));
  return chain(turned, (after) => wakeBargeIn(after, at, rules));
}
