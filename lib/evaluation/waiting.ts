import { from, map, NEVER, takeUntil, type SchedulerLike } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { fromAbort } from '../stream/bridge.ts';
import { merge } from '../stream/merge.ts';
import { patientTimer } from '../stream/patient-timer.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import type { Scenario } from './scenario.ts';

/**
 * The answer of an application's function, which may never come.
 *
 * @throws VoiceError `aborted` when the signal aborts before it; or what the function throws.
 */
export function answered<T>(answer: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    from(Promise.resolve(answer))
      .pipe(takeUntil(fromAbort(signal)))
      .subscribe({ next: resolve, error: reject });
  });
}

/** The longest that a call may last, in milliseconds. */
export function longest({ maxMs = 300_000 }: Scenario): number {
  return maxMs;
}

/** What a step of a call is limited by. */
export interface StepLimits {
  readonly scenario: Scenario;
  readonly scheduler: SchedulerLike;
  readonly signal: AbortSignal;
}

/**
 * A step before or after a call, which may take as long as the call. Not in virtual time: the clock stands while it takes
 * real time.
 *
 * @throws VoiceError `timeout` when it takes longer, `aborted` when the signal aborts; or what the step throws.
 */
export function inTime<T>(name: string, step: Promise<T>, { scenario, scheduler, signal }: StepLimits): Promise<T> {
  const maxMs = longest(scenario);
  const isVirtual = scheduler instanceof VirtualClock;
  const limit$ = (isVirtual ? NEVER : patientTimer(maxMs, scheduler)).pipe(
    map(() => {
      throw new VoiceError(`${name} took longer than the call may: maxMs is ${maxMs}`, { code: 'timeout' });
    }),
  );
  return new Promise((resolve, reject) => {
    from(step)
      .pipe(takeUntil(merge(limit$, fromAbort(signal))))
      .subscribe({ next: resolve, error: reject });
  });
}
