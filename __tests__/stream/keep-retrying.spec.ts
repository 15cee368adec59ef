import { defer, NEVER, of, throwError } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { keepRetrying, type KeepRetryingOptions } from '../../lib/stream/keep-retrying.ts';
import type { Retry } from '../../lib/stream/retry-backoff.ts';
import { marbles } from '../operators/marbles.ts';

const even: KeepRetryingOptions = { initialMs: 2, maxMs: 4, jitter: 'none' };

describe('keepRetrying', () => {
  it('never gives up, whatever the error, and waits longer from one failure to the next, up to a limit', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-#', undefined, new VoiceError('refused for good', { code: 'forbidden' }));
      const subs = [
        '                   ^!                  ',
        '                   ---^!               ',
        '                   --------^!          ',
        '                   -------------^!     ',
      ];
      const unsub = '       ---------------!    ';
      const expected = '    ----------------    ';
      expectObservable(source$.pipe(keepRetrying(even)), unsub).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('starts over with the waits after a value', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const attempts$ = [cold('#'), cold('#'), cold('a#'), cold('b|')];
      const source$ = defer(() => attempts$.shift() ?? NEVER);
      const [first, second, third] = attempts$;
      const expected = '    ------a--b|';
      expectObservable(source$.pipe(keepRetrying(even))).toBe(expected);
      expectSubscriptions(first?.subscriptions ?? []).toBe('(^!)');
      expectSubscriptions(second?.subscriptions ?? []).toBe('--(^!)');
      expectSubscriptions(third?.subscriptions ?? []).toBe('------^!');
    });
  });

  it('passes an error unchanged that is not worth a retry', () => {
    marbles(({ expectObservable }) => {
      const [lost, over] = [new Error('lost'), new Error('over')];
      const shouldRetry = (error: unknown): boolean => error !== over;
      const attempts$ = [throwError(() => lost), throwError(() => over)];
      const source$ = defer(() => attempts$.shift() ?? NEVER);
      expectObservable(source$.pipe(keepRetrying({ ...even, shouldRetry }))).toBe('--#', undefined, over);
    });
  });

  it('tells of each retry before its wait', () => {
    const retries: Retry[] = [];
    const [one, two] = [new Error('one'), new Error('two')];
    marbles(({ expectObservable }) => {
      const attempts$ = [throwError(() => one), throwError(() => two), of('a')];
      const source$ = defer(() => attempts$.shift() ?? NEVER);
      const result$ = source$.pipe(keepRetrying({ ...even, onRetry: (retry) => retries.push(retry) }));
      expectObservable(result$).toBe('------(a|)');
    });
    expect(retries).toEqual([
      { error: one, attempt: 1, delayMs: 2 },
      { error: two, attempt: 2, delayMs: 4 },
    ]);
  });
});
