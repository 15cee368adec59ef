import { Observable, type Subscriber, type Subscription } from 'rxjs';

/**
 * Subscribes to a source at once and keeps its values until the single subscriber of the result arrives.
 *
 * @returns The stream, and the subscription to the source, which the caller ends: it outlasts the subscriber.
 */
export function eager<T>(source$: Observable<T>): { readonly stream$: Observable<T>; readonly source: Subscription } {
  const kept: ((subscriber: Subscriber<T>) => void)[] = [];
  let target: Subscriber<T> | undefined;
  const deliverOrKeep = (deliver: (subscriber: Subscriber<T>) => void): void => {
    if (target) deliver(target);
    else kept.push(deliver);
  };
  const source = source$.subscribe({
    next: (value) => deliverOrKeep((subscriber) => subscriber.next(value)),
    error: (error: unknown) => deliverOrKeep((subscriber) => subscriber.error(error)),
    complete: () => deliverOrKeep((subscriber) => subscriber.complete()),
  });
  const stream$ = new Observable<T>((subscriber) => {
    // Values that arrive meanwhile follow those that were kept.
    for (let deliver = kept.shift(); deliver && !subscriber.closed; deliver = kept.shift()) deliver(subscriber);
    target = subscriber;
  });
  return { stream$, source };
}
