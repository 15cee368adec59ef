import { hasWords } from '../../text/words.ts';
import { joinAnswer, joinsTools, listenDuringTools } from '../answer/tool-words.ts';
import { dropEcho, echoOf, waitForEcho, withoutEcho } from '../barge-in/echo.ts';
import { hearWhileBusy, isEncouragement, isInterruptible, stopOnCommand } from '../barge-in/interruption.ts';
import { isRepeat } from '../turn-taking/late-words.ts';
import { patienceMs, turnRulesNow } from '../turn-taking/stt-presence.ts';
import { voiceLastsMs, type ScoreSignal, type TurnDecision, type UserSignal } from '../turn-taking/turn-rules.ts';
import { takeTurn } from '../turn-taking/turn-taking.ts';
import { noteVoice } from '../turn-taking/voice-outside-turn.ts';
import { chain, type ConversationStep } from './conversation-step.ts';
import type { HeardSignal } from './inputs.ts';
import type { Rules } from './rules.ts';
import { change, keepsTools, statusOf, type Commit, type ConversationState } from './state.ts';
import { commit, decide, isSuperseded } from './user-turn.ts';

/** Takes the user's words, and the starts and ends of their voice. */
export function hear(before: ConversationState, signal: HeardSignal, at: number, rules: Rules): ConversationStep {
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

/** Gives turn-taking a signal, and carries out what it decides. */
export function takeTurns(
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
