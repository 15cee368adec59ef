import { Subject } from 'rxjs';
import { firstWhere } from '../../lib/stream/first-where.ts';
import { marbles } from '../operators/marbles.ts';

const isEven = (text: string): boolean => Number(text) % 2 === 0;

describe('firstWhere', () => {
  it('emits the first value that matches, completes, and lets go of the source', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('--1--4--6--|');
      expectObservable(source$.pipe(firstWhere(isEven))).toBe('-----(4|)');
      expectSubscriptions(source$.subscriptions).toBe('^----!');
    });
  });

  it('completes with a source in which nothing matches, and passes its error', () => {
    marbles(({ hot, expectObservable }) => {
      expectObservable(hot('--1--3--|').pipe(firstWhere(isEven))).toBe('--------|');
      expectObservable(hot('--1--#').pipe(firstWhere(isEven))).toBe('-----#');
    });
  });

  it('fails when the test does', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('--1--2--|');
      const broken = firstWhere(() => {
        throw new Error('broken');
      });
      expectObservable(source$.pipe(broken)).toBe('--#', {}, new Error('broken'));
      expectSubscriptions(source$.subscriptions).toBe('^-!');
    });
  });

  it('emits once, even if the value brings another', () => {
    const told: string[] = [];
    const source$ = new Subject<string>();
    source$.pipe(firstWhere(isEven)).subscribe((value) => {
      told.push(value);
      if (told.length < 3) source$.next('4');
    });
    source$.next('2');
    expect(told).toEqual(['2']);
  });

  it('lets go of the source when it is unsubscribed from', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('--1--4--');
      expectObservable(source$.pipe(firstWhere(isEven)), '^--!').toBe('---');
      expectSubscriptions(source$.subscriptions).toBe('^--!');
    });
  });
});
