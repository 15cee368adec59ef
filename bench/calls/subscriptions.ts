import { Observable, type Subscription } from 'rxjs';

type Subscribe = (this: Observable<unknown>, ...observer: unknown[]) => Subscription;

/**
 * Counts every subscription of the process from now on, also those that operators make.
 *
 * @returns How many have not ended.
 */
export function countSubscriptions(): () => number {
  const prototype = Observable.prototype as unknown as { subscribe: Subscribe };
  const { subscribe } = prototype;
  let open = 0;
  prototype.subscribe = function (...observer) {
    open++;
    const subscription = subscribe.apply(this, observer);
    subscription.add(() => open--);
    return subscription;
  };
  return () => open;
}
