import { countWords } from '../text/words.ts';
import { noBargeIn, takeSign, type BargeInRules, type BargeInSign, type BargeInStage } from './barge-in.ts';
import type { IgnoreReason } from './events.ts';
import { emit, type Effect, type HeardSignal } from './inputs.ts';
import type { Rules } from './rules.ts';
import { speechEnvelope, statusOf, type ConversationState } from './state.ts';
import { chain, cut, reasonToCut, type ConversationStep } from './user-turn.ts';
import { withMeasured } from './turn.ts';

/** Whether the user may interrupt what the agent is saying. */
export function isInterruptible({ output }: ConversationState, { bargeIn }: Rules): boolean {
  return bargeIn !== false && (output.speaking?.interruptible ?? true);
}

/** Decides whether what the user says while the agent is busy is a sign of an interruption. */
export function hearWhileBusy(
  state: ConversationState,
  signal: HeardSignal,
  at: number,
  rules: Rules,
): ConversationStep {
  if (!isInterruptible(state, rules)) {
    return ignore(state, signal, rules.bargeIn === false ? 'disabled' : 'uninterruptible');
  }
  const sign = toSign(signal, rules.locale);
  const [bargeIn, ...stages] = sign ? takeSign(state.bargeIn, sign, at, () => rulesFor(state, rules)) : [state.bargeIn];
  const isCut = stages.includes('confirmed');
  const entered = enterStages(state, bargeIn, stages, at, isCut ? signal : undefined);
  return isCut ? entered : chain(entered, (after) => ignore(after, signal, 'too-short'));
}

/** A wait for more signs has ended. */
export function wakeBargeIn(state: ConversationState, at: number, rules: Rules): ConversationStep {
  const [bargeIn, ...stages] = takeSign(state.bargeIn, { type: 'tick' }, at, () => rulesFor(state, rules));
  return enterStages(state, bargeIn, stages, at);
}

/** The agent continues undisturbed, or has fallen silent: nothing is quieter, paused or held back anymore. */
export function endSuspicion(state: ConversationState): ConversationStep {
  const { stage } = state.bargeIn;
  if (stage === 'none') return [state];
  return [
    { ...state, bargeIn: noBargeIn },
    { type: 'release', wasPaused: stage === 'paused' },
  ];
}

function enterStages(
  before: ConversationState,
  bargeIn: ConversationState['bargeIn'],
  stages: readonly BargeInStage[],
  at: number,
  signal?: HeardSignal,
): ConversationStep {
  const since = before.bargeIn.stage === 'none' ? at : before.bargeIn.since;
  const wasPaused = before.bargeIn.stage === 'paused';
  const envelope = speechEnvelope(before);
  const position = (event: 'speech.paused' | 'speech.resumed'): Effect[] =>
    envelope.speechId ? [{ type: 'emit.position', event, envelope }] : [];
  return stages.reduce<ConversationStep>(
    (step, stage) =>
      chain(step, (state): ConversationStep => {
        switch (stage) {
          case 'suspected':
            return [state, { type: 'duck', db: state.rules.duckDb }, emit('bargeIn.suspected', {}, envelope)];
          case 'paused':
            return [state, { type: 'pause' }, emit('bargeIn.paused', {}, envelope), ...position('speech.paused')];
          case 'resumed': {
            const told = emit('bargeIn.resumed', {}, envelope);
            const resumed = wasPaused ? position('speech.resumed') : [];
            return [state, told, ...resumed, { type: 'release', wasPaused }];
          }
          case 'confirmed':
            return confirm(state, at - since, at, wasPaused, signal);
        }
      }),
    [{ ...before, bargeIn }],
  );
}

/** The agent is cut off in this step; follow-ups wait until it has reported what was heard. */
function confirm(
  state: ConversationState,
  detectMs: number,
  at: number,
  wasPaused: boolean,
  signal: HeardSignal | undefined,
): ConversationStep {
  const { answering } = state;
  const measured = answering ? { answering: withMeasured(answering, { bargeInDetect: detectMs }) } : {};
  const [silent, ...effects] = cut({ ...state, ...measured }, 'user', reasonToCut(state), at);
  const envelope = speechEnvelope(state);
  return [
    silent,
    ...effects,
    { type: 'release', wasPaused },
    {
      type: 'then',
      input: { type: 'bargeIn.cut', detectMs, confirmedAt: at, envelope, ...(signal ? { signal } : {}) },
    },
  ];
}

function ignore(state: ConversationState, signal: HeardSignal, reason: IgnoreReason): ConversationStep {
  if (signal.type !== 'transcript' || !signal.result.text.trim()) return [state];
  const { result } = signal;
  const { text, utteranceComplete } = result;
  if (utteranceComplete) return [state, emit('bargeIn.ignored', { reason, text, result })];
  return [state, emit('transcript.interim', { text, result }, { role: 'stt' })];
}

function toSign(signal: HeardSignal, locale: string | undefined): BargeInSign | undefined {
  if (signal.type === 'speech') return { type: signal.event === 'ended' ? 'voice-ended' : 'voice-started' };
  const { text, utteranceComplete } = signal.result;
  return text.trim() ? { type: 'words', count: countWords(text, locale), final: utteranceComplete } : undefined;
}

function rulesFor(state: ConversationState, { bargeIn, reportsSpeechEnd }: Rules): BargeInRules {
  const options = typeof bargeIn === 'object' ? bargeIn : {};
  const status = statusOf(state);
  const inGreeting = state.output.speaking?.source === 'greeting' ? options.greeting : undefined;
  // While thinking, only words confirm: a cough delays the answer, but never deletes it.
  const inThinking = status === 'thinking' ? { minWords: 1, confirmAfterMs: Infinity, ...options.thinking } : {};
  return {
    pauseAfterMs: 200,
    confirmAfterMs: 500,
    minWords: 2,
    resumeAfterMs: 1_200,
    maxPauseMs: 8_000,
    ...options,
    ...inGreeting,
    ...inThinking,
    immediate: bargeIn === 'immediate' && status === 'speaking',
    voiceEnds: reportsSpeechEnd,
  };
}
