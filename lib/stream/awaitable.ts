import { lastValueFrom, Observable, ReplaySubject, share } from 'rxjs';

/** A stream that can be awaited: `await` subscribes, and gives its last value. */
export function awaitable<T>(source$: Observable<T>): Observable<T> & PromiseLike<T> {
  // eslint-disable-next-line rxjs-x/no-ignored-default-value -- there is no value to give where there was none: EmptyError
  const then: PromiseLike<T>['then'] = (onValue, onError) => lastValueFrom(source$).then(onValue, onError);
  return Object.assign(new Observable<T>((subscriber) => source$.subscribe(subscriber)), { then });
}

/**
 * Subscribes to a source at once, and gives its latest value to every subscriber, however late. When the last of them
 * leaves before the end, the source is unsubscribed, and the next subscriber starts it again.
 *
 * @param unheard - Receives an error that comes before anyone has subscribed.
 */
export function started<T>(source$: Observable<T>, unheard: (error: unknown) => void): Observable<T> {
  const shared$ = source$.pipe(
    share({ connector: () => new ReplaySubject<T>(1), resetOnComplete: false, resetOnError: false }),
  );
  const hold = shared$.subscribe({ error: unheard });
  return new Observable((subscriber) => {
    const subscription = shared$.subscribe(subscriber);
    // From here on its subscribers keep it alive.
    hold.unsubscribe();
    return subscription;
  });
}
