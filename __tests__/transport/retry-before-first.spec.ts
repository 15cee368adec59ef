import { asyncScheduler, defer, throwError } from 'rxjs';
import { TestScheduler, type RunHelpers } from 'rxjs/testing';
import { VoiceError } from '../../lib/core/errors.ts';
import { retryBeforeFirst, type RetryOptions } from '../../lib/transport/retry-before-first.ts';

function run(test: (helpers: RunHelpers) => void): void {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);
}
const failure = (retryAfterMs?: number): VoiceError =>
  new VoiceError('failed', { code: 'server', recoverable: true, retryAfterMs });
/** The longest waits that the jitter allows, to within a millisecond. */
const longest: RetryOptions = { scheduler: asyncScheduler, random: () => 1 };

describe('retryBeforeFirst', () => {
  it('tries twice more, after up to 500 ms and 1 s, then hands on the last error', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure();
      const source$ = cold('--#', undefined, error);
      expectObservable(source$.pipe(retryBeforeFirst(longest))).toBe('2ms 500ms 2ms 1s 2ms #', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(['^-!', '502ms ^-!', '1504ms ^-!']);
    });
  });

  it('spreads its tries over the whole wait', () => {
    run(({ cold, expectObservable }) => {
      const error = failure();
      const source$ = cold('#', undefined, error).pipe(retryBeforeFirst({ ...longest, random: () => 0.5 }));
      expectObservable(source$).toBe('250ms 500ms #', undefined, error);
      const eager$ = cold('#', undefined, error).pipe(retryBeforeFirst({ ...longest, random: () => 0 }));
      expectObservable(eager$).toBe('#', undefined, error);
    });
  });

  it('does not try again once something was emitted: it would be spoken twice', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure();
      const source$ = cold('-a-#', undefined, error);
      expectObservable(source$.pipe(retryBeforeFirst(longest))).toBe('-a-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^--!');
    });
  });

  it('does not try again what is not recoverable', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const error = new VoiceError('no', { code: 'unauthorized' });
      const source$ = cold('-#', undefined, error);
      expectObservable(source$.pipe(retryBeforeFirst(longest))).toBe('-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('does not try again what its user does not want to', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure();
      const source$ = cold('-#', undefined, error);
      const shouldRetry = ({ code }: VoiceError): boolean => code !== 'server';
      expectObservable(source$.pipe(retryBeforeFirst({ ...longest, shouldRetry }))).toBe('-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('goes on with what a later try gives', () => {
    run(({ cold, expectObservable }) => {
      const tries = [cold('-#', undefined, failure()), cold('-a-|')];
      const source$ = defer(() => tries.shift() ?? throwError(() => failure()));
      expectObservable(source$.pipe(retryBeforeFirst(longest))).toBe('501ms -a-|');
    });
  });

  it('waits exactly as long as the service asks', () => {
    run(({ cold, expectObservable }) => {
      const tries = [cold('-#', undefined, failure(1_000)), cold('a|')];
      const source$ = defer(() => tries.shift() ?? throwError(() => failure()));
      expectObservable(source$.pipe(retryBeforeFirst({ ...longest, random: () => 0 }))).toBe('- 1s a|');
    });
  });

  it('fails at once, with the wait in the error, when the service asks for more than the budget', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure(600_000);
      const source$ = cold('-#', undefined, error);
      expectObservable(source$.pipe(retryBeforeFirst(longest))).toBe('-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('counts all waits against the budget', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure(600);
      const source$ = cold('#', undefined, error);
      expectObservable(source$.pipe(retryBeforeFirst({ ...longest, budgetMs: 1_000 }))).toBe(
        '600ms #',
        undefined,
        error,
      );
      expectSubscriptions(source$.subscriptions).toBe(['(^!)', '600ms (^!)']);
    });
  });

  it('ends a wait when it is unsubscribed', () => {
    run(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-#', undefined, failure());
      expectObservable(source$.pipe(retryBeforeFirst(longest)), '^ 99ms !').toBe('');
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('tells of each error that it tries again', () => {
    const told: unknown[] = [];
    run(({ cold, expectObservable, flush }) => {
      const error = failure();
      const onRetry = ({ code }: VoiceError, delayMs: number): unknown => told.push([code, delayMs]);
      const source$ = cold('#', undefined, error).pipe(retryBeforeFirst({ ...longest, onRetry }));
      expectObservable(source$).toBe('1500ms #', undefined, error);
      flush();
    });
    expect(told).toEqual([
      ['server', 500],
      ['server', 1_000],
    ]);
  });

  it('wraps what is no error of the library, and does not try it again', () => {
    const errors: unknown[] = [];
    throwError(() => new TypeError('a bug'))
      .pipe(retryBeforeFirst())
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toMatchObject([{ code: 'internal', message: 'a bug' }]);
  });
});
