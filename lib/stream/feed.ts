import { Subscription, type Observable, type Observer, type Subscriber } from 'rxjs';

/** Handlers for a source's values and its completion. */
export interface FeedHandlers<T> {
  /** An error that it throws fails the target. */
  readonly next: (value: T) => void;
  readonly complete: () => void;
  /** Default: errors of the source go to the target. */
  readonly error?: (error: unknown) => void;
}

/**
 * Subscribes to a source on behalf of a subscriber: the basis of our own operators. The source ends with its target,
 * even in the middle of a synchronous run; its errors go to the target, unless there is a handler for them.
 *
 * @returns The subscription to the source, which ends with its target.
 */
export function feed<T>(source$: Observable<T>, target: Subscriber<never>, handlers: FeedHandlers<T>): Subscription {
  const feeding = new Feed(target, handlers);
  const subscription = source$.subscribe(feeding);
  // RxJS returns the observer itself; a foreign stream may not.
  if (subscription !== feeding) target.add(subscription);
  return subscription;
}

/**
 * An observer that is a subscription too, so that RxJS need not wrap it in one. Once closed, it drops its target and
 * handlers: a player keeps its last listener, which would otherwise keep a whole answer alive.
 */
class Feed<T> extends Subscription implements Observer<T> {
  #target: Subscriber<never> | undefined;
  #handlers: FeedHandlers<T> | undefined;

  constructor(target: Subscriber<never>, handlers: FeedHandlers<T>) {
    super();
    this.#target = target;
    this.#handlers = handlers;
    // Before the source starts: an endless one must notice that its target has had enough.
    target.add(this);
  }

  next(value: T): void {
    const target = this.#target;
    try {
      this.#handlers?.next(value);
    } catch (error) {
      target?.error(error);
    }
  }

  error(error: unknown): void {
    const handlers = this.#handlers;
    if (handlers && !handlers.error) this.#target?.error(error);
    this.unsubscribe();
    handlers?.error?.(error);
  }

  complete(): void {
    const handlers = this.#handlers;
    this.unsubscribe();
    handlers?.complete();
  }

  override unsubscribe(): void {
    this.#target = undefined;
    this.#handlers = undefined;
    super.unsubscribe();
  }
}
