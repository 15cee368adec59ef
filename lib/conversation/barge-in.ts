import { concatMap, map, pipe, type OperatorFunction, type SchedulerLike } from 'rxjs';
import { fold, type Step } from '../stream/fold.ts';

/** A sign of the user while the agent thinks or speaks: a voice, or words. */
export type BargeInSign =
  | { readonly type: 'voice-started' }
  | { readonly type: 'voice-ended' }
  /** `final`: the utterance has ended. */
  | { readonly type: 'words'; readonly count: number; readonly final: boolean };

/** The stage of a possible interruption. */
export type BargeInStage = 'suspected' | 'paused' | 'confirmed' | 'resumed';

/** Thresholds of a barge-in, in milliseconds. */
export interface BargeInThresholds {
  /** Speech after which the agent pauses. Default: 200. */
  readonly pauseAfterMs?: number;
  /**
   * Speech that confirms, if the speech-to-text service reports the end of speech. Default: 500; Infinity (only words
   * confirm) while the agent is thinking.
   */
  readonly confirmAfterMs?: number;
  /** Words that confirm. Default: 2; 1 while the agent is thinking. */
  readonly minWords?: number;
  /** Silence after which the agent resumes from an unconfirmed interruption. Default: 1,200. */
  readonly resumeAfterMs?: number;
  /** Longest wait for words, whatever the speech-to-text service reports. Default: 8,000. */
  readonly maxPauseMs?: number;
}

/** {@link BargeInThresholds} with all values set, and what the speech-to-text service can report. */
export interface BargeInRules extends Required<Omit<BargeInThresholds, 'maxPauseMs'>> {
  /** Default: no limit. */
  readonly maxPauseMs?: number;
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
      /** When the first sign came. */
      readonly since: number;
      readonly rules: BargeInRules;
      readonly pauseAt: number;
      readonly confirmAt: number;
      readonly resumeAt: number;
    };

type BargeInStep = Step<BargeIn, BargeInStage>;

/** No interruption. */
export const noBargeIn: BargeIn = { stage: 'none' };

/** When the next stage comes without further signs; Infinity without a suspicion. */
export function bargeInWaitsUntil(state: BargeIn): number {
  if (state.stage === 'none') return Infinity;
  const { pauseAt, confirmAt, resumeAt } = state;
  return Math.min(confirmAt, resumeAt, state.stage === 'suspected' ? pauseAt : Infinity);
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
  if (sign.type === 'tick') return state.stage === 'none' ? [state] : due(state, at);
  if (state.stage !== 'none') return heard(state, sign, at);
  if (sign.type === 'voice-ended') return [state];
  const rules = rulesNow();
  if (rules.immediate) return [noBargeIn, 'suspected', 'confirmed'];
  const first: BargeIn = {
    stage: 'suspected',
    since: at,
    rules,
    pauseAt: at + rules.pauseAfterMs,
    confirmAt: sign.type === 'voice-started' && rules.voiceEnds ? at + rules.confirmAfterMs : Infinity,
    resumeAt: Infinity,
  };
  const [next, ...stages] = heard(first, sign, at);
  return [next, 'suspected', ...stages];
}

/**
 * Turns signs of the user into the stages of a barge-in: suspected, paused, then confirmed or resumed.
 *
 * ```text
 * signs   --s-----------w2----s--e--------------------|
 *         bargeIn({ pauseAfterMs: 4, minWords: 2, resumeAfterMs: 9 })
 * stages  --S---P-------C-----S-----------R-----------|
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

type Suspicion = Exclude<BargeIn, { readonly stage: 'none' }>;

function heard(state: Suspicion, sign: BargeInSign, at: number): BargeInStep {
  const { resumeAfterMs, maxPauseMs = Infinity, minWords, voiceEnds } = state.rules;
  if (sign.type === 'words' && sign.count >= minWords) return [noBargeIn, 'confirmed'];
  // If the end of speech is not reported, every sign may have been the last.
  const goesOn = sign.type === 'voice-started' && voiceEnds;
  const resumeAt = Math.min(goesOn ? Infinity : at + resumeAfterMs, state.since + maxPauseMs);
  if (sign.type !== 'voice-ended') return [{ ...state, resumeAt }];
  return [{ ...state, resumeAt, pauseAt: Infinity, confirmAt: Infinity }];
}

function due(state: Suspicion, at: number): BargeInStep {
  if (at >= state.confirmAt) return [noBargeIn, 'confirmed'];
  if (at >= state.resumeAt) return [noBargeIn, 'resumed'];
  if (state.stage === 'suspected' && at >= state.pauseAt) return [{ ...state, stage: 'paused' }, 'paused'];
  return [state];
}
