import { Observable, Subscription, type SchedulerLike } from 'rxjs';
import { patientTimer } from '../../../transport/patient-timer.ts';

/** Options of {@link stalls}. */
export interface StallOptions {
  /** Emits when what is waited for has changed: the wait begins anew. */
  readonly wait$: Observable<void>;
  /** How long may be waited, in milliseconds; `undefined` while nothing is waited for. */
  readonly limitMs: () => number | undefined;
  /** When the service was last heard, or a wait began, in milliseconds of the scheduler's clock. */
  readonly heard: { at: number };
  readonly scheduler: SchedulerLike;
}

/**
 * Emits a wait's limit, in milliseconds, whenever nothing was heard for so long. One timer serves any number of
 * messages. Never completes by itself.
 */
export function stalls({ wait$, limitMs, heard, scheduler }: StallOptions): Observable<number> {
  return new Observable((subscriber) => {
    let timer = Subscription.EMPTY;
    let dueAt = Infinity;
    const look = (): void => {
      const ms = limitMs();
      const now = scheduler.now();
      if (ms !== undefined && now - heard.at >= ms) {
        heard.at = now;
        subscriber.next(ms);
      }
      if (!subscriber.closed) watch();
    };
    /** A timer that runs already, and ends no later, looks again then. */
    const watch = (): void => {
      const ms = limitMs();
      if (ms === undefined || (!timer.closed && dueAt <= heard.at + ms)) return;
      timer.unsubscribe();
      dueAt = heard.at + ms;
      timer = patientTimer(dueAt - scheduler.now(), scheduler).subscribe({
        next: () => {
          timer.unsubscribe();
          look();
        },
        error: (cause: unknown) => subscriber.error(cause),
      });
    };
    const begin = (): void => {
      heard.at = scheduler.now();
      watch();
    };
    subscriber.add(() => timer.unsubscribe());
    subscriber.add(wait$.subscribe({ next: begin, error: (cause: unknown) => subscriber.error(cause) }));
    begin();
  });
}
