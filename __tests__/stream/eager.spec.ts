import { concat, EMPTY, NEVER, of, Subject, take, throwError, type Observable } from 'rxjs';
import { eager } from '../../lib/stream/eager.ts';

function taken<T>(source$: Observable<T>): unknown[] {
  const seen: unknown[] = [];
  eager(source$).stream$.subscribe({
    next: (value) => seen.push(value),
    error: (error: unknown) => seen.push(error),
    complete: () => seen.push('end'),
  });
  return seen;
}

describe('eager', () => {
  it('subscribes at once, and keeps what comes until somebody takes it', () => {
    const source$ = new Subject<string>();
    const seen: string[] = [];
    const { stream$ } = eager(source$);
    source$.next('a');
    source$.next('b');
    stream$.subscribe((value) => seen.push(value));
    expect(seen).toEqual(['a', 'b']);
    source$.next('c');
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  it('keeps the end of the source too: an error, a completion, or neither', () => {
    const failure = new Error('failed');
    expect(
      taken(
        concat(
          of(1),
          throwError(() => failure),
        ),
      ),
    ).toEqual([1, failure]);
    expect(taken(of(1))).toEqual([1, 'end']);
    expect(taken(EMPTY)).toEqual(['end']);
    expect(taken(NEVER)).toEqual([]);
  });

  it('gives nothing to a taker that has left, and leaves the source to its owner', () => {
    const source$ = new Subject<string>();
    const seen: string[] = [];
    const { stream$, source } = eager(source$);
    for (const value of ['a', 'b']) source$.next(value);
    stream$.pipe(take(1)).subscribe((value) => seen.push(value));
    source$.next('c');
    expect([seen, source$.observed]).toEqual([['a'], true]);
    source.unsubscribe();
    expect(source$.observed).toBe(false);
  });

  it('lets its owner end the source before anybody takes it', () => {
    const source$ = new Subject<string>();
    const { source } = eager(source$);
    source.unsubscribe();
    expect(source$.observed).toBe(false);
  });

  it('keeps the order when a value makes the source say more (re-entrancy)', () => {
    const source$ = new Subject<string>();
    const seen: string[] = [];
    const { stream$ } = eager(source$);
    for (const value of ['a', 'b']) source$.next(value);
    stream$.subscribe((value) => {
      seen.push(value);
      if (value === 'a') source$.next('c');
    });
    expect(seen).toEqual(['a', 'b', 'c']);
  });
});
