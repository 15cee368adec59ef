import { Observable, Subscription, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import type { VoiceError } from '../core/errors.ts';
import { patientTimer } from './patient-timer.ts';

/**
 * Fails when the source is silent for `ms` milliseconds, from the subscription or its last value on. One timer serves
 * any number of values, so a fast source costs no more than a slow one.
 *
 * ```
 * source:            --a---b---------c--
 * failOnSilence(5):  --a---b----#
 * ```
 */
export function failOnSilence<T>(
  ms: number,
  scheduler: SchedulerLike,
  error: () => VoiceError,
): MonoTypeOperatorFunction<T> {
  return (source$) =>
    new Observable((subscriber) => {
      let heardAt = scheduler.now();
      const watch = (): void => {
        const silence$ = patientTimer(heardAt + ms - scheduler.now(), scheduler);
        waiting = silence$.subscribe({
          next: () => {
            if (scheduler.now() - heardAt >= ms) subscriber.error(error());
            else watch();
          },
          error: (cause: unknown) => subscriber.error(cause),
        });
      };
      let waiting = Subscription.EMPTY;
      watch();
      subscriber.add(() => waiting.unsubscribe());
      subscriber.add(
        source$.subscribe({
          next: (value) => {
            heardAt = scheduler.now();
            subscriber.next(value);
          },
          error: (cause: unknown) => subscriber.error(cause),
          complete: () => subscriber.complete(),
        }),
      );
    });
}
