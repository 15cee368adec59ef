import { NEVER, Observable, Subscription, type Subscriber } from 'rxjs';
import { feed } from '../../lib/stream/feed.ts';

const ignored = { next: (): void => undefined, complete: (): void => undefined };

/** A source that wraps its observer, as one of another copy of RxJS does. */
function foreign(running: Subscription): Observable<never> {
  return Object.assign(new Observable<never>(), { subscribe: () => running });
}

describe('feed', () => {
  it('ends a source with its target, also one of another copy of RxJS', () => {
    const running = new Subscription();
    const target$ = new Observable<never>((target: Subscriber<never>) => {
      feed(foreign(running), target, ignored);
    });
    const reading = target$.subscribe();
    expect(running.closed).toBe(false);
    reading.unsubscribe();
    expect(running.closed).toBe(true);
  });

  it('ends by itself, and leaves its target as it is', () => {
    const target$ = new Observable<never>((target: Subscriber<never>) => {
      feed(NEVER, target, ignored).unsubscribe();
      expect(target.closed).toBe(false);
    });
    target$.subscribe().unsubscribe();
    expect.assertions(1);
  });
});
