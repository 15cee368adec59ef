import { Subject } from 'rxjs';
import { filterMap } from '../../lib/stream/filter-map.ts';
import { marbles } from '../operators/marbles.ts';

const half = (text: string): string | undefined => (Number(text) % 2 === 0 ? String(Number(text) / 2) : undefined);

describe('filterMap', () => {
  it('emits what the function makes of each value, unless that is undefined', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('--4--3--8--|');
      expectObservable(source$.pipe(filterMap(half))).toBe('--2-----4--|');
      expectSubscriptions(source$.subscriptions).toBe('^----------!');
    });
  });

  it('keeps other empty values', () => {
    const told: unknown[] = [];
    const source$ = new Subject<unknown>();
    source$.pipe(filterMap((value) => value)).subscribe((value) => told.push(value));
    for (const value of [0, '', false, null, undefined]) source$.next(value);
    expect(told).toEqual([0, '', false, null]);
  });

  it('passes an error of the source, and one of the function', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('--4--#');
      expectObservable(source$.pipe(filterMap(half))).toBe('--2--#');
      const failing$ = hot('--4--4--|');
      const broken = filterMap(() => {
        throw new Error('broken');
      });
      expectObservable(failing$.pipe(broken)).toBe('--#', {}, new Error('broken'));
      expectSubscriptions(failing$.subscriptions).toBe('^-!');
    });
  });

  it('completes after an error that somebody takes', () => {
    const errors: unknown[] = [];
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('--4--#');
      expectObservable(source$.pipe(filterMap(half, (error) => errors.push(error)))).toBe('--2--|');
      expectSubscriptions(source$.subscriptions).toBe('^----!');
    });
    expect(errors).toEqual(['error']);
  });

  it('lets go of the source when it is unsubscribed from', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('--4--4--');
      expectObservable(source$.pipe(filterMap(half)), '^---!').toBe('--2--');
      expectSubscriptions(source$.subscriptions).toBe('^---!');
    });
  });
});
