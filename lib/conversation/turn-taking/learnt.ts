import type { TurnRules } from './turn-rules.ts';

/** What a conversation has measured in its turns so far. */
export interface Learnt {
  /** How long after the end of speech the service's finals arrive, in milliseconds. */
  readonly lagMs: number | undefined;
  /** The user's usual pause within a turn, in milliseconds. */
  readonly pauseMs: number | undefined;
  /** Whether the strategy has thrown something. */
  readonly isBroken: boolean;
  /** Whether the service has ever reported a voice or words without being asked to finalize. */
  readonly isLive: boolean;
}

/** A conversation that has just begun. */
export const nothingLearnt: Learnt = { lagMs: undefined, pauseMs: undefined, isBroken: false, isLive: false };

/** Upper limit of one measurement, in milliseconds: a stalled connection says nothing about a service. */
const longestLagMs = 5_000;

/** A final has arrived: the lag grows faster than it shrinks, because ending a turn too early costs more. */
export function learnLag(learnt: Learnt | undefined, measuredMs: number, { sttLagMs }: TurnRules): Learnt {
  const { lagMs = sttLagMs, ...rest } = learnt ?? nothingLearnt;
  const measured = Math.min(Math.max(0, measuredMs), longestLagMs);
  return { ...rest, lagMs: lagMs + (measured - lagMs) * (measured > lagMs ? 0.5 : 0.1) };
}

/** The user has paused within a turn: a moving average. */
export function learnPause(learnt: Learnt | undefined, pauseMs: number, { bounds }: TurnRules): Learnt | undefined {
  const { dynamic, minMs = 0, maxMs = Infinity } = bounds;
  if (!dynamic || pauseMs <= 0 || pauseMs > maxMs) return learnt;
  const { pauseMs: averageMs = minMs, ...rest } = learnt ?? nothingLearnt;
  return { ...rest, pauseMs: 0.9 * averageMs + 0.1 * pauseMs };
}
