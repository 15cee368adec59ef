import { select } from '../../lib/stream/select.ts';
import { marbles } from '../operators/marbles.ts';

const states = { a: { part: 'x' }, b: { part: 'x' }, c: { part: 'y' }, u: { part: undefined } };
const partOf = ({ part }: { readonly part: string | undefined }): string | undefined => part;

describe('select', () => {
  it('emits a part when it differs from the one before', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source$ = hot('                      --a--b--c--a--|', states);
      expectObservable(source$.pipe(select(partOf))).toBe('--x-----y--x--|');
      expectSubscriptions(source$.subscriptions).toBe('^-------------!');
    });
  });

  it('emits the first part even if it is undefined', () => {
    marbles(({ hot, expectObservable }) => {
      const source$ = hot('--u--u--a--', states);
      expectObservable(source$.pipe(select(partOf))).toBe('--u-----x--', { u: undefined, x: 'x' });
    });
  });

  it('compares as it is told, with the part emitted last', () => {
    marbles(({ hot, expectObservable }) => {
      const source$ = hot('--1--2--3--4--|');
      const isNear = (before: number, now: number): boolean => now - before < 2;
      const near$ = source$.pipe(select((text: string) => Number(text), isNear));
      expectObservable(near$).toBe('--1-----3-----|', { 1: 1, 3: 3 });
    });
  });

  it('compares anew for each subscriber', () => {
    marbles(({ cold, expectObservable }) => {
      const part$ = cold('--a--|', states).pipe(select(partOf));
      expectObservable(part$).toBe('--x--|');
      expectObservable(part$).toBe('--x--|');
    });
  });

  it('passes an error, and lets go of the source when it is unsubscribed from', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      expectObservable(hot('--a--#', states).pipe(select(partOf))).toBe('--x--#');
      const source$ = hot('--a--c--', states);
      expectObservable(source$.pipe(select(partOf)), '^---!').toBe('--x--');
      expectSubscriptions(source$.subscriptions).toBe('^---!');
    });
  });
});
