import { take, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { gate } from './gate.ts';

/** Options of {@link holdUntil}. */
export interface HoldUntilOptions {
  /** Most values to hold. Default: 10,000. */
  readonly limit?: number;
}

/**
 * Holds values until a gate emits, then releases them in order and lets the rest through.
 *
 * The source is subscribed to at once, so that work continues behind the gate. Completion waits for the gate too; an
 * error of the source or of the gate passes at once and drops what is held (materialize the source to have its error
 * wait as well). A gate that completes without a value never opens: the result completes, empty, with the source.
 *
 * ```text
 * source         -a-b----------c--d-|
 * gate           -------g------------
 * holdUntil()    -------(ab)---c--d-|
 * ```
 *
 * @example
 * ```ts
 * import { interval, timer } from 'rxjs';
 * import { holdUntil } from 'rxvoice/operators';
 *
 * const confirmed$ = timer(250);
 * interval(100).pipe(holdUntil(confirmed$)).subscribe(console.log); // 0 and 1 at 250 ms, 2 at 300 ms, ...
 * ```
 *
 * Errors: VoiceError `overflow` when more than `limit` values wait.
 */
export function holdUntil<T>(gate$: Observable<unknown>, options: HoldUntilOptions = {}): MonoTypeOperatorFunction<T> {
  const { limit = 10_000 } = options;
  return gate(gate$.pipe(take(1)), { limit, onDrop: () => fail(limit) }, () => true);
}

function fail(limit: number): never {
  const message = `holdUntil holds ${limit} values behind a shut gate: raise limit, or open the gate sooner`;
  throw new VoiceError(message, { code: 'overflow' });
}
