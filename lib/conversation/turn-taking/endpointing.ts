import type { ObservableInput } from 'rxjs';
import { catchLater } from '../../core/application-code.ts';

/** What is known of the user's turn. Times are on the scheduler's clock, in milliseconds. */
export interface HeardTurn {
  /** Everything said in this turn: what is final, and the words so far. */
  readonly text: string;
  /** When its first sign arrived. */
  readonly startedAt: number;
  /**
   * Since when the user is silent; `undefined` while the user speaks. It is the time of the last voiced frame, or of the
   * end of the last word, on the audio's own clock; where neither is known, the time when the last sign arrived.
   */
  readonly silentSince: number | undefined;
  /** When speech-to-text marked everything so far as final; `undefined` while some of it may still change. */
  readonly finalAt: number | undefined;
  /** When speech-to-text declared the utterance complete; `undefined` if it did not, or if more words followed. */
  readonly completeAt: number | undefined;
  /** How long after the end of speech this service's finals arrive, in milliseconds: learnt from those so far. */
  readonly sttLagMs: number;
  /** The strategy's {@link EndOfTurn.score} for this text: when it was asked for, and the answer once there is one. */
  readonly score: TurnScore | undefined;
}

/** A strategy's estimate of how complete a text is. */
export interface TurnScore {
  /** The text that it is about. */
  readonly text: string;
  readonly askedAt: number;
  /** The likelihood that the text is complete, 0 to 1; `undefined` until there is an answer. */
  readonly value: number | undefined;
}

/** Limits of the silence that ends a turn, in milliseconds from the last voiced frame. They hold for every strategy. */
export interface EndpointingBounds {
  /**
   * Silence before which no turn ends. Default: 0; 300 with a service that ends utterances after less silence than that;
   * 500 with `silence()` and `scorer()`.
   */
  readonly minMs?: number;
  /** Silence after which every turn ends. Default: none, but 3,000 with `silence()` and `scorer()`. */
  readonly maxMs?: number;
  /**
   * Whether the minimum adapts to the user's own pauses, between `minMs` and `maxMs`: someone who makes long pauses is
   * given more time. Default: false.
   */
  readonly dynamic?: boolean;
  /** Longest turn: what was said by then is answered, even if the user is still speaking. Default: no limit. */
  readonly maxTurnMs?: number;
}

/** How likely it is that a text is a complete turn, 0 to 1; unsubscribed when the next text is to be scored. */
export type Scorer = (text: string) => number | ObservableInput<number>;

/**
 * What ended the user's turn: a strategy (`custom`: the application's own); a bound, `maxMs` of silence or `maxTurnMs`;
 * `commitTurn()` (`manual`); a service that gave no final in time (`timeout`); `send()` (`text`). `again`: an earlier
 * message is answered after all, as after a cough that was taken for words.
 */
export type TurnEndedBy =
  'stt' | 'silence' | 'scorer' | 'custom' | 'maxMs' | 'maxTurnMs' | 'manual' | 'timeout' | 'text' | 'again';

/**
 * Decides when the user's turn is over: a pure function from what is known to the time of the end, on the same clock;
 * Infinity while the turn goes on. It is called again whenever something is heard. The bounds that it carries apply to
 * its result. If it throws, or returns anything but a number, the error is reported, and the service's own judgment is
 * used instead.
 */
export interface EndOfTurn extends EndpointingBounds {
  (turn: HeardTurn): number;
  /** The `endedBy` of `turn.committed`. Default: `custom`. */
  readonly endedBy?: 'stt' | 'silence' | 'scorer' | 'custom';
  /** Called with each new text once the user is silent: how likely it is that the text is complete, 0 to 1. */
  readonly score?: Scorer;
  /** Whether speech-to-text is asked to finalize when a voice detector hears the voice end. Default: false. */
  readonly finalizes?: boolean;
  /** The lag of a speech-to-text service, by its provider's name, until it has been measured. Default: 1,000. */
  readonly lagOf?: (stt: string) => number | undefined;
  /** Whether the application ends the turn: push-to-talk. Default: false. */
  readonly isManual?: boolean;
}

/** When the user's turn is over: a strategy, or bounds for the default one. */
export type Endpointing = EndOfTurn | EndpointingBounds;

/** The turn is over when the speech-to-text service says so. */
export const serviceDecides: EndOfTurn = Object.assign<EndOfTurn, Pick<EndOfTurn, 'endedBy'>>(
  ({ completeAt = Infinity }) => completeAt,
  { endedBy: 'stt' },
);

/** The strategy, and its bounds. */
export function strategyOf(endpointing: Endpointing = {}): readonly [EndOfTurn, EndpointingBounds] {
  return [typeof endpointing === 'function' ? endpointing : serviceDecides, endpointing];
}

/** The silence before which no turn ends; `pauseMs` is the user's usual pause within a turn, if known. */
function leastSilence({ minMs = 0, maxMs = Infinity, dynamic }: EndpointingBounds, pauseMs?: number): number {
  return dynamic && pauseMs !== undefined ? Math.max(minMs, Math.min(pauseMs, maxMs)) : minMs;
}

/**
 * When a turn ends, within the bounds; Infinity while it has no words or the user speaks.
 *
 * @throws Whatever the strategy throws, or an Error when it returns something other than a time.
 */
export function endsAt(turn: HeardTurn, strategy: EndOfTurn, bounds: EndpointingBounds, pauseMs?: number): number {
  const { text, startedAt, silentSince = Infinity } = turn;
  const { maxMs = Infinity, maxTurnMs = Infinity } = bounds;
  if (!text) return Infinity;
  const wanted = strategy(turn);
  if (typeof wanted !== 'number' || Number.isNaN(wanted)) {
    // A promise is refused, whatever comes of it.
    catchLater(wanted, () => undefined);
    const given = typeof wanted === 'function' ? 'a function' : String(wanted);
    throw new Error(`it must return the time at which the turn ends, or Infinity, not ${given}`);
  }
  const earliest = Math.max(wanted, silentSince + leastSilence(bounds, pauseMs));
  return Math.min(earliest, silentSince + maxMs, startedAt + maxTurnMs);
}

/** What ended a turn that is over at a moment: the strategy, or a bound before it. */
export function endedBy(turn: HeardTurn, strategy: EndOfTurn, bounds: EndpointingBounds, at: number): TurnEndedBy {
  const { startedAt, silentSince = Infinity } = turn;
  const { maxMs = Infinity, maxTurnMs = Infinity } = bounds;
  if (at >= startedAt + maxTurnMs) return 'maxTurnMs';
  return at >= silentSince + maxMs && !(strategy(turn) <= at) ? 'maxMs' : (strategy.endedBy ?? 'custom');
}
