import { concat, finalize, mergeMap, NEVER, of, range, Subject, take, throwError } from 'rxjs';
import { createLock } from '../../lib/stream/lock.ts';
import { marbles } from '../operators/marbles.ts';

describe('createLock', () => {
  it('lets one work at a time run, in the order of subscription', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const lock = createLock();
      const a$ = cold(' --1--|        ');
      const b$ = cold('      -2|      ');
      const c$ = cold('        --3|   ');
      expectObservable(lock.hold(a$)).toBe('--1--|');
      expectObservable(lock.hold(b$)).toBe('------2|');
      expectObservable(lock.hold(c$)).toBe('---------3|');
      expectSubscriptions(a$.subscriptions).toBe('^----!');
      expectSubscriptions(b$.subscriptions).toBe('-----^-!');
      expectSubscriptions(c$.subscriptions).toBe('-------^--!');
    });
  });

  it('lets as many run as its limit says', () => {
    marbles(({ cold, expectObservable }) => {
      const lock = createLock(2);
      expectObservable(lock.hold(cold('--1--|'))).toBe('--1--|');
      expectObservable(lock.hold(cold('-2|'))).toBe('-2|');
      expectObservable(lock.hold(cold('-3|'))).toBe('---3|');
    });
  });

  it('asks for its limit each time', () => {
    let limit = 1;
    const lock = createLock(() => limit);
    const started: string[] = [];
    const enter = (name: string): void => {
      const work$ = new Subject<never>();
      lock.hold(work$).subscribe();
      if (work$.observed) started.push(name);
    };
    enter('a');
    enter('b');
    limit = 3;
    enter('c');
    // The turn of `b` came first.
    expect(started).toEqual(['a', 'c']);
  });

  it('gives the turn of a failed one to the next', () => {
    marbles(({ cold, expectObservable }) => {
      const lock = createLock();
      expectObservable(lock.hold(cold('--#'))).toBe('--#');
      expectObservable(lock.hold(cold('-1|'))).toBe('---1|');
    });
  });

  it('gives the turn of an unsubscribed one to the next, and forgets one that leaves the queue', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const lock = createLock();
      const left$ = cold('-x|');
      expectObservable(lock.hold(cold('---------|')), '^---!').toBe('-----');
      expectObservable(lock.hold(left$), '^-!').toBe('---');
      expectObservable(lock.hold(cold('-1|'))).toBe('-----1|');
      expectSubscriptions(left$.subscriptions).toBe([]);
    });
  });

  it('starts the next one only after the last one is torn down: the old voice is silent before the new one speaks', () => {
    const lock = createLock();
    const told: string[] = [];
    const first = lock.hold(NEVER.pipe(finalize(() => told.push('silent')))).subscribe();
    lock.hold(of('speaks')).subscribe((value) => told.push(value));
    first.unsubscribe();
    expect(told).toEqual(['silent', 'speaks']);
  });

  it('is not confused by work that ends within subscribe, nor by one that its taker ends', () => {
    const lock = createLock();
    const seen: number[] = [];
    const works = [of(1), range(2, Number.MAX_SAFE_INTEGER).pipe(take(1)), concat(of(3), NEVER)];
    for (const work$ of works)
      lock
        .hold(work$)
        .pipe(take(1))
        .subscribe((each) => seen.push(each));
    lock.hold(throwError(() => new Error('failed'))).subscribe({ error: () => seen.push(4) });
    lock
      .hold(range(5, Number.MAX_SAFE_INTEGER))
      .pipe(take(1))
      .subscribe((each) => seen.push(each));
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('takes work that is asked for from within work (re-entrancy)', () => {
    const lock = createLock();
    const seen: string[] = [];
    const outer$ = lock.hold(concat(of('outer'), of('still outer')));
    outer$
      .pipe(mergeMap((value) => (value === 'outer' ? lock.hold(of('inner')) : of(value))))
      .subscribe((value) => seen.push(value));
    expect(seen).toEqual(['still outer', 'inner']);
  });
});
