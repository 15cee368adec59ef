import type { SchedulerLike } from 'rxjs';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { CallRecord, CallRun, CallUtterance } from './call-record.ts';
import type { Manner, Phrase } from './manner.ts';

/** What `create` and the caller are told of the call. */
export interface CallContext extends CallRun {
  /** The call's clock: for the pipeline, its providers and the line, if they are to work in virtual time. */
  readonly scheduler: SchedulerLike;
}

/**
 * What a caller says: called at the beginning of each call, it returns a function that tells what is said next,
 * `undefined` to hang up. If that throws, the call is an error, not a failure of the agent.
 */
export type Caller = (
  call: CallContext,
) => (
  said: readonly CallUtterance[],
  context: { readonly signal: AbortSignal },
) => string | undefined | PromiseLike<string | undefined>;

/** A judge's opinion of a call. */
export interface Judgement {
  readonly passed: boolean;
  /** For people, in either case. */
  readonly reason: string;
}

/** A function over a finished call. If it throws, that is an error of the judge: the call has not passed. */
export interface Judge {
  /** For the report. */
  readonly name: string;
  /** Judges it; the signal aborts when the evaluation is called off. */
  judge(call: CallRecord, context: { readonly signal: AbortSignal }): Judgement | PromiseLike<Judgement>;
}

/** A conversation that is held, and what has to be true of it. */
export interface Scenario {
  /** Its own among the scenarios. */
  readonly name: string;
  /** `scriptedCaller([…])`, `modelCaller({ … })`, or a function of your own. */
  readonly caller: Caller;
  /** How the caller talks. Default: `manners.calm`. */
  readonly manner?: Manner;
  /** All of them have to agree. */
  readonly judges: readonly Judge[];
  /** How many of the repetitions have to pass, 0 to 1. Default: 1, all. */
  readonly passRate?: number;
  /** Most turns of the caller's. Default: 20. */
  readonly maxTurns?: number;
  /**
   * Longest call, in milliseconds; in real time, `initialize()`, `start()` and the line's `received()` that take longer
   * are errors. Default: 300,000.
   */
  readonly maxMs?: number;
  /** How long the caller waits for an answer that does not begin, in milliseconds. Default: 15,000. */
  readonly patienceMs?: number;
}

/** The caller's end of the line. */
export interface CallerLine {
  /** Picks up: called when the pipeline has started. */
  open?(): void;
  /** Says some words; resolves when they have been said, or the signal aborts. */
  speak(phrases: readonly Phrase[], options: { readonly signal: AbortSignal }): Promise<void>;
  /** Makes a noise that is no word; resolves when it is over, or the signal aborts. */
  noise(ms: number, options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * What has come out of the receiver, read from the audio. Absent: nobody can read it.
   *
   * @param endedAt - When each thing that the agent said ended, in milliseconds on the scheduler's clock: what comes next
   * is another word.
   */
  received?(endedAt: readonly number[]): string | Promise<string>;
  /** Hangs up. */
  close?(): void;
}

/** The two ends of a call. */
export interface CallEnds {
  /** A new one for each call, not started; it is disposed of. */
  readonly pipeline: Pick<Pipeline, 'initialize' | 'start' | 'stop' | 'dispose' | 'events$' | 'history'>;
  readonly line: CallerLine;
}
