import { Observable, type MonoTypeOperatorFunction } from 'rxjs';
import { feed } from './feed.ts';
import { Fifo, type FifoBound } from './fifo.ts';

/**
 * Holds values, up to a limit, while a gate is shut, and releases them in order when it opens.
 *
 * A gate that shuts during a release, even because of it, stops the release at once; values that arrive during a
 * release wait their turn. Completion waits behind the values; an error of the source or of the gate passes at once and
 * drops what is held. A gate that completes stays as it is: if shut, the result completes with the source, and what is
 * held is dropped.
 *
 * ```text
 * source           -a--b-c------d-|
 * open             t-f-----t-------        t: true, f: false
 * gate(open)       -a------(bc)-d-|
 * ```
 *
 * @param open$ - Whether the gate is open; shut until this emits. Subscribed to before the source.
 * @param bound - How much to hold. Errors thrown by its `onDrop` fail the result.
 * @param isOpen - Whether a value of `open$` opens the gate. Default: the value itself.
 *
 * ```text
 * frames$.pipe(gate(connected$, { limit: 100, onDrop: (frames) => logger.warn(`${frames.length} frames lost`) }));
 * ```
 */
export function gate<T, O = boolean>(
  open$: Observable<O>,
  bound: FifoBound<T>,
  isOpen: (value: O) => boolean = Boolean,
): MonoTypeOperatorFunction<T> {
  return (source$) =>
    new Observable((subscriber) => {
      const held = new Fifo<T>(bound);
      const state = { isOpen: false, isReleasing: false, isComplete: false, isGateComplete: false };

      const release = (): void => {
        if (state.isReleasing) return;
        state.isReleasing = true;
        while (state.isOpen && held.length > 0 && !subscriber.closed) subscriber.next(held.shift() as T);
        state.isReleasing = false;
        const isLost = !state.isOpen && state.isGateComplete;
        if (state.isComplete && (isLost || (state.isOpen && held.length === 0))) subscriber.complete();
      };
      const accept = (value: T): void => {
        if (state.isOpen && held.length === 0 && !state.isReleasing) {
          subscriber.next(value);
          return;
        }
        held.push(value);
        release();
      };

      feed(open$, subscriber, {
        next: (value) => {
          state.isOpen = isOpen(value);
          release();
        },
        complete: () => {
          state.isGateComplete = true;
          release();
        },
      });
      feed(source$, subscriber, {
        next: accept,
        complete: () => {
          state.isComplete = true;
          release();
        },
      });
    });
}
