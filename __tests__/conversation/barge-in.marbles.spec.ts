import { TestScheduler } from 'rxjs/testing';
import { bargeIn, type BargeInRules, type BargeInSign, type BargeInStage } from '../../lib/conversation/barge-in.ts';

const signs: Record<string, BargeInSign> = {
  s: { type: 'voice-started' },
  e: { type: 'voice-ended' },
  1: { type: 'words', count: 1, final: false },
  2: { type: 'words', count: 2, final: false },
};
const stages: Record<string, BargeInStage> = { S: 'suspected', P: 'paused', C: 'confirmed', R: 'resumed' };
const rules: BargeInRules = {
  ...{ pauseAfterMs: 3, confirmAfterMs: 8, minWords: 2, resumeAfterMs: 5, immediate: false, voiceEnds: true },
};

/** Marble pictures in milliseconds: a character is one. */
function expectStages(
  source: string,
  expected: string,
  changed: Partial<BargeInRules> = {},
  subscription?: string,
): void {
  const scheduler = new TestScheduler((actual, wanted) => {
    expect(actual).toEqual(wanted);
  });
  scheduler.run(({ hot, expectObservable, expectSubscriptions }) => {
    const source$ = hot(source, signs, new Error('source'));
    const result$ = source$.pipe(bargeIn(() => ({ ...rules, ...changed }), scheduler));
    expectObservable(result$, subscription).toBe(expected, stages, new Error('source'));
    if (subscription) expectSubscriptions(source$.subscriptions).toBe(subscription);
  });
}

describe('bargeIn', () => {
  it('pauses, then is confirmed by voice', () => {
    expectStages(
      '--s-----------|', //
      '--S--P----C---|',
    );
  });

  it('is confirmed by words before the voice is long enough', () => {
    expectStages(
      '--s---2-------|', //
      '--S--PC-------|',
    );
  });

  it('does not pause when the voice is over before', () => {
    expectStages(
      '--s-e---------|', //
      '--S------R----|',
    );
  });

  it('resumes when the voice falls silent unconfirmed', () => {
    expectStages(
      '--s----e------|', //
      '--S--P------R-|',
    );
  });

  it('waits anew with every sign', () => {
    expectStages(
      '--s---e--1---------|', //
      '--S--P--------R----|',
    );
  });

  it('takes one word for no interruption', () => {
    expectStages(
      '--1--1---------|', //
      '--S--P----R----|',
    );
  });

  it('is confirmed by one word where one is enough', () => {
    expectStages('--1--', '--(SC)', { minWords: 1 });
  });

  it('does not confirm by an unending voice where its end is not reported', () => {
    expectStages('--s-----------|', '--S--P-R------|', { voiceEnds: false });
  });

  it('lets words alone confirm when voice may not', () => {
    expectStages('--s-------------2-|', '--S--P----------C-|', { confirmAfterMs: Infinity });
  });

  it('cuts at the first sign when told to', () => {
    expectStages('--s----s--', '--(SC)-(SC)', { immediate: true });
  });

  it('begins again after each episode', () => {
    expectStages(
      '--2----2---------|', //
      '--(SC)-(SC)------|',
    );
  });

  it('does not begin with the end of a voice', () => {
    expectStages('--e---e--|', '---------|');
  });

  it('ends with an error of the source', () => {
    expectStages('--s-#', '--S-#');
  });

  it('leaves the source, and no timer, when unsubscribed', () => {
    expectStages('--s-----------', '--S--', {}, '^---!');
  });

  it('emits nothing for a source that never does', () => {
    expectStages('-', '-');
  });
});
