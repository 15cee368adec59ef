import { map, of, Subject, take } from 'rxjs';
import { speakable } from '../../lib/operators/speakable.ts';
import { marbles } from './marbles.ts';

const texts = { a: 'Use **R', b: 'xJS**, see [the', c: ' docs](https://rxjs.dev). ', d: 'Or', e: ' **' };
const spoken = { x: 'Use R', y: 'xJS, see the docs. ', z: 'Or ', o: 'Or' };
const say = speakable();

describe('speakable', () => {
  it('emits a piece for each piece, joined where one ends in the middle of something', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-|', texts);
      const subs = '        ^------!';
      const expected = '    -x---y-|';
      expectObservable(
        source$.pipe(
          say,
          map((piece) => piece.spoken),
        ),
      ).toBe(expected, spoken);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('keeps the text as it was written', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-a-b-c-|', texts);
      const expected = '    -a---y-|';
      const visual = { a: texts.a, y: texts.b + texts.c };
      expectObservable(
        source$.pipe(
          say,
          map((piece) => piece.visual),
        ),
      ).toBe(expected, visual);
    });
  });

  it('emits what was held when the source completes', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('-d-e-|   ', texts);
      const expected = '    -o---(z|)';
      expectObservable(
        source$.pipe(
          say,
          map((piece) => piece.spoken),
        ),
      ).toBe(expected, { ...spoken, z: ' ' });
    });
  });

  it('passes an error at once and drops what was held', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-#', texts);
      const subs = '        ^----!';
      const expected = '    -x---#';
      expectObservable(
        source$.pipe(
          say,
          map((piece) => piece.spoken),
        ),
      ).toBe(expected, spoken);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source as soon as it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-|', texts);
      const unsub = '       ----!   ';
      const subs = '        ^---!   ';
      const expected = '    -x---   ';
      expectObservable(
        source$.pipe(
          say,
          map((piece) => piece.spoken),
        ),
        unsub,
      ).toBe(expected, spoken);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('lets go of the source when one piece is enough', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-|', texts);
      const subs = '        ^!      ';
      const expected = '    -(x|)   ';
      expectObservable(
        source$.pipe(
          say,
          take(1),
          map((piece) => piece.spoken),
        ),
      ).toBe(expected, spoken);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('is silent for a source that never says anything, and completes with an empty one', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('---').pipe(say)).toBe('---');
      expectObservable(cold('--|').pipe(say)).toBe('--|');
    });
  });

  it('carries an open block of code into no other subscription', () => {
    marbles(({ cold, expectObservable }) => {
      const source$ = cold('a-b|   ', { a: 'Yes. ', b: '```js\nlet x;\n' });
      const expected = '    a-b(c|)';
      const values = { a: 'Yes. ', b: '', c: '' };
      const said$ = source$.pipe(
        say,
        map((piece) => piece.spoken),
      );
      expectObservable(said$).toBe(expected, values);
      expectObservable(said$).toBe(expected, values);
    });
  });

  it('keeps the order when a piece makes its source say more (re-entrancy)', () => {
    const source$ = new Subject<string>();
    const said: string[] = [];
    source$.pipe(speakable()).subscribe((piece) => {
      said.push(piece.spoken);
      if (said.length === 1) source$.next('*two* ');
    });
    source$.next('*one* ');
    source$.next('*three* ');
    source$.complete();
    expect(said).toEqual(['one ', 'two ', 'three ']);
  });

  it('runs the example of its documentation', () => {
    const said: string[] = [];
    of('## Result\n', '3 * 4 is **12** 🎉, see https://example.com/math?q=12.')
      .pipe(speakable())
      .subscribe((piece) => said.push(piece.spoken));
    expect(said).toEqual(['Result.\n', '3 * 4 is 12 , see example.com.']);
  });
});
