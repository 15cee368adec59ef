import { concatMap, map, pipe, type OperatorFunction, type SchedulerLike } from 'rxjs';
import { fold, type Step } from '../../stream/fold.ts';

/** A sign of the user while the agent thinks or speaks: a voice, or words. */
export type BargeInSign =
  /** `at`: when it happened, on the scheduler's clock, if known. Default: now. */
  | { readonly type: 'voice-started' | 'voice-ended'; readonly at?: number }
  /** `final`: the utterance has ended. `isCommand`: it asks the agent to stop. */
  | { readonly type: 'words'; readonly count: number; readonly final: boolean; readonly isCommand?: boolean }
  /** What the user is saying is a backchannel or an echo, not an interruption. `final`: it has ended. */
  | { readonly type: 'dismissed'; readonly final: boolean };

/** The stage of a possible interruption. */
export type BargeInStage = 'suspected' | 'paused' | 'confirmed' | 'resumed';

/** Thresholds of a barge-in, in milliseconds. Voice alone pauses the agent; only words cut it off. */
export interface BargeInThresholds {
  /** Speech after which the agent pauses. Default: 200. */
  readonly pauseAfterMs?: number;
  /** Words that confirm. Default: 2; 1 while the agent is thinking. */
  readonly minWords?: number;
  /** Words that confirm once the utterance is complete. Default: `minWords` if you set that, else 1. */
  readonly minFinalWords?: number;
  /** Silence after which the agent resumes from an unconfirmed interruption. Default: 1,200. */
  readonly resumeAfterMs?: number;
  /** Longest pause, whatever the speech-to-text service reports. Default: 8,000. */
  readonly maxPauseMs?: number;
  /** How long a voice lasts without further signs if nobody reports its end. Default: 2,000. */
  readonly voiceTimeoutMs?: number;
}

/** {@link BargeInThresholds} with all values set, and what the speech-to-text service can report. */
export interface BargeInRules extends Required<
  Omit<BargeInThresholds, 'minFinalWords' | 'maxPauseMs' | 'voiceTimeoutMs'>
> {
  /** Default: 1. */
  readonly minFinalWords?: number;
  /** Default: no limit. */
  readonly maxPauseMs?: number;
  /** Default: 2,000. */
  readonly voiceTimeoutMs?: number;
  /** How long after the end of speech its words may still come, in milliseconds. Default: 0. */
  readonly lagMs?: number;
  /** Whether to cut at the first sign. */
  readonly immediate: boolean;
  /** Whether `voice-ended` can be relied on. */
  readonly voiceEnds: boolean;
}

/** A suspected interruption with its deadlines; `none` while there is none. */
export type BargeIn =
  | { readonly stage: 'none' }
  | {
      readonly stage: 'suspected' | 'paused';
      /** When the first sign arrived. */
      readonly since: number;
      readonly rules: BargeInRules;
      /** The state of the voice; words may arrive without one. */
      readonly voice: 'unknown' | 'on' | 'over';
      readonly pauseAt: number;
      readonly resumeAt: number;
      /** Whether the output was paused from the start: nothing was audible yet, and nothing may begin. */
      readonly isHeld?: boolean;
    }
  /** The voice now heard is not an interruption: until it falls silent, only words count as a sign. */
  | { readonly stage: 'dismissed'; readonly until: number };

type BargeInStep = Step<BargeIn, BargeInStage>;

/** No interruption. */
export const noBargeIn: BargeIn = { stage: 'none' };

/** Whether the user may be interrupting. */
export function isSuspected(state: BargeIn): state is Suspicion {
  return state.stage === 'suspected' || state.stage === 'paused';
}

/** Whether the output is paused. */
export function isPaused(state: BargeIn): boolean {
  return isSuspected(state) && (state.stage === 'paused' || state.isHeld === true);
}

/** When the next stage comes without further signs; Infinity without a suspicion. */
export function bargeInWaitsUntil(state: BargeIn): number {
  if (state.stage === 'none') return Infinity;
  if (state.stage === 'dismissed') return state.until;
  return Math.min(state.resumeAt, state.stage === 'suspected' ? state.pauseAt : Infinity);
}

/**
 * Handles a sign, or the end of a wait. Pure.
 *
 * @param rules - Called when an interruption starts with this sign; they can depend on what the agent is doing.
 */
