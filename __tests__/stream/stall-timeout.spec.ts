import { map, merge, Observable, range, startWith, Subject, take, tap, type Subscription } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { stallTimeout } from '../../lib/stream/stall-timeout.ts';
import { marbles } from '../operators/marbles.ts';
import { BlockedClock } from './blocked-clock.ts';
import { TestClock } from '../transport/test-clock.ts';

const stalled = (message: string): VoiceError => new VoiceError(message, { code: 'timeout', recoverable: true });
const limits = { firstMs: 5, idleMs: 4 };

describe('stallTimeout', () => {
  it('passes what comes in time', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('----a---b--c--|');
      const subs = '        ^-------------!';
      const expected = '    ----a---b--c--|';
      expectObservable(source$.pipe(stallTimeout(limits))).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('fails when the first value does not come in time, and lets go of the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('------a-|');
      const subs = '        ^----!   ';
      const expected = '    -----#   ';
      const error = stalled('nothing arrived within 5 ms');
      expectObservable(source$.pipe(stallTimeout(limits))).toBe(expected, undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('fails when nothing follows in time', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('--a-b---------c-|');
      const subs = '        ^-------!        ';
      const expected = '    --a-b---#        ';
      const error = stalled('nothing more arrived for 4 ms');
      expectObservable(source$.pipe(stallTimeout(limits))).toBe(expected, undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('fails when the end does not come in time', () => {
    marbles(({ cold, expectObservable }) => {
      const error = stalled('nothing more arrived for 4 ms');
      expectObservable(cold('a-----|').pipe(stallTimeout(limits))).toBe('a---#', undefined, error);
    });
  });

  it('measures only what it is asked to', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('--a-------b|').pipe(stallTimeout({ firstMs: 5 }))).toBe('--a-------b|');
      expectObservable(cold('------------').pipe(stallTimeout({}))).toBe('------------');
      const first = stalled('nothing arrived within 4 ms');
      expectObservable(cold('-----a').pipe(stallTimeout({ idleMs: 4 }))).toBe('----#', undefined, first);
    });
  });

  it('passes an error of the source at once', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-#');
      const subs = '        ^--!';
      expectObservable(source$.pipe(stallTimeout(limits))).toBe('-a-#');
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('says what it is told to', () => {
    marbles(({ cold, expectObservable }) => {
      const error = (phase: string, ms: number): Error => new Error(`${phase} ${ms}`);
      expectObservable(cold('---').pipe(stallTimeout({ ...limits, error }))).toBe(
        '-----#',
        undefined,
        new Error('first 5'),
      );
      expectObservable(cold('a--').pipe(stallTimeout({ ...limits, error }))).toBe(
        'a---#',
        undefined,
        new Error('idle 4'),
      );
    });
  });

  it('stops its clock when it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a------');
      const unsub = '       ---!    ';
      const subs = '        ^--!    ';
      expectObservable(source$.pipe(stallTimeout(limits)), unsub).toBe('-a--');
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('completes with an empty source', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('--|').pipe(stallTimeout(limits))).toBe('--|');
    });
  });

  it('takes a value that comes during another one for progress (re-entrancy)', () => {
    marbles(({ cold, expectObservable }) => {
      const more$ = new Subject<string>();
      const source$ = merge(
        cold('--a').pipe(
          tap(() => {
            more$.next('b');
          }),
        ),
        more$,
      );
      const error = stalled('nothing more arrived for 4 ms');
      expectObservable(source$.pipe(stallTimeout(limits))).toBe('--(ba)#', undefined, error);
    });
  });

  it('serves what comes in the very last moment', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-----a---b----|').pipe(stallTimeout({ idleMs: 5 }))).toBe('-----a---b----|');
    });
  });

  it('lets go of an endless source within subscribe', () => {
    const seen: number[] = [];
    range(0, Number.MAX_SAFE_INTEGER)
      .pipe(stallTimeout(limits), take(2))
      .subscribe((value) => seen.push(value));
    expect(seen).toEqual([0, 1]);
  });

  it('restarts its wait only with what is progress', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const isProgress = (value: string): boolean => value !== '.';
      const source$ = cold('.-a.b..----');
      const subs = '        ^-------!  ';
      const expected = '    .-a.b..-#  ';
      const error = stalled('nothing more arrived for 4 ms');
      expectObservable(source$.pipe(stallTimeout({ ...limits, isProgress }))).toBe(expected, undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      const early = stalled('nothing arrived within 5 ms');
      expectObservable(cold('..........').pipe(stallTimeout({ ...limits, isProgress }))).toBe(
        '.....(.#)',
        undefined,
        early,
      );
    });
  });

  it('passes an error of isProgress on, and lets go of the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const failure = new Error('no such value');
      const isProgress = (): boolean => {
        throw failure;
      };
      const source$ = cold('-a-');
      expectObservable(source$.pipe(stallTimeout({ ...limits, isProgress }))).toBe('-#', undefined, failure);
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('asks each value for the limit after it: a state says how long it may last', () => {
    marbles(({ cold, expectObservable }) => {
      const idleMs = (state: string): number | undefined => ({ a: 8, b: 2 })[state];
      const error = (_: string, ms: number, last?: string): Error => new Error(`${last} for ${ms}`);
      const late = (message: string): Error => new Error(message);
      // `b` shortens the limit of `a`; `x` has none.
      expectObservable(cold('a--b----').pipe(stallTimeout({ idleMs, error }))).toBe(
        'a--b-#',
        undefined,
        late('b for 2'),
      );
      expectObservable(cold('b-a-----------').pipe(stallTimeout({ idleMs, error }))).toBe(
        'b-a-------#',
        undefined,
        late('a for 8'),
      );
      expectObservable(cold('-----b-x------------a|').pipe(stallTimeout({ idleMs, error }))).toBe(
        '-----b-x------------a|',
      );
    });
  });

  it('runs no timer while there is no limit, one for any number of values, and leaves none behind', async () => {
    const clock = new TestClock();
    const limit$ = new Subject<number | undefined>();
    const waiting: Subscription = limit$.pipe(stallTimeout({ idleMs: (ms) => ms, scheduler: clock })).subscribe();
    expect(clock.pending).toBe(0);
    for (let at = 0; at < 100; at++) limit$.next(50);
    expect(clock.pending).toBe(1);
    await clock.advance(49);
    limit$.next(undefined);
    expect(clock.pending).toBe(0);
    limit$.next(50);
    waiting.unsubscribe();
    expect(clock.pending).toBe(0);
  });

  it('sets and clears its timer after what it follows: neither a request, a value nor a cut waits for it', () => {
    const clock = new TestClock();
    const told: (readonly [string, number])[] = [];
    const tell = (what: string): void => void told.push([what, clock.pending]);
    const heard$ = new Subject<string>();
    const source$ = new Observable<string>((subscriber) => {
      tell('asked');
      subscriber.add(heard$.subscribe(subscriber));
      return () => tell('cut');
    });
    const idleMs = (value: string): number | undefined => (value === 'last' ? undefined : 50);
    const waiting = source$.pipe(stallTimeout({ firstMs: 50, idleMs, scheduler: clock })).subscribe(tell);
    heard$.next('last');
    heard$.next('one more');
    waiting.unsubscribe();
    expect(told).toEqual([
      ['asked', 0],
      ['last', 1],
      ['one more', 0],
      ['cut', 1],
    ]);
    expect(clock.pending).toBe(0);
  });

  it('waits on from what came last, on the timer that runs', async () => {
    const clock = new TestClock();
    const heard$ = new Subject<void>();
    const at: number[] = [];
    heard$.pipe(stallTimeout({ idleMs: 100, scheduler: clock })).subscribe({ error: () => at.push(clock.now()) });
    await clock.advance(80);
    heard$.next();
    await clock.advance(99);
    expect(at).toEqual([]);
    await clock.advance(1);
    expect(at).toEqual([180]);
  });

  it('restarts the wait with the new limit when what it waits for changes', async () => {
    const clock = new TestClock();
    const wait$ = new Subject<void>();
    const at: number[] = [];
    let limitMs = 100;
    wait$
      .pipe(
        startWith(undefined),
        map(() => limitMs),
        stallTimeout({ idleMs: (ms) => ms, scheduler: clock }),
      )
      .subscribe({ error: () => at.push(clock.now()) });
    await clock.advance(80);
    limitMs = 30;
    wait$.next();
    await clock.advance(30);
    expect(at).toEqual([110]);
  });

  it('F46: delivers what arrived while the event loop was blocked, then restarts the wait', async () => {
    const clock = new BlockedClock();
    const heard$ = new Subject<void>();
    const at: number[] = [];
    heard$.pipe(stallTimeout({ idleMs: 100, scheduler: clock })).subscribe({ error: () => at.push(clock.frame) });
    clock.lateMs = 500;
    // Due at 100, when the clock says 600: it is given 500 ms more.
    await clock.advance(580);
    heard$.next();
    await clock.advance(99);
    expect(at).toEqual([]);
    await clock.advance(1);
    expect(at).toEqual([680]);
  });

  it('F45: a clock that was set back does not prolong the wait, on a timer that began before what came last', async () => {
    const clock = new BlockedClock();
    const heard$ = new Subject<void>();
    const at: number[] = [];
    heard$.pipe(stallTimeout({ idleMs: 100, scheduler: clock })).subscribe({ error: () => at.push(clock.frame) });
    await clock.advance(80);
    heard$.next();
    clock.lateMs = -3_600_000;
    await clock.advance(99);
    expect(at).toEqual([]);
    await clock.advance(1);
    expect(at).toEqual([180]);
  });

  it('F45: what comes after the clock was set back restarts the wait by the new time', async () => {
    const clock = new BlockedClock();
    const heard$ = new Subject<void>();
    const at: number[] = [];
    heard$.pipe(stallTimeout({ idleMs: 100, scheduler: clock })).subscribe({ error: () => at.push(clock.frame) });
    await clock.advance(80);
    clock.lateMs = -3_600_000;
    heard$.next();
    await clock.advance(99);
    expect(at).toEqual([]);
    await clock.advance(1);
    expect(at).toEqual([180]);
  });
});
