import { merge, Subject, tap } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { stallTimeout } from '../../lib/operators/stall-timeout.ts';
import { marbles } from './marbles.ts';

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
      const error = stalled('nothing came within 5 ms');
      expectObservable(source$.pipe(stallTimeout(limits))).toBe(expected, undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('fails when nothing follows in time', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('--a-b---------c-|');
      const subs = '        ^-------!        ';
      const expected = '    --a-b---#        ';
      const error = stalled('nothing more came for 4 ms');
      expectObservable(source$.pipe(stallTimeout(limits))).toBe(expected, undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('fails when the end does not come in time', () => {
    marbles(({ cold, expectObservable }) => {
      const error = stalled('nothing more came for 4 ms');
      expectObservable(cold('a-----|').pipe(stallTimeout(limits))).toBe('a---#', undefined, error);
    });
  });

  it('measures only what it is told to', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('--a-------b|').pipe(stallTimeout({ firstMs: 5 }))).toBe('--a-------b|');
      expectObservable(cold('------------').pipe(stallTimeout({}))).toBe('------------');
      const first = stalled('nothing came within 4 ms');
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
      const error = stalled('nothing more came for 4 ms');
      expectObservable(source$.pipe(stallTimeout(limits))).toBe('--(ba)#', undefined, error);
    });
  });
});
