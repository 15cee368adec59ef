import { EMPTY, map, NEVER, Observable, of, repeat, Subject, take } from 'rxjs';
import { merge } from '../../lib/stream/merge.ts';
import { marbles } from '../operators/marbles.ts';

describe('merge', () => {
  it('emits what each source emits, and completes after the last of them', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const a$ = cold('      --1-----3--|');
      const b$ = cold('      ----2--|');
      const expected = '     --1-2---3--|';
      expectObservable(merge(a$, b$)).toBe(expected);
      expectSubscriptions(a$.subscriptions).toBe('^----------!');
      expectSubscriptions(b$.subscriptions).toBe('^------!');
    });
  });

  it('fails with the first that fails, and lets go of the others', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const a$ = cold('  --1-----3--|');
      const b$ = cold('  ----#');
      expectObservable(merge(a$, b$)).toBe('--1-#');
      expectSubscriptions(a$.subscriptions).toBe('^---!');
    });
  });

  it('lets go of all when it is unsubscribed from', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const a$ = cold('--1--');
      const b$ = cold('---2-');
      expectObservable(merge(a$, b$), '^---!').toBe('--12');
      expectSubscriptions(a$.subscriptions).toBe('^---!');
      expectSubscriptions(b$.subscriptions).toBe('^---!');
    });
  });

  it('completes at once without sources', () => {
    marbles(({ expectObservable }) => {
      expectObservable(merge()).toBe('|');
      expectObservable(merge(EMPTY, EMPTY)).toBe('|');
      expectObservable(merge(EMPTY, NEVER)).toBe('-');
    });
  });

  it('stops an endless source, and begins no other, as soon as nobody wants more', () => {
    let hasBegun = false;
    const late$ = new Observable(() => {
      hasBegun = true;
    });
    const seen: number[] = [];
    merge(of(7).pipe(repeat()), late$)
      .pipe(take(3))
      .subscribe((value) => seen.push(value as number));
    expect(seen).toEqual([7, 7, 7]);
    expect(hasBegun).toBe(false);
  });

  it('takes the error that a later stage throws for a failure, and lets go of its sources', () => {
    const source$ = new Subject<number>();
    const errors: unknown[] = [];
    const broken = map((): never => {
      throw new Error('broken');
    });
    merge(source$, NEVER)
      .pipe(broken)
      .subscribe({ error: (error: unknown) => errors.push(error) });
    source$.next(1);
    expect(errors).toEqual([new Error('broken')]);
    expect(source$.observed).toBe(false);
  });
});
