import { BehaviorSubject, concat, dematerialize, materialize, NEVER, of, Subject, take } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { holdUntil } from '../../lib/stream/hold-until.ts';
import { marbles } from '../operators/marbles.ts';

describe('holdUntil', () => {
  it('holds values, releases them in order and lets the rest through', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b----------c--d-|');
      const subs = '        ^------------------!';
      const gate$ = cold('  -------g-----g------');
      const gateSubs = '    ^------!            ';
      const expected = '    -------(ab)---c--d-|';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(gate$.subscriptions).toBe(gateSubs);
    });
  });

  it('lets everything through once the gate has opened before the first value', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('---a--b-|');
      const gate$ = cold('  -g-|     ');
      const expected = '    ---a--b-|';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
    });
  });

  it('lets a synchronous source through a gate that is open from the start', () => {
    marbles(({ expectObservable }) => {
      expectObservable(of('a', 'b').pipe(holdUntil(of(true)))).toBe('(ab|)');
    });
  });

  it('lets completion wait for the gate', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-|           ');
      const subs = '        ^----!           ';
      const gate$ = cold('  ---------g--     ');
      const gateSubs = '    ^--------!       ';
      const expected = '    ---------(ab|)   ';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(gate$.subscriptions).toBe(gateSubs);
    });
  });

  it('lets the completion of an empty source wait too', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('--|       ');
      const gate$ = cold('  -----g    ');
      const expected = '    -----|    ';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
    });
  });

  it('passes an error of the source at once and drops what is held', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-#     ');
      const gate$ = cold('  --------g--');
      const gateSubs = '    ^----!     ';
      const expected = '    -----#     ';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
      expectSubscriptions(gate$.subscriptions).toBe(gateSubs);
    });
  });

  it('lets the error of a materialized source wait', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a-b-#         ');
      const gate$ = cold('  --------g--    ');
      const expected = '    --------(ab#)  ';
      expectObservable(source$.pipe(materialize(), holdUntil(gate$), dematerialize())).toBe(expected);
    });
  });

  it('passes an error of the gate and lets go of the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b---c---|');
      const subs = '        ^----!      ';
      const gate$ = cold('  -----#      ');
      const expected = '    -----#      ';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('passes an error that comes after the gate has opened', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a-----b-#');
      const gate$ = cold('  ---g      ');
      const expected = '    ---a---b-#';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
    });
  });

  it('never opens for a gate that completes without a value', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a---b---|');
      const gate$ = cold('  ---|      ');
      const expected = '    ---------|';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
    });
  });

  it('completes, empty, when the source has and the gate never will open', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a-|   ');
      const gate$ = cold('  -----| ');
      const expected = '    -----| ';
      expectObservable(source$.pipe(holdUntil(gate$))).toBe(expected);
    });
  });

  it('holds for ever before a gate that never opens', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-a-b-|').pipe(holdUntil(NEVER))).toBe('------');
      expectObservable(cold('------').pipe(holdUntil(cold('--g')))).toBe('------');
    });
  });

  it('lets go of both as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-d-|');
      const gate$ = cold('  ------g   ');
      const unsub = '       ----!     ';
      const subs = '        ^---!     ';
      const expected = '    -----     ';
      expectObservable(source$.pipe(holdUntil(gate$)), unsub).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
      expectSubscriptions(gate$.subscriptions).toBe(subs);
    });
  });

  it('releases no more than is wanted', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-d-|');
      const gate$ = cold('  ------g   ');
      const subs = '        ^-----!   ';
      const expected = '    ------(ab|)';
      expectObservable(source$.pipe(holdUntil(gate$), take(2))).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('refuses to hold more than its limit', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-|');
      const subs = '        ^----! ';
      const gate$ = cold('  ------g');
      const expected = '    -----# ';
      const overflow = new VoiceError(
        'holdUntil holds 2 values behind a shut gate: raise limit, or open the gate sooner',
        {
          code: 'overflow',
        },
      );
      expectObservable(source$.pipe(holdUntil(gate$, { limit: 2 }))).toBe(expected, undefined, overflow);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('has no limit on what passes after the gate has opened', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a-b------(cdef)|');
      const gate$ = cold('  ----g            ');
      const expected = '    ----(ab)--(cdef)|';
      expectObservable(source$.pipe(holdUntil(gate$, { limit: 2 }))).toBe(expected);
    });
  });

  it('queues what the source says during the release behind it (re-entrancy)', () => {
    const source$ = new Subject<string>();
    const gate$ = new Subject<void>();
    const seen: string[] = [];
    source$.pipe(holdUntil(gate$)).subscribe((value) => {
      seen.push(value);
      if (value === 'a') source$.next('c');
    });
    source$.next('a');
    source$.next('b');
    gate$.next();
    source$.next('d');
    expect(seen).toEqual(['a', 'b', 'c', 'd']);
  });

  it('stops releasing when a value makes its reader leave (re-entrancy)', () => {
    const gate$ = new BehaviorSubject(0);
    const seen: string[] = [];
    const stop$ = new Subject<void>();
    concat(of('a', 'b'), NEVER)
      .pipe(holdUntil(gate$), take(1))
      .subscribe({
        next: (value) => {
          seen.push(value);
          stop$.next();
        },
      });
    expect(seen).toEqual(['a']);
    expect(gate$.observed).toBe(false);
  });
});
