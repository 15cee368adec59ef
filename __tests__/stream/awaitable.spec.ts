import { EMPTY, finalize, Observable, of, Subject, throwError } from 'rxjs';
import { awaitable, started } from '../../lib/stream/awaitable.ts';

/** A source that is told what to emit, and counts its subscriptions. */
function told() {
  const source$ = new Subject<string>();
  const counts = { all: 0, open: 0 };
  const counted$ = new Observable<string>((subscriber) => {
    counts.all += 1;
    counts.open += 1;
    return source$.pipe(finalize(() => (counts.open -= 1))).subscribe(subscriber);
  });
  return { source$, counts, counted$ };
}
const never = (error: unknown): never => {
  throw error;
};

describe('awaitable', () => {
  it('gives its last value, its error, or says that there was none', async () => {
    expect(await awaitable(of('a', 'b'))).toBe('b');
    const failure = new Error('failed');
    await expect(Promise.resolve(awaitable(throwError(() => failure)))).rejects.toBe(failure);
    await expect(Promise.resolve(awaitable(EMPTY))).rejects.toMatchObject({ name: 'EmptyError' });
  });

  it('is a stream, which nobody subscribes to before it is awaited', async () => {
    const { source$, counts, counted$ } = told();
    const stream$ = awaitable(counted$);
    const seen: string[] = [];
    stream$.subscribe((value) => seen.push(value));
    const result = stream$.then((value) => `${value}!`);
    expect(counts.all).toBe(2);
    source$.next('a');
    source$.complete();
    expect([await result, seen]).toEqual(['a!', ['a']]);
    expect(awaitable(told().counted$)).toBeInstanceOf(Observable);
  });
});

describe('started', () => {
  it('subscribes at once, and once for all', () => {
    const { source$, counts, counted$ } = told();
    const stream$ = started(counted$, never);
    expect(counts).toEqual({ all: 1, open: 1 });
    source$.next('a');
    source$.complete();
    const seen: string[] = [];
    for (let count = 0; count < 2; count++) stream$.subscribe((value) => seen.push(value));
    expect([seen, counts]).toEqual([['a', 'a'], { all: 1, open: 0 }]);
  });

  it('goes on until the last subscriber leaves, and begins again with the next', () => {
    const { counts, counted$ } = told();
    const stream$ = started(counted$, never);
    const subscriptions = [stream$.subscribe(), stream$.subscribe()];
    subscriptions[0]?.unsubscribe();
    expect(counts.open).toBe(1);
    subscriptions[1]?.unsubscribe();
    expect(counts).toEqual({ all: 1, open: 0 });
    stream$.subscribe();
    expect(counts).toEqual({ all: 2, open: 1 });
  });

  it('tells an error to those who listen, now or later, and that nobody listened', () => {
    const unheard: string[] = [];
    const heard: string[] = [];
    const listen = (stream$: Observable<string>): unknown =>
      stream$.subscribe({ error: (error: unknown) => heard.push(String(error)) });
    const late = told();
    const late$ = started(late.counted$, (error) => unheard.push(String(error)));
    late.source$.error(new Error('late'));
    listen(late$);
    expect([unheard, heard]).toEqual([['Error: late'], ['Error: late']]);
    const early = told();
    listen(started(early.counted$, (error) => unheard.push(String(error))));
    early.source$.error(new Error('early'));
    expect([unheard, heard]).toEqual([['Error: late'], ['Error: late', 'Error: early']]);
  });
});
