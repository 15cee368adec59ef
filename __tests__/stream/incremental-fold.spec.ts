import { from, Subject } from 'rxjs';
import { incrementalFold } from '../../lib/stream/incremental-fold.ts';
import { marbles } from '../operators/marbles.ts';

/** The running sum, told as often as a value says. */
const sums = incrementalFold<number, number, number>(
  0,
  (sum, value) => [sum + value, ...Array.from({ length: value }, () => sum + value)],
  (sum) => [-sum],
);

describe('incrementalFold', () => {
  it('emits the effects of each step in order, and the last ones at the end', () => {
    const effects: number[] = [];
    from([2, 0, 1])
      .pipe(sums)
      .subscribe((effect) => effects.push(effect));
    expect(effects).toEqual([2, 2, 3, -3]);
  });

  it('starts anew for each subscription', () => {
    const effects: number[] = [];
    const source$ = from([1]).pipe(sums);
    for (let time = 0; time < 2; time++) source$.subscribe((effect) => effects.push(effect));
    expect(effects).toEqual([1, -1, 1, -1]);
  });

  it('delivers the effects of a step before it takes an input that they have caused', () => {
    const inputs$ = new Subject<number>();
    const effects: number[] = [];
    inputs$.pipe(sums).subscribe((effect) => {
      if (effects.length === 0) inputs$.next(1);
      effects.push(effect);
    });
    inputs$.next(2);
    expect(effects).toEqual([2, 2, 3]);
  });

  it('passes errors at once, without last effects, and unsubscribes', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold<number>('-a-#', { a: 1 });
      expectObservable(source$.pipe(sums)).toBe('-a-#', { a: 1 });
      expectSubscriptions(source$.subscriptions).toBe('^--!');
    });
  });
});
