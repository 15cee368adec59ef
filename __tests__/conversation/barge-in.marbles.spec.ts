import { TestScheduler } from 'rxjs/testing';
import {
  bargeIn,
  type BargeInRules,
  type BargeInSign,
  type BargeInStage,
} from '../../lib/conversation/barge-in/barge-in.ts';

const signs: Record<string, BargeInSign> = {
  s: { type: 'voice-started' },
  e: { type: 'voice-ended' },
  1: { type: 'words', count: 1, final: false },
  2: { type: 'words', count: 2, final: false },
  f: { type: 'words', count: 1, final: true },
  c: { type: 'words', count: 1, final: false, isCommand: true },
  b: { type: 'dismissed', final: false },
  B: { type: 'dismissed', final: true },
  l: { type: 'voice-ended', at: 3 },
  L: { type: 'voice-started', at: 2 },
};
const stages: Record<string, BargeInStage> = { S: 'suspected', P: 'paused', C: 'confirmed', R: 'resumed' };
const rules: BargeInRules = {
  ...{ pauseAfterMs: 3, minWords: 2, resumeAfterMs: 5, voiceTimeoutMs: 7, immediate: false, voiceEnds: true },
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
  it('pauses for a voice, and never cuts for it alone', () => {
    expectStages(
      '--s-----------------------------------|', //
      '--S--P--------------------------------|',
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

  it('takes a voice without further signs for over where its end is not reported', () => {
    expectStages('--s-----------|', '--S--P---R----|', { voiceEnds: false });
  });

  it('goes by the text alone where nobody reports a voice', () => {
    expectStages('--1-----------|', '--S--P-R------|', { voiceEnds: false });
  });

  it('waits for words as long as the voice goes on', () => {
    expectStages('--s---1-----------2-|', '--S--P------------C-|');
  });

  it('cuts at once for a command', () => {
    expectStages('--s-c--', '--S-C--');
    expectStages('--c--', '--(SC)--');
  });

  it('is confirmed by one word once the utterance is complete', () => {
    expectStages('--1---f--', '--S--PC--');
    expectStages('--f--', '--(SC)');
  });

  it('has enough words of a complete utterance only where they are asked for', () => {
    expectStages('--f--', '--(SR)', { minFinalWords: 2 });
  });

  it('resumes at once for a backchannel, and hears no interruption in the voice that says it', () => {
    expectStages('--s---b---s---', '--S--PR-------');
    expectStages('--b-s---', '--------');
  });

  it('hears words again after a backchannel', () => {
    expectStages('--s---b---2----', '--S--PR---(SC)-');
  });

  it('hears a voice again once the backchannel has ended', () => {
    expectStages('--s-b-e-s---', '--S-R---S--P', {});
    expectStages('--s-B-s---', '--S-R-S--P');
  });

  it('ends every pause, and takes a voice that outlasts it for noise', () => {
    expectStages('--s-----------s----s----', '--S--P------R-----------', { maxPauseMs: 10 });
    expectStages('--s-----------e--s-----------', '--S--P------R----S--P------R-', { maxPauseMs: 10 });
    expectStages('--s-----------2-----', '--S--P------R-(SC)--', { maxPauseMs: 10 });
  });

  it('measures a voice by when it was heard, not by when that was told', () => {
    // It ended 4 ms before that was told.
    expectStages('--s----l------', '--S--P--R-----');
    // It began 4 ms before that was told.
    expectStages('------L----e-----', '------(SP)------R');
  });

  it('waits for words as long as they take to come', () => {
    expectStages('--s--e--------------|', '--S----------R------|', { pauseAfterMs: 99, lagMs: 8 });
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
