import { of, Subject, take, type Observable } from 'rxjs';
import { sentences } from '../../lib/operators/sentences.ts';
import { marbles } from './marbles.ts';

const tokens = { a: 'I do thi', b: 'nk so, ', c: 'yes. But Dr', d: '. Who may know ', e: 'better.' };
const pieces = { f: 'I do think so, ', g: 'yes. But Dr. Who may know better.' };

describe('sentences', () => {
  it('emits a piece with the token that shows its end, and the rest at the end', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-d-e-|   ', tokens);
      const subs = '        ^----------!   ';
      const expected = '    -----f-----(g|)';
      expectObservable(source$.pipe(sentences())).toBe(expected, pieces);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('emits all pieces of one token at once, in order', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('--a-----|   ', { a: 'This is one sentence. And this is another one. Last.' });
      const expected = '    --(bc)--(d|)';
      const values = { b: 'This is one sentence. ', c: 'And this is another one. ', d: 'Last.' };
      expectObservable(source$.pipe(sentences())).toBe(expected, values);
    });
  });

  it('holds a dot back until what follows shows that it is an end', () => {
    marbles(({ cold, expectObservable }) => {
      const values = {
        a: 'It takes about 3.',
        b: '14 seconds.',
        c: ' ',
        d: 'O',
        x: 'It takes about 3.14 seconds. ',
        y: 'O',
      };
      const source$ = cold('-a----b----c----d--|   ', values);
      const expected = '    ----------------x--(y|)';
      expectObservable(source$.pipe(sentences())).toBe(expected, values);
    });
  });

  it('passes an error at once and drops the rest', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-#', tokens);
      const subs = '        ^------!';
      const expected = '    -----f-#';
      expectObservable(source$.pipe(sentences())).toBe(expected, pieces);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-d-e-|', tokens);
      const unsub = '       ------!     ';
      const subs = '        ^-----!     ';
      const expected = '    -----f-     ';
      expectObservable(source$.pipe(sentences()), unsub).toBe(expected, pieces);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('stops in the middle of a token when that is enough', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('--a--|   ', { a: 'This is one sentence. And this is another one. Last.' });
      const subs = '        ^-!      ';
      const expected = '    --(b|)   ';
      expectObservable(source$.pipe(sentences(), take(1))).toBe(expected, { b: 'This is one sentence. ' });
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('is silent for a source that never says anything', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-----').pipe(sentences())).toBe('-----');
    });
  });

  it('completes with an empty source', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('--|').pipe(sentences())).toBe('--|');
      expectObservable(cold('-a|', { a: '' }).pipe(sentences())).toBe('--|');
    });
  });

  it('keeps no text from one subscription to the next', () => {
    marbles(({ cold, expectObservable }) => {
      const said$ = cold('a|   ', { a: 'Unfinished' }).pipe(sentences());
      const expected = '  -(a|)';
      expectObservable(said$).toBe(expected, { a: 'Unfinished' });
      expectObservable(said$).toBe(expected, { a: 'Unfinished' });
    });
  });

  it('keeps the order when a piece makes its source say more (re-entrancy)', () => {
    const source$ = new Subject<string>();
    const said: string[] = [];
    source$.pipe(sentences()).subscribe((piece) => {
      said.push(piece);
      if (said.length === 1) source$.next(' Third sentence, as long. ');
    });
    source$.next('This is the first sentence. This is the second one.');
    source$.complete();
    expect(said).toEqual(['This is the first sentence. ', 'This is the second one. ', 'Third sentence, as long. ']);
  });

  it('ends the stream with the error of limits that cannot be', () => {
    marbles(({ cold, expectObservable }) => {
      const said$ = cold('-a|', { a: 'x' }).pipe(sentences({ maxChars: 0 }));
      expectObservable(said$).toBe('#', undefined, new RangeError('maxChars must be at least 1, not 0'));
    });
  });

  it('runs the example of its documentation', () => {
    const said: string[] = [];
    const tokens$: Observable<string> = of(
      'Pi is about',
      ' 3',
      '.',
      '14. It ',
      'has been known',
      ' since long ago',
      '.',
    );
    tokens$.pipe(sentences()).subscribe((piece) => said.push(piece));
    expect(said).toEqual(['Pi is about 3.14. ', 'It has been known since long ago.']);
  });
});
