import { of, Subject, take, throwError } from 'rxjs';
import type { TranscriptionResult } from '../../lib/core/roles.ts';
import { wakePhrase, type WakePhraseOptions } from '../../lib/operators/wake-phrase.ts';
import { marbles } from './marbles.ts';

const interim = (text: string): TranscriptionResult => ({
  ...{ text, isFinal: false, utteranceComplete: false, isPreflight: false },
});
const final = (text: string): TranscriptionResult => ({ ...interim(text), isFinal: true });
const complete = (text: string): TranscriptionResult => ({ ...final(text), utteranceComplete: true });

/** What passes of whole utterances. */
function passes(phrases: string | readonly string[], ...texts: readonly string[]): string[] {
  const passed: string[] = [];
  of(...texts.map(complete))
    .pipe(wakePhrase(phrases))
    .subscribe(({ text }) => passed.push(text));
  return passed;
}

describe('wakePhrase', () => {
  const values = {
    i: interim('so'),
    a: complete('so what'),
    b: complete('Hey Nova, what time is it?'),
    c: complete('and in Rome'),
    f: { ...final('hey'), utteranceId: '1' },
    g: { ...complete('Nova what time is it?'), utteranceId: '2' },
    z: { ...complete('what time is it?'), utteranceId: '2' },
    e: complete(''),
    x: complete(''),
    y: complete('what time is it?'),
  };
  const run = (source: string, expected: string, options: WakePhraseOptions = {}): void => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold(source, values).pipe(wakePhrase('hey nova', options))).toBe(expected, values);
    });
  };

  it('passes only the end of what is not for it, and then everything as it is', () => {
    run('-i-a-i-b-i-c-|', '---x---y-i-c-|');
  });

  it('falls asleep when nothing was said for a while, on the clock of the scheduler', () => {
    run('-b 8ms c 10ms i-a-|', '-y 8ms c 12ms x-|', { awakeMs: 10 });
  });

  it('falls asleep when sleep$ emits, and at no other time', () => {
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-b-c 40s c-a-b-c-|', values);
      const sleep$ = hot('   ---- 40s --s-----', values);
      const subs = '         ^--- 40s --------!';
      const expected = '     -y-c 40s c-x-y-c-|';
      expectObservable(source$.pipe(wakePhrase('hey nova', { sleep$ }))).toBe(expected, values);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('wakes up without the phrase when wake$ emits', () => {
    marbles(({ cold, hot, expectObservable }) => {
      const wake$ = hot('---w----', values);
      const source$ = cold('-a---a-|', values);
      const expected = '    -x---a-|';
      expectObservable(source$.pipe(wakePhrase('hey nova', { wake$ }))).toBe(expected, values);
    });
  });

  it('falls asleep again when nobody speaks after wake$', () => {
    marbles(({ cold, hot, expectObservable }) => {
      const wake$ = hot('---w', values);
      const inTime$ = cold('-a-- 8ms a-|', values);
      const tooLate$ = cold('-a-- 10ms a-|', values);
      expectObservable(inTime$.pipe(wakePhrase('hey nova', { wake$, awakeMs: 10 }))).toBe('-x-- 8ms a-|', values);
      expectObservable(tooLate$.pipe(wakePhrase('hey nova', { wake$, awakeMs: 10 }))).toBe('-x-- 10ms x-|', values);
    });
  });

  it('hears the phrase across what the service finalizes in parts', () => {
    run('-f-g-c-|', '---z-c-|');
  });

  it('passes the end of a voice without words', () => {
    run('-e-a-|', '-x-x-|');
  });

  it('takes what is final when the source completes', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-f-|', { f: final('hey Nova') });
      expectObservable(source$.pipe(wakePhrase('hey nova'))).toBe('---(y|)', { y: complete('hey Nova') });
    });
  });

  it('passes an error of the source at once', () => {
    run('-a-#', '-x-#');
  });

  it('passes an error of sleep$ and of wake$', () => {
    const fails = (options: WakePhraseOptions): unknown => {
      let error: unknown;
      new Subject<TranscriptionResult>()
        .pipe(wakePhrase('hey nova', options))
        .subscribe({ error: (cause: unknown) => (error = cause) });
      return error;
    };
    const failing$ = throwError(() => new Error('broken'));
    expect([fails({ sleep$: failing$ }), fails({ wake$: failing$ })]).toEqual([
      new Error('broken'),
      new Error('broken'),
    ]);
  });

  it('never completes before its source does, and completes with it although sleep$ does not', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-b----c-|', values);
      const sleep$ = cold('-------------', values);
      const wake$ = cold('|', values);
      expectObservable(source$.pipe(wakePhrase('hey nova', { sleep$, wake$ }))).toBe('-y----c-|', values);
      expectSubscriptions(sleep$.subscriptions).toBe('^-------!');
    });
  });

  it('unsubscribes from everything when its subscriber does', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-b-c-c-', values);
      const sleep$ = cold('-------', values);
      expectObservable(source$.pipe(wakePhrase('hey nova', { sleep$ }), take(1))).toBe('-(y|)', values);
      expectSubscriptions(source$.subscriptions).toBe('^!');
      expectSubscriptions(sleep$.subscriptions).toBe('^!');
    });
  });

  it('keeps nothing of one subscription for the next', () => {
    const source$ = of(complete('and in Rome'));
    const passed: string[] = [];
    const woken$ = of(complete('hey Nova')).pipe(wakePhrase('hey nova'));
    woken$.subscribe();
    source$.pipe(wakePhrase('hey nova')).subscribe(({ text }) => passed.push(text));
    expect(passed).toEqual(['']);
  });

  it('takes results one at a time, also one that comes while another is delivered', () => {
    const source$ = new Subject<TranscriptionResult>();
    const passed: string[] = [];
    const subscription = source$.pipe(wakePhrase('hey nova')).subscribe(({ text }) => {
      passed.push(text);
      if (text === 'one') source$.next(complete('two'));
    });
    source$.next(complete('hey nova, one'));
    expect(passed).toEqual(['one', 'two']);
    subscription.unsubscribe();
  });

  const texts: readonly (readonly [string, string | readonly string[], string, string])[] = [
    ['whatever the case and the marks', 'Hey Nova', 'HEY… "nova"! What time is it?', 'What time is it?'],
    ['wherever it stands', 'hey nova', 'Well, hey Nova, what time is it?', 'what time is it?'],
    ['alone, as it was said', 'hey nova', 'Hey Nova.', 'Hey Nova.'],
    ['at the end, with what came before', 'Nova', 'What time is it, Nova?', 'What time is it, Nova?'],
    ['in one of its spellings', ['hey nova', 'hey nover'], 'hey Nover stop', 'stop'],
    ['not as a part of other words', 'nova', 'the innovator of Novara and Novas', ''],
    ['not in the genitive', 'nova', "that is Nova's idea", ''],
    ['composed or not', 'Zoë', 'Zoe\u0308, weiter', 'weiter'],
    ['in Japanese', 'ねえノヴァ', 'ねえノヴァ、今何時ですか', '今何時ですか'],
    ['in Chinese', '小诺', '小诺今天天气怎么样？', '今天天气怎么样？'],
    ['in Hindi', 'सुनो नोवा', 'सुनो, नोवा! समय क्या है?', 'समय क्या है?'],
    ['in Arabic', 'يا نوفا', 'يا نوفا، كم الساعة؟', 'كم الساعة؟'],
    ['before an inverted question mark', 'oye nova', 'Oye Nova, ¿qué hora es?', '¿qué hora es?'],
  ];
  for (const [what, phrases, said, heard] of texts) {
    it(`hears the phrase ${what}`, () => expect(passes(phrases, said)).toEqual([heard]));
  }

  it('refuses a phrase without words, which everybody says', () => {
    expect(() => wakePhrase(['hey nova', '…'])).toThrow('wakePhrase: "…" has no words to listen for');
  });
});
