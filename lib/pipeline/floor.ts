import { Observable, type Subscription } from 'rxjs';

/** Lets one speech at a time use the output. */
export interface Floor {
  /** A work that starts when the floor is free, and holds it until it ends. Urgent ones go before others that wait. */
  hold<T>(work$: Observable<T>, urgent?: boolean): Observable<T>;
}

/** Creates a {@link Floor}. */
export function createFloor(): Floor {
  const waiting: (() => void)[] = [];
  let taken = false;
  const next = (): void => {
    if (taken) return;
    const start = waiting.shift();
    taken = start !== undefined;
    start?.();
  };
  return {
    hold<T>(work$: Observable<T>, urgent = false): Observable<T> {
      return new Observable((subscriber) => {
        let holding = false;
        let work: Subscription | undefined;
        const start = (): void => {
          holding = true;
          work = work$.subscribe({
            next: (value) => {
              subscriber.next(value);
            },
            error: (error: unknown) => {
              subscriber.error(error);
            },
            complete: () => {
              subscriber.complete();
            },
          });
        };
        if (urgent) waiting.unshift(start);
        else waiting.push(start);
        next();
        return () => {
          if (!holding) {
            waiting.splice(waiting.indexOf(start), 1);
            return;
          }
          // Silence first, then the next one speaks.
          work?.unsubscribe();
          taken = false;
          next();
        };
      });
    },
  };
}
