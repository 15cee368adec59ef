import { BehaviorSubject, concat, NEVER, of, range, Subject, take } from 'rxjs';
import { gate } from '../../lib/stream/gate.ts';
import { marbles } from '../operators/marbles.ts';

const flags = { t: true, f: false };
const ample = { limit: 100, onDrop: () => undefined };

describe('gate', () => {
  it('holds values while it is shut, releases them in order, and shuts again', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a--b-c------d-|');
      const subs = '        ^--------------!';
      const open$ = cold('  t-f-----t-------', flags);
      const expected = '    -a------(bc)-d-|';
      expectObservable(source$.pipe(gate(open$, ample))).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(open$.subscriptions).toBe(subs);
    });
  });

  it('lets completion wait behind what is held', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a-|      ');
      const open$ = cold('  ------t   ', flags);
      const expected = '    ------(a|)';
      expectObservable(source$.pipe(gate(open$, ample))).toBe(expected);
      expectObservable(cold('--|').pipe(gate(cold('----t', flags), ample))).toBe('----|');
    });
  });

  it('passes an error of the source or of the gate at once, drops what is held and lets go of the other', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const failing$ = cold('-a-#');
      const open$ = cold('   -----t', flags);
      expectObservable(failing$.pipe(gate(open$, ample))).toBe('---#');
      expectSubscriptions(open$.subscriptions).toBe('^--!');
      const source$ = cold('-a----b');
      expectObservable(source$.pipe(gate(cold('---#'), ample))).toBe('---#');
      expectSubscriptions(source$.subscriptions).toBe('^--!');
    });
  });

  it('stays as it is when the gate completes', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-a--b-|').pipe(gate(cold('--(t|)', flags), ample))).toBe('--a-b-|');
      expectObservable(cold('-a--b-|').pipe(gate(cold('--(f|)', flags), ample))).toBe('------|');
      expectObservable(cold('-a--b-|').pipe(gate(cold('---|', flags), ample))).toBe('------|');
    });
  });

  it('waits for ever before a gate that says nothing, or for a source that does', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-a-|').pipe(gate(NEVER, ample))).toBe('----');
      expectObservable(NEVER.pipe(gate(cold('t', flags), ample))).toBe('----');
    });
  });

  it('tells what its bound drops, the oldest first', () => {
    const told: (readonly string[])[] = [];
    marbles(({ cold, expectObservable, flush }) => {
      const bound = { limit: 2, onDrop: (dropped: readonly string[]) => told.push(dropped) };
      expectObservable(cold('abcd--').pipe(gate(cold('-----t', flags), bound))).toBe('-----(cd)');
      flush();
    });
    expect(told).toEqual([['a'], ['b']]);
  });

  it('fails with what onDrop throws, and lets go of both', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const full = new Error('full');
      const onDrop = (): never => {
        throw full;
      };
      const source$ = cold('-a-b-c-');
      const open$ = cold('  -------t', flags);
      const subs = '        ^--!';
      expectObservable(source$.pipe(gate(open$, { limit: 1, onDrop }))).toBe('---#', undefined, full);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(open$.subscriptions).toBe(subs);
    });
  });

  it('lets go of both when it is unsubscribed, and of an endless source within subscribe', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-');
      const open$ = cold('  ----t', flags);
      expectObservable(source$.pipe(gate(open$, ample)), '^--!').toBe('----');
      expectSubscriptions(source$.subscriptions).toBe('^--!');
      expectSubscriptions(open$.subscriptions).toBe('^--!');
    });
    const seen: number[] = [];
    range(0, Number.MAX_SAFE_INTEGER)
      .pipe(gate(concat(of(true), NEVER), ample), take(2))
      .subscribe((value) => seen.push(value));
    expect(seen).toEqual([0, 1]);
  });

  it('stops a release that shuts it, and queues what comes meanwhile (re-entrancy)', () => {
    const source$ = new Subject<string>();
    const open$ = new BehaviorSubject(false);
    const seen: string[] = [];
    source$.pipe(gate(open$, ample)).subscribe((value) => {
      seen.push(value);
      if (value === 'a') source$.next('d');
      if (value === 'b') open$.next(false);
    });
    for (const value of ['a', 'b', 'c']) source$.next(value);
    open$.next(true);
    expect(seen).toEqual(['a', 'b']);
    open$.next(true);
    expect(seen).toEqual(['a', 'b', 'c', 'd']);
  });
});
