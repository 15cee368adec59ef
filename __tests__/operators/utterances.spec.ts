import { map, of, Subject, take } from 'rxjs';
import type { TranscriptionResult } from '../../lib/core/roles.ts';
import { utterances } from '../../lib/operators/utterances.ts';
import { marbles } from './marbles.ts';

type Rest = Omit<Partial<TranscriptionResult>, 'text'>;
const interim = (text: string, rest: Rest = {}): TranscriptionResult => ({
  text,
  isFinal: false,
  utteranceComplete: false,
  isPreflight: false,
  ...rest,
});
const final = (text: string, rest: Rest = {}): TranscriptionResult => interim(text, { isFinal: true, ...rest });
const complete = (text: string, rest: Rest = {}): TranscriptionResult =>
  final(text, { utteranceComplete: true, ...rest });
const at = (startMs: number, endMs: number): Rest => ({
  metadata: {
    words: [
      { text: 'first', startMs, endMs: startMs + 1 },
      { text: 'last', startMs: endMs - 1, endMs },
    ],
  },
});
const said = (results: readonly TranscriptionResult[]): string[] => {
  const texts: string[] = [];
  of(...results)
    .pipe(utterances())
    .subscribe(({ text }) => texts.push(text));
  return texts;
};

describe('utterances', () => {
  const results = {
    i: interim('book'),
    p: interim('book a flight', { isPreflight: true }),
    f: final('book a'),
    c: complete('Book a flight. '),
    d: complete('Please!'),
    e: complete(''),
  };
  const texts = { u: 'Book a flight.', v: 'Please!', w: 'book a' };
  const text = map(({ text: whole }: { text: string }) => whole);

  it('emits an utterance when it is complete, and nothing before', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-i-f-i-p-c---d-|', results);
      const subs = '        ^--------------!';
      const expected = '    ---------u---v-|';
      expectObservable(source$.pipe(utterances(), text)).toBe(expected, texts);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('tells the result that completed it', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-f-c-|', results);
      const expected = '    ---u-|';
      expectObservable(source$.pipe(utterances())).toBe(expected, { u: { text: texts.u, result: results.c } });
    });
  });

  it('takes the words from the last final result when the end comes without any', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-i-f-i-e-|', results);
      const expected = '    -------w-|';
      expectObservable(source$.pipe(utterances(), text)).toBe(expected, texts);
    });
  });

  it('drops an utterance without words', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-e-i-e-c-|', results);
      const expected = '    -------u-|';
      expectObservable(source$.pipe(utterances(), text)).toBe(expected, texts);
    });
  });

  it('loses no words that are final when the source completes', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-c-f-i-|   ', results);
      const expected = '    -u-----(w|)';
      expectObservable(source$.pipe(utterances(), text)).toBe(expected, texts);
    });
  });

  it('passes an error at once and drops what is not complete', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-c-f-#', results);
      const subs = '        ^----!';
      const expected = '    -u---#';
      expectObservable(source$.pipe(utterances(), text)).toBe(expected, texts);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-c-f-d-|', results);
      const unsub = '       ----!   ';
      const subs = '        ^---!   ';
      const expected = '    -u---   ';
      expectObservable(source$.pipe(utterances(), text), unsub).toBe(expected, texts);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('is silent for a source that never says anything, and completes with an empty one', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold<TranscriptionResult>('---').pipe(utterances())).toBe('---');
      expectObservable(cold<TranscriptionResult>('--|').pipe(utterances())).toBe('--|');
    });
  });

  it('drops a duplicate final by its id (F15)', () => {
    const one = complete('yes', { utteranceId: 'u1' });
    expect(said([one, one, complete('Yes.', { utteranceId: 'u1' })])).toEqual(['yes']);
    expect(said([one, complete('yes', { utteranceId: 'u2' })])).toEqual(['yes', 'yes']);
  });

  it('drops a duplicate final without an id by its text and time (F15)', () => {
    const one = complete('yes', at(100, 400));
    expect(said([one, complete('yes', at(100, 400))])).toEqual(['yes']);
    expect(said([one, complete('no', at(100, 400))])).toEqual(['yes', 'no']);
    expect(said([one, complete('yes', at(900, 1200))])).toEqual(['yes', 'yes']);
  });

  it('takes the same word said twice for two, where no id and no time says otherwise', () => {
    expect(said([complete('yes'), complete('yes')])).toEqual(['yes', 'yes']);
  });

  it('drops the late results of a finished utterance, whatever they are (F16)', () => {
    const late: Rest = { utteranceId: 'u1' };
    const results$ = [
      complete('Book a flight.', late),
      interim('book a fl', late),
      final('book a flight to', late),
      interim('and', { utteranceId: 'u2' }),
      complete('', late),
      complete('and a car', { utteranceId: 'u2' }),
    ];
    expect(said(results$)).toEqual(['Book a flight.', 'and a car']);
  });

  it('takes a final that comes before its interim (F16)', () => {
    expect(said([final('one'), interim('on'), complete('one two')])).toEqual(['one two']);
  });

  it('takes a complete utterance for final, whether the service says so or not', () => {
    expect(said([final('one'), interim('one two', { utteranceComplete: true })])).toEqual(['one two']);
  });

  it('joins what was final under one id and completed under the next', () => {
    const results$ = [
      final('book a', { utteranceId: 'u1' }),
      final('flight', { utteranceId: 'u2' }),
      complete('flight please', { utteranceId: 'u2' }),
      final('book a', { utteranceId: 'u1' }),
    ];
    expect(said(results$)).toEqual(['book a flight please']);
  });

  it('remembers a bounded number of finished utterances', () => {
    const many = Array.from({ length: 100 }, (_, index) => complete(`${index}`, { utteranceId: `u${index}` }));
    expect(said([...many, complete('99', { utteranceId: 'u99' })])).toHaveLength(100);
    expect(said([...many, complete('0', { utteranceId: 'u0' })])).toHaveLength(101);
  });

  it('keeps the order when an utterance brings the next about (re-entrancy)', () => {
    const source$ = new Subject<TranscriptionResult>();
    const seen: string[] = [];
    source$.pipe(utterances(), take(3)).subscribe((utterance) => {
      seen.push(utterance.text);
      if (seen.length === 1) source$.next(complete('two'));
    });
    source$.next(complete('one'));
    source$.next(complete('three'));
    expect(seen).toEqual(['one', 'two', 'three']);
    expect(source$.observed).toBe(false);
  });
});
