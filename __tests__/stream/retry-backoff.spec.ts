import { concat, defer, EMPTY, NEVER, of, Subject, take, throwError, timer, mergeMap } from 'rxjs';
import { VoiceError } from '../../lib/core/errors.ts';
import { isRecoverable } from '../../lib/stream/backoff.ts';
import { retryBackoff, type Retry, type RetryBackoffOptions } from '../../lib/stream/retry-backoff.ts';
import { requestRetries } from '../../lib/transport/http.ts';
import { marbles } from '../operators/marbles.ts';

const lost = (rest: { recoverable?: boolean; retryAfterMs?: number } = {}): VoiceError =>
  new VoiceError('line lost', { code: 'connection', recoverable: true, ...rest });
/** The error that the result ends with. */
const givenUp = (tries: number, cause: unknown = lost()): VoiceError =>
  new VoiceError(`line lost (given up after ${tries} ${tries === 1 ? 'retry' : 'retries'})`, {
    code: 'connection',
    ...{ cause, retryAfterMs: VoiceError.from(cause).retryAfterMs },
  });
const even = { initialMs: 4, factor: 2, maxMs: 10, jitter: 'none' } as const;

describe('retryBackoff', () => {
  it('waits longer from one failure to the next, up to a limit, and gives up', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-#', undefined, lost());
      const subs = [
        '                   ^!                                ',
        '                   -----^!                           ',
        '                   --------------^!                  ',
        '                   -------------------------^!       ',
      ];
      const expected = '    --------------------------#       ';
      const result$ = source$.pipe(retryBackoff({ ...even, maxTries: 3 }));
      expectObservable(result$).toBe(expected, undefined, givenUp(3));
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('passes values and completion', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-|');
      const subs = ['       ^----!'];
      const expected = '    -a-b-|';
      expectObservable(source$.pipe(retryBackoff())).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('continues with the values of the next attempt', () => {
    marbles(({ cold, expectObservable }) => {
      const tries = [cold('-a-#', undefined, lost()), cold('-b-c-|')];
      const source$ = defer(() => tries.shift() ?? EMPTY);
      const expected = '    -a------b-c-|';
      expectObservable(source$.pipe(retryBackoff(even))).toBe(expected);
    });
  });

  for (const retryAfterMs of [0, -5000]) {
    it(`waits as ever from the second retry on when the service always asks for ${retryAfterMs} ms`, () => {
      marbles(({ cold, expectObservable, expectSubscriptions }) => {
        const source$ = cold('-#', undefined, lost({ retryAfterMs }));
        const subs = [
          '                   ^!                            ',
          '                   -^!                           ',
          '                   ----------^!                  ',
          '                   ---------------------^!       ',
        ];
        const expected = '    ----------------------#       ';
        const result$ = source$.pipe(retryBackoff({ ...even, maxTries: 3 }));
        expectObservable(result$).toBe(expected, undefined, givenUp(3, lost({ retryAfterMs })));
        expectSubscriptions(source$.subscriptions).toBe(subs);
      });
    });
  }

  it('first retries within 250 ms, at random', () => {
    marbles(({ cold, expectObservable }) => {
      const tries = [throwError(() => lost()), cold('a|')];
      const source$ = defer(() => tries.shift() ?? EMPTY);
      expectObservable(source$.pipe(retryBackoff({ random: () => 0.5 }))).toBe('125ms a|');
    });
  });

  it('starts from the first wait after a success that lasted', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const tries = [cold('#', undefined, lost()), cold('a----#', undefined, lost()), cold('a|')];
      const source$ = defer(() => tries.shift() ?? EMPTY);
      const expected = '    ----a--------a|';
      expectObservable(source$.pipe(retryBackoff({ ...even, resetAfterMs: 5 }))).toBe(expected);
      expectSubscriptions([]).toBe([]);
    });
  });

  it('counts tries on after a success that did not last', () => {
    marbles(({ cold, expectObservable }) => {
      const tries = [cold('#', undefined, lost()), cold('a---#', undefined, lost()), cold('a|')];
      const source$ = defer(() => tries.shift() ?? EMPTY);
      const expected = '    ----a-----------a|';
      expectObservable(source$.pipe(retryBackoff({ ...even, resetAfterMs: 5 }))).toBe(expected);
    });
  });

  it('gives up a source that works, but never for long (F5)', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('a-#', undefined, lost());
      const subs = ['       ^-!', '      ------^-!', '      ----------------^-!'];
      const expected = '    a-----a---------a-#';
      const quickFailures = { count: 3, withinMs: 5 };
      expectObservable(source$.pipe(retryBackoff({ ...even, quickFailures }))).toBe(expected, undefined, givenUp(2));
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('waits as long as the service asks', () => {
    marbles(({ cold, expectObservable }) => {
      const tries = [throwError(() => lost({ retryAfterMs: 1000 })), cold('a|')];
      const source$ = defer(() => tries.shift() ?? EMPTY);
      expectObservable(source$.pipe(retryBackoff())).toBe('1s a|');
    });
  });

  it('ends a wait when it is woken, but not one that the service asked for', () => {
    for (const [error, expected] of [
      [lost(), '                         -----a|'],
      [lost({ retryAfterMs: 8 }), '      ---------a|'],
    ] as const) {
      marbles(({ cold, hot, expectObservable }) => {
        const tries = [cold('-#', undefined, error), cold('a|')];
        const wake$ = hot('w----w----w');
        const source$ = defer(() => tries.shift() ?? EMPTY);
        expectObservable(source$.pipe(retryBackoff({ initialMs: 20, jitter: 'none', wake$ }))).toBe(expected);
      });
    }
  });

  it('does not wait longer than is of use', () => {
    marbles(({ cold, expectObservable }) => {
      const error = lost({ retryAfterMs: 600_000 });
      const fatal = new VoiceError('line lost', { code: 'connection', retryAfterMs: 600_000, cause: error });
      expectObservable(cold('-#', undefined, error).pipe(retryBackoff())).toBe('-#', undefined, fatal);
    });
  });

  it('passes an error that is not recoverable as it is', () => {
    const error = lost({ recoverable: false });
    let failure: unknown;
    throwError(() => error)
      .pipe(retryBackoff())
      .subscribe({ error: (each: unknown) => (failure = each) });
    expect(failure).toBe(error);
  });

  it('lets shouldRetry decide, and set the wait', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-#', undefined, lost({ recoverable: false }));
      const subs = ['       ^!', '      ----^!'];
      const expected = '    -----#';
      let times = 0;
      const shouldRetry = (): boolean | number => (times++ === 0 ? 3 : false);
      const fatal = lost({ recoverable: false });
      expectObservable(source$.pipe(retryBackoff({ shouldRetry }))).toBe(expected, undefined, fatal);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('tells of each retry before its wait', () => {
    const retries: Retry[] = [];
    marbles(({ cold, expectObservable, flush }) => {
      const source$ = cold('#', undefined, lost());
      const result$ = source$.pipe(retryBackoff({ ...even, maxTries: 2, onRetry: (retry) => retries.push(retry) }));
      expectObservable(result$).toBe('------------#', undefined, givenUp(2));
      flush();
    });
    expect(retries).toEqual([
      { error: lost(), attempt: 1, delayMs: 4 },
      { error: lost(), attempt: 2, delayMs: 8 },
    ]);
  });

  it('starts over at once after an error that only asks for it, and does not count that', () => {
    const restart = new Error('restart');
    const retries: Retry[] = [];
    marbles(({ cold, expectObservable }) => {
      const tries = [...Array.from({ length: 5 }, () => cold('-#', undefined, restart)), cold('-#', undefined, lost())];
      const source$ = defer(() => tries.shift() ?? cold('-a-|'));
      const isRestart = (error: unknown): boolean => error === restart;
      // Five restarts of 1 ms, the failure 1 ms later, a wait of 4 ms.
      const expected = '    -----------a-|';
      const options = { ...even, maxTries: 1, isRestart, onRetry: (retry: Retry) => retries.push(retry) };
      expectObservable(source$.pipe(retryBackoff(options))).toBe(expected);
    });
    const told = retries.map(({ error, attempt, delayMs }) => [VoiceError.is(error), attempt, delayMs]);
    expect(told).toEqual([...Array.from({ length: 5 }, () => [false, 0, 0]), [true, 1, 4]]);
  });

  it('passes what onRetry throws', () => {
    marbles(({ cold, expectObservable }) => {
      const broken = (): void => {
        throw new Error('broken');
      };
      expectObservable(cold('-#').pipe(retryBackoff({ onRetry: broken }))).toBe('-#', undefined, new Error('broken'));
    });
  });

  it('ends a wait as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-#', undefined, lost());
      const unsub = '       ---!    ';
      const subs = ['       ^!      '];
      expectObservable(source$.pipe(retryBackoff(even)), unsub).toBe('----');
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-#');
      const unsub = '       --!   ';
      const subs = ['       ^-!   '];
      expectObservable(source$.pipe(retryBackoff(even)), unsub).toBe('-a-');
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('does nothing for a source that never fails', () => {
    marbles(({ expectObservable }) => {
      expectObservable(NEVER.pipe(retryBackoff())).toBe('-----');
      expectObservable(EMPTY.pipe(retryBackoff())).toBe('|');
    });
  });

  it('keeps one count for each subscription', () => {
    marbles(({ cold, expectObservable }) => {
      const result$ = cold('-#', undefined, lost()).pipe(retryBackoff({ ...even, maxTries: 1 }));
      expectObservable(result$).toBe('------#', undefined, givenUp(1));
      expectObservable(timer(3).pipe(mergeMap(() => result$))).toBe('---------#', undefined, givenUp(1));
    });
  });

  it('stops when a value makes its reader leave (re-entrancy)', () => {
    const source$ = new Subject<number>();
    let subscriptions = 0;
    const seen: number[] = [];
    defer(() => {
      subscriptions += 1;
      return concat(of(subscriptions), source$);
    })
      .pipe(retryBackoff(even), take(1))
      .subscribe((value) => seen.push(value));
    source$.error(lost());
    expect([seen, subscriptions]).toEqual([[1], 1]);
  });
});

const failure = (retryAfterMs?: number): VoiceError =>
  new VoiceError('failed', { code: 'server', recoverable: true, retryAfterMs });
/** The longest waits that the jitter allows, to within a millisecond. */
const longest: RetryBackoffOptions = { ...requestRetries, random: () => 1 };

describe('retryBackoff untilFirst', () => {
  it('tries twice more, after up to 500 ms and 1 s, then hands on the last error', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure();
      const source$ = cold('--#', undefined, error);
      expectObservable(source$.pipe(retryBackoff(longest))).toBe('2ms 500ms 2ms 1s 2ms #', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(['^-!', '502ms ^-!', '1504ms ^-!']);
    });
  });

  it('spreads its tries over the whole wait', () => {
    marbles(({ cold, expectObservable }) => {
      const error = failure();
      const source$ = cold('#', undefined, error).pipe(retryBackoff({ ...longest, random: () => 0.5 }));
      expectObservable(source$).toBe('250ms 500ms #', undefined, error);
      const eager$ = cold('#', undefined, error).pipe(retryBackoff({ ...longest, random: () => 0 }));
      expectObservable(eager$).toBe('#', undefined, error);
    });
  });

  it('does not try again once something was emitted: it would be spoken twice', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure();
      const source$ = cold('-a-#', undefined, error);
      expectObservable(source$.pipe(retryBackoff(longest))).toBe('-a-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^--!');
    });
  });

  it('does not try again what is not recoverable', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const error = new VoiceError('no', { code: 'unauthorized' });
      const source$ = cold('-#', undefined, error);
      expectObservable(source$.pipe(retryBackoff(longest))).toBe('-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('does not try again what its user does not want to', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure();
      const source$ = cold('-#', undefined, error);
      const shouldRetry = (cause: unknown): boolean => isRecoverable(cause) && cause.code !== 'server';
      expectObservable(source$.pipe(retryBackoff({ ...longest, shouldRetry }))).toBe('-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('continues with what a later attempt gives', () => {
    marbles(({ cold, expectObservable }) => {
      const tries = [cold('-#', undefined, failure()), cold('-a-|')];
      const source$ = defer(() => tries.shift() ?? throwError(() => failure()));
      expectObservable(source$.pipe(retryBackoff(longest))).toBe('501ms -a-|');
    });
  });

  it('waits exactly as long as the service asks', () => {
    marbles(({ cold, expectObservable }) => {
      const tries = [cold('-#', undefined, failure(1_000)), cold('a|')];
      const source$ = defer(() => tries.shift() ?? throwError(() => failure()));
      expectObservable(source$.pipe(retryBackoff({ ...longest, random: () => 0 }))).toBe('- 1s a|');
    });
  });

  it('fails at once, with the wait in the error, when the service asks for more than the budget', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure(600_000);
      const source$ = cold('-#', undefined, error);
      expectObservable(source$.pipe(retryBackoff(longest))).toBe('-#', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('counts all waits against the budget', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const error = failure(600);
      const source$ = cold('#', undefined, error);
      expectObservable(source$.pipe(retryBackoff({ ...longest, budgetMs: 1_000 }))).toBe('600ms #', undefined, error);
      expectSubscriptions(source$.subscriptions).toBe(['(^!)', '600ms (^!)']);
    });
  });

  it('ends a wait when it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-#', undefined, failure());
      expectObservable(source$.pipe(retryBackoff(longest)), '^ 99ms !').toBe('');
      expectSubscriptions(source$.subscriptions).toBe('^!');
    });
  });

  it('tells of each error that it retries', () => {
    const told: unknown[] = [];
    marbles(({ cold, expectObservable, flush }) => {
      const error = failure();
      const onRetry = ({ error: cause, delayMs }: Retry): unknown => told.push([VoiceError.from(cause).code, delayMs]);
      const source$ = cold('#', undefined, error).pipe(retryBackoff({ ...longest, onRetry }));
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
      .pipe(retryBackoff(requestRetries))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect(errors).toMatchObject([{ code: 'internal', message: 'a bug' }]);
  });
});
