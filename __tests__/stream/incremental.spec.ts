import { NEVER, of, range, Subject, take } from 'rxjs';
import { incremental, type IncrementalStage } from '../../lib/stream/incremental.ts';
import { marbles } from '../operators/marbles.ts';

/** Pairs of letters; a last one alone at the end. */
class Pairs implements IncrementalStage<string, string> {
  #held = '';

  push(value: string): readonly string[] {
    if (value === '!') throw new Error('no letter');
    const pair = this.#held + value;
    this.#held = pair.length < 2 ? pair : '';
    return pair.length < 2 ? [] : [...pair];
  }

  flush(): readonly string[] {
    return this.#held === '' ? [] : [this.#held];
  }
}

const pairs = incremental(() => new Pairs());

describe('incremental', () => {
  it('emits what each value makes, and the rest when the source completes', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-b-c-|      ');
      const subs = '        ^------!      ';
      const expected = '    ---(ab)(c|)   ';
      expectObservable(source$.pipe(pairs)).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    });
  });

  it('starts over with each subscription', () => {
    marbles(({ cold, expectObservable }) => {
      const result$ = cold('-a|').pipe(pairs);
      expectObservable(result$).toBe('--(a|)');
      expectObservable(result$).toBe('--(a|)');
    });
  });

  it('passes an error of the source at once, without the rest', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('-a-#').pipe(pairs)).toBe('---#');
    });
  });

  it('fails with an error of its stage, and lets go of the source', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('-a-x-b-|', { a: 'a', b: 'b', x: '!' });
      expectObservable(source$.pipe(pairs)).toBe('---#', undefined, new Error('no letter'));
      expectSubscriptions(source$.subscriptions).toBe('^--!');
    });
  });

  it('takes an empty source, and one that never ends', () => {
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold('--|').pipe(pairs)).toBe('--|');
      expectObservable(NEVER.pipe(pairs)).toBe('---');
    });
  });

  it('lets go of the source as soon as enough was taken', () => {
    const seen: string[] = [];
    const source$ = new Subject<string>();
    source$.pipe(pairs, take(1)).subscribe((value) => seen.push(value));
    for (const value of ['a', 'b', 'c', 'd']) source$.next(value);
    expect([seen, source$.observed]).toEqual([['a'], false]);
    of('a', 'b')
      .pipe(pairs, take(1))
      .subscribe((value) => seen.push(value));
    expect(seen).toEqual(['a', 'a']);
  });

  it('delivers what a value makes before what it brings about (re-entrancy)', () => {
    const source$ = new Subject<string>();
    const seen: string[] = [];
    source$.pipe(pairs).subscribe((value) => {
      seen.push(value);
      if (value === 'a') for (const more of ['c', 'd']) source$.next(more);
    });
    for (const value of ['a', 'b']) source$.next(value);
    expect(seen).toEqual(['a', 'b', 'c', 'd']);
  });

  it('lets go of an endless source within subscribe', () => {
    const seen: string[] = [];
    const letters = incremental<number, string>(() => ({ push: (value) => [`${value}`], flush: () => [] }));
    range(0, Number.MAX_SAFE_INTEGER)
      .pipe(letters, take(1))
      .subscribe((value) => seen.push(value));
    expect(seen).toEqual(['0']);
  });
});
