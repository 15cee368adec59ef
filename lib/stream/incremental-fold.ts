import type { OperatorFunction } from 'rxjs';
import type { Step } from './fold.ts';
import { incremental } from './incremental.ts';

/**
 * Folds a stream that nothing waits for into a state, and emits the effects of each step, in order. Inputs that arrive while effects are being
 * delivered wait until those are through. Each subscription starts anew.
 *
 * @param start - The first state.
 * @param reduce - A pure function from a state and an input to the next state and its effects.
 * @param end - The last effects, once the source has completed. Default: none.
 */
export function incrementalFold<S, I, E>(
  start: S,
  reduce: (state: S, input: I) => Step<S, E>,
  end: (state: S) => Iterable<E> = () => [],
): OperatorFunction<I, E> {
  return incremental(() => {
    let state = start;
    return {
      push: (input) => {
        const [next, ...effects] = reduce(state, input);
        state = next;
        return effects;
      },
      flush: () => end(state),
    };
  });
}
