import { EMPTY, from, of, range, Subject, take, toArray, type Observable } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { mapInOrder } from '../../lib/stream/map-in-order.ts';
import { marbles } from '../operators/marbles.ts';

const pick =
  (inner: Readonly<Record<string, Observable<string>>>) =>
  (key: string): Observable<string> =>
    inner[key] ?? EMPTY;

describe('mapInOrder', () => {
  it('has two under way and passes their results on in the order of the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold(' -a--b---c----|      ');
      const a$ = cold('       ----1---2|         ');
      const aSubs = '        -^--------!         ';
      const b$ = cold('          -4-5|           ');
      const bSubs = '        ----^---!           ';
      const c$ = cold('                ----6---7|');
      const cSubs = '        ----------^--------!';
      const expected = '     -----1---2(45)6---7|';
      expectObservable(source$.pipe(mapInOrder(pick({ a: a$, b: b$, c: c$ }), 2))).toBe(expected);
      expectSubscriptions(a$.subscriptions).toBe(aSubs);
      expectSubscriptions(b$.subscriptions).toBe(bSubs);
      expectSubscriptions(c$.subscriptions).toBe(cSubs);
    });
  });

  it('passes on at once what the first in order brings', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold(' a|          ');
      const a$ = cold('      -1-2-3|     ');
      const expected = '     -1-2-3|     ';
      expectObservable(source$.pipe(mapInOrder(pick({ a: a$ }), 2))).toBe(expected);
    });
  });

  it('says an error of a later one in its turn, after all that comes before it', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold(' (ab)          ');
      const a$ = cold('      -----1-|      ');
      const b$ = cold('      -2#           ');
      const bSubs = '        ^-!           ';
      const expected = '     -----1-(2#)   ';
      expectObservable(source$.pipe(mapInOrder(pick({ a: a$, b: b$ }), 2))).toBe(expected);
      expectSubscriptions(b$.subscriptions).toBe(bSubs);
    });
  });

  it('ends the others when one fails', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold(' (ab)      ');
      const sourceSubs = '   ^--!      ';
      const a$ = cold('      ---#      ');
      const b$ = cold('      ---------|');
      const bSubs = '        ^--!      ';
      expectObservable(source$.pipe(mapInOrder(pick({ a: a$, b: b$ }), 2))).toBe('---#');
      expectSubscriptions(b$.subscriptions).toBe(bSubs);
      expectSubscriptions(source$.subscriptions).toBe(sourceSubs);
    });
  });

  it('says an error of the source at once', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold(' a--#      ');
      const a$ = cold('      -1---2-3| ');
      const aSubs = '        ^--!      ';
      expectObservable(source$.pipe(mapInOrder(pick({ a: a$ }), 2))).toBe('-1-#');
      expectSubscriptions(a$.subscriptions).toBe(aSubs);
    });
  });

  it('ends everything when it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold(' (ab)-----c');
      const a$ = cold('      -1--------');
      const b$ = cold('      --2-------');
      const subs = '         ^---!     ';
      expectObservable(source$.pipe(mapInOrder(pick({ a: a$, b: b$ }), 2)), subs).toBe('-1---');
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(a$.subscriptions).toBe(subs);
      expectSubscriptions(b$.subscriptions).toBe(subs);
    });
  });

  it('waits for the last one after the source has ended', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold(' a|     ');
      const a$ = cold('      ---1--|');
      expectObservable(source$.pipe(mapInOrder(pick({ a: a$ }), 2))).toBe('---1--|');
      expectObservable(EMPTY.pipe(mapInOrder(pick({}), 2))).toBe('|');
    });
  });

  it('takes synchronous ones in order, any number of them', () => {
    const results: number[][] = [];
    range(0, 500)
      .pipe(
        mapInOrder((value) => from([value, value]), 3),
        toArray(),
      )
      .subscribe((all) => results.push(all));
    expect(results).toEqual([Array.from({ length: 1000 }, (_, index) => index >> 1)]);
  });

  it('keeps the order when a listener makes the source go on', () => {
    const source$ = new Subject<number>();
    const seen: number[] = [];
    source$.pipe(mapInOrder((value) => of(value, value + 0.5), 2)).subscribe((value) => {
      seen.push(value);
      if (value === 1) source$.next(2);
    });
    source$.next(1);
    expect(seen).toEqual([1, 1.5, 2, 2.5]);
  });

  it('starts nothing more once a listener has had enough', () => {
    let started = 0;
    range(0, 10)
      .pipe(
        mapInOrder((value) => {
          started++;
          return of(value);
        }, 2),
        take(2),
      )
      .subscribe();
    expect(started).toBe(2);
  });

  it('bounds what waits', () => {
    const errors: unknown[] = [];
    range(0, 20_000)
      .pipe(mapInOrder(() => new Subject(), 2))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors.map((error) => VoiceError.is(error) && error.code)).toEqual(['overflow']);
  });

  it('passes results that are undefined, in their turn too', () => {
    const [first$, second$] = [new Subject<string | undefined>(), new Subject<string | undefined>()];
    const seen: unknown[] = [];
    of(first$, second$)
      .pipe(mapInOrder((inner$) => inner$, 2))
      .subscribe({ next: (result) => seen.push(result), complete: () => seen.push('complete') });
    for (const result of [undefined, 'b']) second$.next(result);
    first$.next('a');
    first$.complete();
    second$.complete();
    expect(seen).toEqual(['a', undefined, 'b', 'complete']);
  });
});
