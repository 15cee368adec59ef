import type { TranscriptionResult } from '../../core/roles.ts';
import { countWords } from '../../text/words.ts';
import {
  isPaused,
  isSuspected,
  noBargeIn,
  takeSign,
  type BargeInRules,
  type BargeInSign,
  type BargeInStage,
  type BargeInThresholds,
} from './barge-in.ts';
import type { PreflightRules } from '../conversation-options.ts';
import { chain, type ConversationStep } from '../fold/conversation-step.ts';
import type { IgnoreReason, VoiceEventEnvelope } from '../events.ts';
import { publishInterim } from '../turn-taking/interim.ts';
import { emit, type Effect, type HeardSignal } from '../fold/inputs.ts';
import { beyond } from '../turn-taking/late-words.ts';
import { answerTime, overhear } from './overheard.ts';
import type { Rules } from '../fold/rules.ts';
import { change, isGreeting, keepsTools, speechEnvelope, statusOf, type ConversationState } from '../fold/state.ts';
import { cut, decide, dropTurn, reasonToCut } from '../fold/user-turn.ts';
import { withMeasured } from '../fold/turn.ts';

/** With `bargeIn: false`, how long a voice without words holds an answer up that has not begun, in milliseconds. */
const wordsDueMs = 1_000;

/** Whether the user may interrupt what the agent is saying, or change what it is about to answer. */
export function isInterruptible(state: ConversationState, { bargeIn }: Rules): boolean {
  return (bargeIn !== false || isUnheard(state)) && (state.output.speaking?.interruptible ?? true);
}

/** Whether the agent has nothing to say but an answer that nobody has heard anything of: nothing is interrupted. */
function isUnheard({ output: { speaking }, candidate, says }: ConversationState): boolean {
  if (!candidate || says.length > 0) return false;
  return !speaking || (speaking.id === candidate.speechId && !speaking.audible);
}

/** Decides whether what the user says while the agent is busy is a sign of an interruption. */
export function hearWhileBusy(
  state: ConversationState,
  signal: HeardSignal,
  at: number,
  rules: Rules,
): ConversationStep {
  const own = withoutRepeats(state, signal, at);
  const isNod = isEncouragement(state, own, at, rules);
  if (!isInterruptible(state, rules)) {
    const reason = isNod && rules.whileUninterruptible === 'queue' ? 'backchannel' : 'uninterruptible';
    return ignore(state, own, rules.bargeIn === false ? 'disabled' : reason, at);
  }
  if (isNod) {
    return chain(dismiss(state, isComplete(signal), at, rules), (after) => ignore(after, own, 'backchannel', at));
  }
  const sign = toSign(own, rules);
  const [bargeIn, ...stages] = sign ? takeSign(state.bargeIn, sign, at, () => rulesFor(state, rules)) : [state.bargeIn];
  const isCut = stages.includes('confirmed');
  const entered = enterStages(
    state,
    bargeIn,
    stages,
    at,
    isCut ? { signal, isStopCommand: isStopCommand(state, own, at, rules) } : undefined,
  );
  return isCut ? entered : chain(entered, (after) => ignore(after, own, 'too-short', at));
}

/** What a result adds to the words that are being answered: these alone can interrupt. */
function withoutRepeats({ turnTaking: { late } }: ConversationState, signal: HeardSignal, at: number): HeardSignal {
  if (!late || signal.type !== 'transcript') return signal;
  const { text } = beyond(late, signal, at);
  return { ...signal, result: { ...signal.result, text } };
}

/**
 * Whether the user only encourages the agent to go on. After a question the same words are an answer, and before the
 * agent is audible they belong to the user's message.
 */
export function isEncouragement(
  state: ConversationState,
  signal: HeardSignal,
  at: number,
  { bargeIn, phrasebook }: Rules,
): boolean {
  const isSpoken = statusOf(state) === 'speaking' || isGreeting(state) || keepsTools(state);
  if (signal.type !== 'transcript' || bargeIn === 'immediate' || !isSpoken) return false;
  const isOver = answerTime(state, signal, at) === 'now';
  return !isOver && phrasebook.isBackchannel(signal.result.text);
}