export function takeSign(
  state: BargeIn,
  sign: BargeInSign | { readonly type: 'tick' },
  at: number,
  rulesNow: () => BargeInRules,
): BargeInStep {
  if (sign.type === 'tick') return due(state, at);
  if (isSuspected(state)) return heard(state, sign, at);
  if (sign.type === 'voice-ended') return [noBargeIn];
  const rules = rulesNow();
  if (sign.type === 'dismissed') return [sign.final ? noBargeIn : dismissed(rules, at)];
  if (sign.type === 'voice-started' && state.stage === 'dismissed') return [dismissed(rules, at)];
  if (rules.immediate) return [noBargeIn, 'suspected', 'confirmed'];
  const since = sign.type === 'voice-started' ? Math.min(at, sign.at ?? at) : at;
  const pauseAt = since + rules.pauseAfterMs;
  const first: Suspicion = { stage: 'suspected', since, rules, voice: 'unknown', pauseAt, resumeAt: Infinity };
  const [next, ...stages] = heard(first, sign, at);
  return [next, 'suspected', ...stages];
}

/**
 * Turns signs of the user into the stages of a barge-in: suspected, paused, then confirmed or resumed.
 *
 * ```text
 * signs        --s----2--s-e-----|    s, e: a voice starts, ends; 2: two words
 * bargeIn()    --S--P-C--S-----R-|    S: suspected, P: paused, C: confirmed, R: resumed
 *                                     pauseAfterMs: 3, minWords: 2, resumeAfterMs: 4
 * ```
 *
 * One interruption at a time; after `confirmed` or `resumed` the next sign starts another. Completes with its source,
 * and passes on its errors.
 *
 * @param rules - Called at the start of each interruption; they can depend on what the agent is doing.
 */
export function bargeIn(
  rules: () => BargeInRules,
  scheduler: SchedulerLike,
): OperatorFunction<BargeInSign, BargeInStage> {
  return pipe(
    fold<BargeIn, BargeInSign | { readonly type: 'tick' }, BargeInStage>(
      {
        start: noBargeIn,
        reduce: (state, sign, at) => takeSign(state, sign, at, rules),
        wakeAt: bargeInWaitsUntil,
        tick: { type: 'tick' },
      },
      scheduler,
    ),
    map(([, ...stages]) => stages),
    concatMap((stages) => stages),
  );
}

type Suspicion = Extract<BargeIn, { readonly stage: 'suspected' | 'paused' }>;

function heard(state: Suspicion, sign: BargeInSign, at: number): BargeInStep {
  const { rules, since } = state;
  if (sign.type === 'dismissed') return [sign.final ? noBargeIn : dismissed(rules, at), 'resumed'];
  if (sign.type === 'words') {
    const enough = sign.final ? Math.min(rules.minWords, rules.minFinalWords ?? 1) : rules.minWords;
    if (sign.isCommand || sign.count >= enough) return [noBargeIn, 'confirmed'];
    // A complete utterance gives no further signs.
    if (sign.final) return [noBargeIn, 'resumed'];
    return due({ ...state, resumeAt: resumeAt(state, at) }, at);
  }
  // When a service reports a voice says little about when the voice was heard.
  const heardAt = Math.min(at, sign.at ?? at);
  if (sign.type === 'voice-ended') {
    const over: Suspicion = { ...state, voice: 'over', pauseAt: Infinity };
    return due({ ...over, resumeAt: resumeAt(over, heardAt) }, at);
  }
  const pauseAt = Math.min(state.pauseAt, Math.max(heardAt, since) + rules.pauseAfterMs);
  const on: Suspicion = { ...state, voice: 'on', pauseAt };
  return due({ ...on, resumeAt: resumeAt(on, at) }, at);
}

/** When the agent resumes if the last sign, at `at`, is not followed by another. */
function resumeAt({ rules, since, voice }: Suspicion, at: number): number {
  const { resumeAfterMs, lagMs = 0, maxPauseMs = Infinity, voiceTimeoutMs = 2_000, voiceEnds } = rules;
  const voiceMs = voiceEnds ? Infinity : voiceTimeoutMs;
  return Math.min(at + (voice === 'on' ? voiceMs : Math.max(resumeAfterMs, lagMs)), since + maxPauseMs);
}

function dismissed({ voiceTimeoutMs = 2_000 }: BargeInRules, at: number): BargeIn {
  return { stage: 'dismissed', until: at + voiceTimeoutMs };
}

function due(state: BargeIn, at: number): BargeInStep {
  if (state.stage === 'none') return [state];
  if (state.stage === 'dismissed') return [at >= state.until ? noBargeIn : state];
  // A voice that goes on without words is noise.
  const { rules, voice, since } = state;
  const isNoise = voice === 'on' && at >= since + (rules.maxPauseMs ?? Infinity);
  if (at >= state.resumeAt) return [isNoise ? dismissed(rules, at) : noBargeIn, 'resumed'];
  if (state.stage === 'suspected' && at >= state.pauseAt) return [{ ...state, stage: 'paused' }, 'paused'];
  return [state];
}
