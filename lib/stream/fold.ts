import { asyncScheduler, Observable, type OperatorFunction, type SchedulerLike } from 'rxjs';
import { feed } from './feed.ts';
import { Alarm, isDue } from './patient-timer.ts';

/** The result of an input: the next state, and its effects in order. */
export type Step<S, E> = readonly [state: S, ...effects: E[]];

/**
 * Adds a step's effects to those of the steps before it. Steps are many and short: by index, none costs an iterator.
 *
 * @returns The step's state.
 */
export function takeStep<S, E>(effects: E[], step: Step<S, E>): S {
  for (let index = 1; index < step.length; index += 1) effects.push(step[index] as E);
  return step[0];
}

/** Calls back with each effect of a step, in order. */
export function eachEffect<S, E>(step: Step<S, E>, enact: (effect: E) => void): void {
  for (let index = 1; index < step.length; index += 1) enact(step[index] as E);
}

/** A state machine as data. */
export interface Machine<S, I, E> {
  readonly start: S;
  /** Pure: the same state, input and time always give the same step. `at` is the scheduler's time in milliseconds. */
  readonly reduce: (state: S, input: I, at: number) => Step<S, E>;
  /**
   * Pure: what follows from an input's step, as a step of its own: whoever acts on the first need not wait for it. Not
   * emitted when it changes nothing and has no effects. Default: nothing follows.
   */
  readonly follow?: (state: S, before: S, input: I, at: number) => Step<S, E>;
  /** When a state's wait ends, on the scheduler's clock; Infinity when it waits for nothing. */
  readonly wakeAt: (state: S) => number;
  /** The input for the end of that wait. */
  readonly tick: I;
}

/**
 * Runs a state machine over a stream of inputs; emits each step, and the step that follows from it.
 *
 * Inputs are processed one at a time, in one order: one that arrives while a step is being delivered, perhaps because
 * of it, waits until everyone has seen that step. One timer serves all deadlines; if the event loop was blocked when
 * one fell due, whatever arrived meanwhile is processed first. Completes and fails with its source; fails when the
 * reducer throws.
 *
 * ```text
 * inputs                --a--------b--------
 * fold(wakes after 4)   --A---T----B---T----     T: the step that a tick led to
 * ```
 */
export function fold<S, I, E>(
  machine: Machine<S, I, E>,
  scheduler: SchedulerLike = asyncScheduler,
): OperatorFunction<I, Step<S, E>> {
  const { start, reduce, follow, wakeAt, tick } = machine;
  return (inputs$) =>
    new Observable((subscriber) => {
      const waiting: I[] = [];
      let state = start;
      let dueAt = wakeAt(start);
      let isBusy = false;
      /** The deadline that has just come: it has, even if the clock was set back meanwhile. */
      let rungAt = -Infinity;
      const alarm = new Alarm(scheduler, (at) => {
        rungAt = at;
        take(tick);
        rungAt = -Infinity;
      });

      /** The current time, but never before a deadline that has come. */
      const now = (): number => {
        const clockAt = scheduler.now();
        return isDue(dueAt, Math.max(rungAt, clockAt)) ? Math.max(dueAt, clockAt) : clockAt;
      };
      const tell = (step: Step<S, E>): void => {
        state = step[0];
        subscriber.next(step);
      };
      const advance = (input: I): void => {
        const before = state;
        const at = now();
        // Told first: whoever acts on it waits neither for what follows nor for the next deadline.
        tell(reduce(before, input, at));
        const following = subscriber.closed ? undefined : follow?.(state, before, input, at);
        if (following && (following.length > 1 || following[0] !== state)) tell(following);
        dueAt = wakeAt(state);
      };
      const take = (input: I): void => {
        if (isBusy) {
          waiting.push(input);
          return;
        }
        isBusy = true;
        try {
          advance(input);
          while (waiting.length > 0 && !subscriber.closed) advance(waiting.shift() as I);
          alarm.set(dueAt);
        } catch (error) {
          subscriber.error(error);
        } finally {
          isBusy = false;
        }
      };

      alarm.set(dueAt);
      subscriber.add(alarm);
      feed(inputs$, subscriber, { next: take, complete: () => subscriber.complete() });
    });
}