/** The user speaks without interrupting yet: the agent becomes quieter, then silent, until it resumes. */
export function suspect(state: ConversationState, signal: HeardSignal, at: number, rules: Rules): ConversationStep {
  const sign = toSign(signal, rules);
  if (!sign) return [state];
  const pausing = sign.type === 'words' ? ({ type: 'words', count: 0, final: false } as const) : sign;
  const rulesNow = (): BargeInRules => ({ ...rulesFor(state, rules), immediate: false });
  const [bargeIn, ...stages] = takeSign(state.bargeIn, pausing, at, rulesNow);
  return enterStages(state, bargeIn, stages, at);
}

/** What the user is saying is not an interruption. */
export function dismiss(state: ConversationState, final: boolean, at: number, rules: Rules): ConversationStep {
  const sign = { type: 'dismissed', final } as const;
  const [bargeIn, ...stages] = takeSign(state.bargeIn, sign, at, () => rulesFor(state, rules));
  return enterStages(state, bargeIn, stages, at);
}

/** Whether the user only wants the agent to stop; after a question, "cancel" is an answer. */
export function isStopCommand(
  state: ConversationState,
  signal: HeardSignal,
  at: number,
  { phrasebook }: Rules,
): boolean {
  if (signal.type !== 'transcript' || answerTime(state, signal, at)) return false;
  return phrasebook.isCommand(signal.result.text);
}

/** A command that has stopped the agent is not answered: the turn is over. */
export function stopOnCommand(
  state: ConversationState,
  { text, result }: { readonly text: string; readonly result?: TranscriptionResult },
  at: number,
  preflight: PreflightRules,
): ConversationStep {
  // Published again if it was published before: now it is complete.
  const unsaid = change(state, { lastWords: '' });
  const told: ConversationStep = result ? decide(unsaid, { type: 'words', text, result }, at, preflight) : [state];
  return chain(told, (after) => dropTurn(after, 'cancelled', at));
}

/** A wait for more signs has ended. */
export function wakeBargeIn(state: ConversationState, at: number, rules: Rules): ConversationStep {
  const [bargeIn, ...stages] = takeSign(state.bargeIn, { type: 'tick' }, at, () => rulesFor(state, rules));
  return enterStages(state, bargeIn, stages, at);
}

/** The agent continues undisturbed, or has fallen silent: nothing is ducked, paused or withheld anymore. */
export function endSuspicion(state: ConversationState): ConversationStep {
  const { bargeIn } = state;
  if (bargeIn.stage === 'none') return [state];
  const after = change(state, { bargeIn: noBargeIn });
  return bargeIn.stage === 'dismissed' ? [after] : [after, { type: 'release', wasPaused: isPaused(bargeIn) }];
}

/** What confirmed an interruption. */
interface Cause {
  readonly signal: HeardSignal;
  readonly isStopCommand: boolean;
}

function enterStages(
  before: ConversationState,
  bargeIn: ConversationState['bargeIn'],
  stages: readonly BargeInStage[],
  at: number,
  cause?: Cause,
): ConversationStep {
  const since = isSuspected(before.bargeIn) ? before.bargeIn.since : at;
  const wasPaused = isPaused(before.bargeIn);
  const envelope = speechEnvelope(before);
  const position = (event: 'speech.paused' | 'speech.resumed'): Effect[] =>
    envelope.speechId ? [{ type: 'emit.position', event, envelope }] : [];
  return stages.reduce<ConversationStep>(
    (step, stage) =>
      chain(step, (state): ConversationStep => {
        switch (stage) {
          case 'suspected':
            return duckOrPause(state, emit('bargeIn.suspected', {}, envelope));
          case 'paused': {
            const pause: Effect[] = isPaused(before.bargeIn) ? [] : [{ type: 'pause' }];
            return [state, ...pause, emit('bargeIn.paused', {}, envelope), ...position('speech.paused')];
          }
          case 'resumed': {
            const told = emit('bargeIn.resumed', {}, envelope);
            const resumed = before.bargeIn.stage === 'paused' ? position('speech.resumed') : [];
            return [state, told, ...resumed, { type: 'release', wasPaused }];
          }
          case 'confirmed':
            return cause ? confirm(state, at - since, at, wasPaused, envelope, cause) : [state];
        }
      }),
    [bargeIn === before.bargeIn ? before : change(before, { bargeIn })],
  );
}

