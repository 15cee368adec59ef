import { takeStep } from '../../stream/fold.ts';
import { hasWords } from '../../text/words.ts';
import type { AgentHandlers } from '../agent/agent-handlers.ts';
import { notHeard, type SpeechTicket } from '../commands.ts';
import { chain, type ConversationStep } from './conversation-step.ts';
import { withoutDetector, withoutVoice } from '../turn-taking/detector-lost.ts';
import { dropEcho, echoOf, waitForEcho, withoutEcho } from '../barge-in/echo.ts';
import { addSay, releaseSays } from './held-says.ts';
import { emit, type Effect, type HeardSignal, type Input } from './inputs.ts';
import { isSuspected } from '../barge-in/barge-in.ts';
import {
  dismiss,
  endSuspicion,
  hearWhileBusy,
  isInterruptible,
  isEncouragement,
  stopOnCommand,
  wakeBargeIn,
} from '../barge-in/interruption.ts';
import { listenByPolicy } from '../turn-taking/listening.ts';
import { enqueue, grant, heard, release, withdraw } from './output-lock.ts';
import { answerTime, takeUpOverheard } from '../barge-in/overheard.ts';
import { wakeQuiet, watchQuiet } from './quiet.ts';
import type { Rules } from './rules.ts';
import { adoptTurnTaking, changeSettings, followLanguage, learnPhrases, phrasesToLearn } from './settings.ts';
import { agentStateOf, change, keepsTools, statusOf, type Commit, type ConversationState, type Say } from './state.ts';
import { isRepeat } from '../turn-taking/late-words.ts';
import { patienceMs, turnRulesNow, waitAnew } from '../turn-taking/stt-presence.ts';
import { voiceLastsMs, type ScoreSignal, type TurnDecision, type UserSignal } from '../turn-taking/turn-rules.ts';
import { takeTurn } from '../turn-taking/turn-taking.ts';
import { noteVoice } from '../turn-taking/voice-outside-turn.ts';
import { joinAnswer, joinsTools, listenDuringTools } from '../answer/tool-words.ts';
import { answerCandidate, takeVerdict, unprepare, wakeHook } from '../answer/user-turn-hook.ts';
import {
  commit,
  cut,
  decide,
  discard,
  dropTurn,
  endAnswer,
  isSuperseded,
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
  // Once stopped, only the ends of answers and speeches matter.
  if (state.isStopped && !/^(answer|say|speech)\.|^stopped$/.test(input.type)) return [state];
  const table = (input.type in handlers ? handlers : agentHandlers) as Handlers & AgentHandlers;
  const handle = table[input.type] as (...all: [ConversationState, Input, number, Rules]) => ConversationStep;
  const step = refuseWhileDraining(state, input) ?? handle(state, input, at, state.rules);
  return follow(state, step, input, at);
}

