import { of, Subject } from 'rxjs';
import { Turnstile } from '../../../../lib/providers/tts/requests/turnstile.ts';
import { marbles } from '../../../operators/marbles.ts';

describe('Turnstile', () => {
  it('lets as many in as its limit says, the others in the order of their subscription', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const turnstile = new Turnstile(() => 1);
      const a$ = cold(' --1--|        ');
      const b$ = cold('      -2|      ');
      const c$ = cold('        --3|   ');
      expectObservable(turnstile.pass(a$)).toBe('--1--|');
      expectObservable(turnstile.pass(b$)).toBe('------2|');
      expectObservable(turnstile.pass(c$)).toBe('---------3|');
      expectSubscriptions(a$.subscriptions).toBe('^----!');
      expectSubscriptions(b$.subscriptions).toBe('-----^-!');
      expectSubscriptions(c$.subscriptions).toBe('-------^--!');
    });
  });

  it('gives the turn of a failed one to the next', () => {
    marbles(({ cold, expectObservable }) => {
      const turnstile = new Turnstile(() => 1);
      expectObservable(turnstile.pass(cold('--#'))).toBe('--#');
      expectObservable(turnstile.pass(cold('-1|'))).toBe('---1|');
    });
  });

  it('gives the turn of an unsubscribed one to the next, and forgets one that leaves the queue', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const turnstile = new Turnstile(() => 1);
      const left$ = cold('-x|');
      expectObservable(turnstile.pass(cold('---------|')), '^---!').toBe('-----');
      expectObservable(turnstile.pass(left$), '^-!').toBe('---');
      expectObservable(turnstile.pass(cold('-1|'))).toBe('-----1|');
      expectSubscriptions(left$.subscriptions).toBe([]);
    });
  });

  it('asks for its limit each time', () => {
    let limit = 1;
    const turnstile = new Turnstile(() => limit);
    const started: string[] = [];
    const enter = (name: string): void => {
      const work$ = new Subject<never>();
      turnstile.pass(work$).subscribe();
      if (work$.observed) started.push(name);
    };
    enter('a');
    enter('b');
    limit = 3;
    enter('c');
    expect(started).toEqual(['a', 'c']);
  });

  it('is not confused by work that ends within subscribe', () => {
    const turnstile = new Turnstile(() => 1);
    const seen: number[] = [];
    for (const value of [1, 2, 3]) turnstile.pass(of(value)).subscribe((each) => seen.push(each));
    expect(seen).toEqual([1, 2, 3]);
  });
});