/** Audible speech becomes quieter; speech about to start waits, however late its first audio arrives. */
function duckOrPause(state: ConversationState, told: Effect): ConversationStep {
  const { bargeIn, output, rules } = state;
  const duck: Effect = { type: 'duck', db: rules.duckDb };
  if (!isSuspected(bargeIn) || output.speaking?.audible !== false) return [state, duck, told];
  return [change(state, { bargeIn: { ...bargeIn, isHeld: true } }), duck, { type: 'pause' }, told];
}

/** The agent is cut off in this step; follow-ups wait until it has reported what was heard. */
function confirm(
  state: ConversationState,
  detectMs: number,
  at: number,
  wasPaused: boolean,
  envelope: Pick<VoiceEventEnvelope, 'turnId' | 'speechId'>,
  { signal, isStopCommand }: Cause,
): ConversationStep {
  const answering = state.answering && withMeasured(state.answering, { bargeInDetect: detectMs });
  // Do not restart what the user wants to stop.
  const reason = isStopCommand ? 'interrupted' : reasonToCut(state);
  const [silent, ...effects] = cut(change(state, { answering }), 'user', reason, at);
  return [
    silent,
    ...effects,
    { type: 'release', wasPaused },
    { type: 'then', input: { type: 'bargeIn.cut', detectMs, confirmedAt: at, envelope, signal } },
  ];
}

function ignore(state: ConversationState, signal: HeardSignal, reason: IgnoreReason, at: number): ConversationStep {
  if (signal.type !== 'transcript' || !signal.result.text.trim()) return [state];
  const { result } = signal;
  const { text, utteranceComplete } = result;
  if (!utteranceComplete) return publishInterim(state, text, result);
  const overheard = overhear(state, signal, reason, at);
  const after: ConversationState = change(state, { interim: '', overheard: overheard ?? state.overheard });
  return overheard?.kind === 'answer' ? [after] : [after, emit('bargeIn.ignored', { reason, text, result })];
}

function isComplete(signal: HeardSignal): boolean {
  return signal.type === 'transcript' && signal.result.utteranceComplete;
}

function toSign(signal: HeardSignal, { locale, phrasebook }: Rules): BargeInSign | undefined {
  if (signal.type === 'speech') {
    const { event, since } = signal;
    return {
      type: event === 'ended' ? 'voice-ended' : 'voice-started',
      ...(since === undefined ? {} : { at: since }),
    };
  }
  const { text, utteranceComplete } = signal.result;
  if (!text.trim()) return undefined;
  const count = countWords(text, locale);
  return { type: 'words', count, final: utteranceComplete, isCommand: phrasebook.isCommand(text) };
}

function rulesFor(state: ConversationState, { bargeIn, reportsSpeechEnd }: Rules): BargeInRules {
  const options = typeof bargeIn === 'object' ? bargeIn : {};
  const status = statusOf(state);
  // New words before the answer join the message.
  const thinking = { minWords: 1, ...options.thinking };
  const current = isGreeting(state) ? options.greeting : status === 'speaking' ? options.speaking : thinking;
  const chosen: BargeInThresholds = current ? Object.assign({}, options, current) : options;
  return {
    pauseAfterMs: chosen.pauseAfterMs ?? 200,
    minWords: chosen.minWords ?? 2,
    minFinalWords: chosen.minFinalWords ?? chosen.minWords ?? 1,
    resumeAfterMs: chosen.resumeAfterMs ?? 1_200,
    maxPauseMs: bargeIn === false ? wordsDueMs : (chosen.maxPauseMs ?? 8_000),
    voiceTimeoutMs: chosen.voiceTimeoutMs ?? 2_000,
    lagMs: state.turnTaking.learnt?.lagMs ?? 0,
    immediate: bargeIn === 'immediate' && status === 'speaking',
    voiceEnds: reportsSpeechEnd,
  };
}
