import type { EndOfTurn, EndpointingBounds, Scorer } from '../conversation/turn-taking/endpointing.ts';
import { lagOf } from './stt-lag.ts';

/**
 * The turn is over when the speech-to-text service says so: what happens without a strategy.
 *
 * @param bounds - Default: those of the service.
 */
export function stt(bounds: EndpointingBounds = {}): EndOfTurn {
  return Object.assign<EndOfTurn, Partial<EndOfTurn>>(({ completeAt = Infinity }) => completeAt, {
    ...bounds,
    endedBy: 'stt',
  });
}

/**
 * The application ends the turn: push-to-talk, by `beginTurn()`, `commitTurn()` and `cancelTurn()`.
 *
 * @param bounds - Only `maxTurnMs` counts.
 */
export function manual(bounds: Pick<EndpointingBounds, 'maxTurnMs'> = {}): EndOfTurn {
  return Object.assign(() => Infinity, { ...bounds, isManual: true });
}

/**
 * The turn is over after `minMs` of silence (500), once speech-to-text has marked all of it as final, or once the time
 * within which this service usually does so has passed; after `maxMs` (3,000) in any case. With a voice detector the
 * service is asked to finalize as soon as the voice ends.
 *
 * @example
 * ```ts
 * import { Pipeline, type AnyProvider } from 'rxvoice';
 * import { silence } from 'rxvoice/endpointing';
 * import { energyVad } from 'rxvoice/vad';
 *
 * declare const providers: AnyProvider[];
 *
 * const agent = new Pipeline({ providers, vad: energyVad(), endpointing: silence({ minMs: 700 }) });
 * ```
 */
export function silence(bounds: EndpointingBounds = {}): EndOfTurn {
  return Object.assign<EndOfTurn, Partial<EndOfTurn>>(
    ({ silentSince, finalAt, sttLagMs }) =>
      silentSince === undefined ? Infinity : Math.max(silentSince, finalAt ?? silentSince + sttLagMs),
    { minMs: 500, maxMs: 3_000, ...bounds, finalizes: true, lagOf, endedBy: 'silence' },
  );
}

/** Options of {@link scorer}. */
export interface ScorerOptions extends EndpointingBounds {
  /** Likelihood below which a text counts as unfinished, 0 to 1. Default: 0.5. */
  readonly threshold?: number;
  /** Longest wait for the scorer, in milliseconds; then silence decides. Default: 1,000. */
  readonly timeoutMs?: number;
}

/**
 * Like `silence()`, but when a scorer finds the text unfinished, the turn waits for `maxMs` of silence (3,000).
 *
 * @param score - How likely it is that a text is complete, 0 to 1: `textScorer()`, or a model of your own. Unsubscribed
 * when the user goes on speaking.
 *
 * @example
 * ```ts
 * import { Pipeline, type AnyProvider } from 'rxvoice';
 * import { scorer, textScorer } from 'rxvoice/endpointing';
 *
 * declare const providers: AnyProvider[];
 *
 * const agent = new Pipeline({ providers, endpointing: scorer(textScorer('en'), { minMs: 400, maxMs: 2_500 }) });
 * ```
 */
export function scorer(score: Scorer, options: ScorerOptions = {}): EndOfTurn {
  const { threshold = 0.5, timeoutMs = 1_000, ...bounds } = options;
  const quiet = silence(bounds);
  const { maxMs = Infinity } = quiet;
  return Object.assign<EndOfTurn, Partial<EndOfTurn>>(
    (turn) => {
      const silentAt = quiet(turn);
      const { askedAt, value } = turn.score ?? {};
      if (askedAt === undefined || turn.silentSince === undefined) return silentAt;
      if (value === undefined) return Math.max(silentAt, askedAt + timeoutMs);
      return value < threshold ? turn.silentSince + maxMs : silentAt;
    },
    { ...quiet, score, endedBy: 'scorer' },
  );
}
