import { finalize, Observable } from 'rxjs';

/** Lets a limited number of Observables run at once, while others wait their turn. */
export interface Lock {
  /**
   * Returns the work, to be subscribed to when its turn comes, in order of subscription.
   *
   * The turn passes on after the teardown of work that completes, fails or is unsubscribed. Unsubscribing while it
   * waits gives up its place.
   */
  hold<T>(work$: Observable<T>): Observable<T>;
}

/**
 * Creates a lock; with a `limit` above 1, a concurrency limit.
 *
 * ```text
 * lock.hold(a)      --1--|
 * lock.hold(b)      -----2--|        b: 2--|
 * ```
 *
 * @param limit - How many run at once; a function is called whenever one might start. Default: 1.
 *
 * ```text
 * const lock = createLock(2);
 * from(texts).pipe(mergeMap((text) => lock.hold(request(text))));
 * ```
 */
export function createLock(limit: number | (() => number) = 1): Lock {
  const waiting: (() => void)[] = [];
  const limitNow = typeof limit === 'number' ? (): number => limit : limit;
  let holders = 0;

  const admit = (): void => {
    while (holders < limitNow()) {
      const start = waiting.shift();
      if (!start) return;
      holders += 1;
      start();
    }
  };
  const leave = (): void => {
    holders -= 1;
    admit();
  };

  return {
    hold: <T>(work$: Observable<T>) =>
      new Observable<T>((subscriber) => {
        const start = (): void => {
          work$.pipe(finalize(leave)).subscribe(subscriber);
        };
        waiting.push(start);
        admit();
        return () => {
          const place = waiting.indexOf(start);
          if (place >= 0) waiting.splice(place, 1);
        };
      }),
  };
}
