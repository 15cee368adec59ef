import { connect, defer, endWith, map, merge, takeUntil, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { VoiceError } from '../../../core/errors.ts';

/** Fails with `late` when `time$` emits before the first value; what comes after that has all the time there is. */
export function firstWithin<T>(time$: () => Observable<unknown>, late: () => VoiceError): MonoTypeOperatorFunction<T> {
  return connect((source$) => {
    const late$ = defer(time$).pipe(
      map((): never => {
        throw late();
      }),
      takeUntil(source$.pipe(endWith(undefined))),
    );
    return merge(late$, source$);
  });
}
