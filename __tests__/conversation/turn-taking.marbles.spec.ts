import { map } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { FakeSTT } from 'rxvoice/testing';
import type { TurnDecision, TurnTakingOptions, UserSignal } from '../../lib/conversation/turn-taking/turn-rules.ts';
import { turnTaking } from '../../lib/conversation/turn-taking/turn-taking.ts';

const transcript = (text: string, kind: 'interim' | 'final' | 'preflight'): UserSignal => ({
  type: 'transcript',
  result: FakeSTT.result(text, kind),
});
const signals: Record<string, UserSignal> = {
  s: { type: 'speech', event: 'started' },
  e: { type: 'speech', event: 'ended' },
  r: { type: 'speech', event: 'resumed' },
  a: transcript('a', 'interim'),
  b: transcript('a b', 'interim'),
  p: transcript('a', 'preflight'),
  q: transcript('a b', 'preflight'),
  F: transcript('a', 'final'),
  G: transcript('a b', 'final'),
  '0': transcript('', 'final'),
  B: { type: 'begin' },
  C: { type: 'commit' },
  X: { type: 'cancel' },
};

/** A decision as a word: its type, and its text where it has one. */
const word = (decision: TurnDecision): string =>
  'text' in decision ? `${decision.type} ${decision.text}`.trim() : decision.type;
const decisions: Record<string, string> = {
  ...{ a: 'words a', b: 'words a b', p: 'speculate a', q: 'speculate a b', r: 'retract' },
  ...{
    F: 'commit a',
    G: 'commit a b',
    H: 'commit a a b',
    c: 'words a a b',
    t: 'timeout',
    T: 'timeout a',
    U: 'timeout a b',
  },
  ...{ f: 'finalize', X: 'cancel' },
};

function expectDecisions(source: string, expected: string, options: TurnTakingOptions = {}): void {
  const scheduler = new TestScheduler((actual, wanted) => {
    expect(actual).toEqual(wanted);
  });
  scheduler.run(({ hot, expectObservable }) => {
    const result$ = hot(source, signals, new Error('source')).pipe(
      turnTaking({ sttTimeoutMs: 6, ...options }, scheduler),
      map(word),
    );
    expectObservable(result$).toBe(expected, decisions, new Error('source'));
  });
}

describe('turnTaking by the speech-to-text service', () => {
  it('tells the words, and commits when the utterance is complete', () => {
    expectDecisions('-s-a--b--G--------|', '---a--b--G--------|');
  });

  it('prepares on a preflight', () => {
    expectDecisions('-a--p--F-----|', '-a--p--F-----|');
  });

  it('retracts when speech resumes, once', () => {
    expectDecisions('-p--r--r--G|', '-p--r-----G|');
  });

  it('retracts when other words come', () => {
    expectDecisions('-p--b----G|', '-p--(rb)-G|');
  });

  it('does not retract for the same words', () => {
    expectDecisions('-p--a--F|', '-p--a--F|');
  });

  it('prepares anew for more words', () => {
    expectDecisions('-p--q--G|', '-p--q--G|');
  });

  it('commits the words so far when the final is empty', () => {
    expectDecisions('-a--0|', '-a--F|');
  });

  it('drops an empty utterance', () => {
    expectDecisions('-s--0----------|', '---------------|');
  });

  it('gives up on speech without words', () => {
    expectDecisions('-s---------|', '-------t---|');
  });

  it('takes the words that never became final', () => {
    expectDecisions('-a---------|', '-a-----(TF)|');
  });

  it('passes on an error', () => {
    expectDecisions('-a-#', '-a-#');
  });

  it('emits nothing for a source that never does', () => {
    expectDecisions('-', '-');
  });
});

describe('turnTaking by the application', () => {
  const manual: TurnTakingOptions = { strategy: 'manual' };

  it('hears nothing outside a turn', () => {
    expectDecisions('-a-F-----|', '---------|', manual);
  });

  it('merges the finals of a turn, and waits for the last', () => {
    expectDecisions('-B-F--b--C--G--|', '---a--c--f--H--|', manual);
  });

  it('takes the words it has when the last final never comes', () => {
    expectDecisions('-B--b--C---------|', '----b--f-----(UG)|', manual);
  });

  it('forgets a cancelled turn', () => {
    expectDecisions('-B--b--X--C------|', '----b--X---------|', manual);
  });

  it('says so when a turn had no words', () => {
    expectDecisions('-B-C--0-----|', '---f--t-----|', manual);
  });
});