/** Runs after every step, whatever caused it. */
function follow(before: ConversationState, step: ConversationStep, input: Input, at: number): ConversationStep {
  const { state: user } = step[0].user;
  // What the user was heard saying is published before its consequences.
  const effects: Effect[] = user === before.user.state ? [] : [emit('user.state', { state: user })];
  let state = takeStep(effects, step);
  for (const next of followers) state = takeStep(effects, next(state, before, input, at));
  return [state, ...effects];
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

function hear(before: ConversationState, signal: HeardSignal, at: number, rules: Rules): ConversationStep {
  const { detectsVoice, isManual: isPushToTalk } = rules.turnTaking;
  const isOfService = signal.type === 'speech' && signal.isOfService === true && signal.event !== 'resumed';
  if (isOfService && detectsVoice) return [before];
  if (signal.type !== 'transcript' || isPushToTalk) return hearUser(before, signal, at, rules);
  const [own, marked] = withoutEcho(before, signal, at, rules);
  if (own && marked) return chain(marked, (after) => hearUser(after, own, at, rules));
  const echo = echoOf(before, signal, at, rules);
  if (echo === 'not') return hearUser(before, signal, at, rules);
  if (echo === 'partly') return waitForEcho(before, signal, at, rules);
  return chain(dropEcho(before, signal, at, rules), (after) => dropWords(after, signal, at, rules));
}

function hearUser(before: ConversationState, signal: HeardSignal, at: number, rules: Rules): ConversationStep {
  const { detectsVoice, voiceEnds, isManual: isPushToTalk } = rules.turnTaking;
  if (isSuperseded(before, signal, at)) return [before];
  // The words that are being answered, final at last: nobody interrupts with those.
  const isBusy = statusOf(before) !== 'free' && !isPushToTalk;
  if (isBusy && signal.type === 'transcript' && isRepeat(before.turnTaking.late, signal, at)) {
    return takeTurns(before, signal, at, rules);
  }
  const sttTimeoutMs = patienceMs(before, rules);
  const voiceUntil = at + voiceLastsMs({ detectsVoice, sttTimeoutMs });
  const user =
    detectsVoice && signal.type === 'transcript'
      ? stillSpeaking(before.user, signal, voiceUntil)
      : userAfter(before.user, signal, signal.type === 'speech' ? voiceUntil : at + sttTimeoutMs);
  // The end of a voice belongs to what was superseded; anything else is new.
  const isNew = signal.type === 'transcript' || signal.event === 'started';
  const isUnclear = before.isUnclear && !(signal.type === 'transcript' && signal.result.text.trim());
  const echoSince = signal.type === 'transcript' ? -Infinity : before.echoSince;
  const superseded = isNew ? undefined : before.superseded;
  const state: ConversationState = change(before, { user, isUnclear, echoSince, superseded });
  const isService = rules.isService && statusOf(state) !== 'speaking';
  if (statusOf(state) === 'free' || isPushToTalk || isService) return takeTurns(state, signal, at, rules);
  if (isKept(state, signal, at, rules)) return takeTurns(state, signal, at, rules);
  if (joinsTools(state, signal, at, rules)) {
    return chain(listenDuringTools(state, signal, at, rules), (after) => takeTurns(after, signal, at, rules));
  }
  const turnTaking = voiceEnds ? noteVoice(state.turnTaking, signal, at, voiceUntil) : state.turnTaking;
  return chain(hearWhileBusy(change(state, { turnTaking }), signal, at, rules), (after) =>
    dropWords(after, signal, at, rules),
  );
}

/** A turn whose first words turn out not to belong to it waits for nothing more. */
function dropWords(state: ConversationState, signal: HeardSignal, at: number, rules: Rules): ConversationStep {
  const isOver = signal.type === 'transcript' && signal.result.utteranceComplete;
  if (!isOver || state.turnTaking.phase !== 'hearing' || state.turnTaking.text) return [state];
  return takeTurns(state, { ...signal, result: { ...signal.result, text: '' } }, at, rules);
}

/** Whether words said over uninterruptible speech are answered after it. */
function isKept(state: ConversationState, signal: HeardSignal, at: number, rules: Rules): boolean {
  if (rules.bargeIn === false || rules.whileUninterruptible === 'discard') return false;
  return !isInterruptible(state, rules) && !isEncouragement(state, signal, at, rules);
}

/** Words prove that the detector still has input: the voice may last as long again. */
function stillSpeaking(
  user: ConversationState['user'],
  { result }: Extract<HeardSignal, { readonly type: 'transcript' }>,
  until: number,
): ConversationState['user'] {
  return user.state === 'speaking' && hasWords(result.text) ? { ...user, until } : user;
}

/** A voice without further signals counts as silent, whatever the service reports. */
function userAfter(user: ConversationState['user'], signal: HeardSignal, until: number): ConversationState['user'] {
  if (signal.type === 'speech') return signal.event === 'ended' ? { state: 'silent' } : { state: 'speaking', until };
  const { utteranceComplete, text } = signal.result;
  if (utteranceComplete) return { state: 'silent' };
  return text.trim() ? { state: 'speaking', until } : user;
}

function takeTurns(
  state: ConversationState,
  signal: UserSignal | ScoreSignal | { readonly type: 'tick' },
  at: number,
  rules: Rules,
  mergedSince?: number,
): ConversationStep {
  const [turnTaking, ...decisions] = takeTurn(state.turnTaking, signal, at, turnRulesNow(state, rules), mergedSince);
  const taken = decisions.reduce<ConversationStep>(
    (step, decision) => chain(step, (after) => takeDecision(after, decision, at, rules)),
    [change(state, { turnTaking })],
  );
  return chain(taken, (after) => [endCuttingIn(after, at, rules)]);
}

/** The voice that cut the agent off has brought no words: after the service's lag, "stop" is a message like any other. */
function endCuttingIn(state: ConversationState, at: number, { turnTaking: { sttLagMs } }: Rules): ConversationState {
  if (state.cuttingInUntil !== Infinity || state.turnTaking.phase !== 'idle') return state;
  return change(state, { cuttingInUntil: at + (state.turnTaking.learnt?.lagMs ?? sttLagMs) });
}

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

/** Commits may have to wait; everything else happens at once. */
function takeDecision(state: ConversationState, decision: TurnDecision, at: number, rules: Rules): ConversationStep {
  const { phrasebook, preflight } = rules;
  // The command that has stopped the agent is not answered, and no answer to it is prepared.
  const isObeyed = at <= state.cuttingInUntil && 'text' in decision && phrasebook.isCommand(decision.text);
  if (decision.type === 'commit') {
    return isObeyed ? stopOnCommand(state, decision, at, preflight) : takeCommit(state, decision, at, rules);
  }
  const isUnprepared = isObeyed && decision.type === 'speculate';
  return decide(state, isUnprepared ? { ...decision, type: 'words' } : decision, at, preflight);
}

/** What the user says joins an answer whose tools run, and waits while the agent says something uninterruptible. */
function takeCommit(
  state: ConversationState,
  decision: Extract<TurnDecision, { readonly type: 'commit' }>,
  at: number,
  rules: Rules,
): ConversationStep {
  if (state.isDraining) return [state];
  const mayInterrupt = isInterruptible(state, rules);
  if (keepsTools(state) && mayInterrupt && !rules.onUserTurn) return joinAnswer(state, decision, at);
  const input: Commit = { ...decision, type: 'turn.commit' };
  const mustWait = statusOf(state) !== 'free' && (keepsTools(state) || !mayInterrupt);
  return mustWait ? [change(state, { waiting: [...state.waiting, input] })] : commit(state, input, at);
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
