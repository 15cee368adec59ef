import { asyncScheduler } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { VoiceError } from '../../lib/core/errors.ts';
import { failOnSilence } from '../../lib/transport/silence.ts';

const stalled = new VoiceError('stalled', { code: 'timeout' });

describe('failOnSilence', () => {
  const rows: readonly [name: string, source: string, expected: string, subscription: string][] = [
    ['starts the wait anew with each value', '--a---b---------c--', '--a---b----#', '^----------!'],
    ['counts from the subscription', '        ----------a----', '    -----#', '      ^----!'],
    ['serves what comes in the very last moment', '-----a----b----|', '-----a----b----|', '^--------------!'],
    ['ends its wait with the source', '       --a--|', '             --a--|', '      ^----!'],
    ["hands on the source's error", '         --a--#', '             --a--#', '      ^----!'],
    ['takes an empty source', '               |', '                  |', '           (^!)'],
  ];
  for (const [name, source, expected, subscription] of rows) {
    it(name, () => {
      new TestScheduler((actual, wanted) => expect(actual).toEqual(wanted)).run(
        ({ cold, expectObservable, expectSubscriptions }) => {
          const source$ = cold(source.trim(), undefined, stalled);
          const guarded$ = source$.pipe(failOnSilence(5, asyncScheduler, () => stalled));
          expectObservable(guarded$).toBe(expected.trim(), undefined, stalled);
          expectSubscriptions(source$.subscriptions).toBe(subscription.trim());
        },
      );
    });
  }

  it('leaves no timer when it is unsubscribed', () => {
    new TestScheduler((actual, wanted) => expect(actual).toEqual(wanted)).run(
      ({ cold, expectObservable, expectSubscriptions }) => {
        const source$ = cold('--a--------');
        expectObservable(source$.pipe(failOnSilence(5, asyncScheduler, () => stalled)), '^---!').toBe('--a--');
        expectSubscriptions(source$.subscriptions).toBe('^---!');
      },
    );
  });
});
