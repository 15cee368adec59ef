import {
  BehaviorSubject,
  config,
  connectable,
  firstValueFrom,
  from,
  lastValueFrom,
  map,
  NEVER,
  Observable,
  type Observer,
  publish,
  share,
  Subject,
  take,
  tap,
  toArray,
} from 'rxjs';
import { merge } from '../../lib/stream/merge.ts';
import { publicStream } from '../../lib/core/application-code.ts';
import { timersDue } from '../transport/test-clock.ts';

const broken = (): never => {
  throw new Error('it broke');
};
/** What RxJS would have thrown where nobody can catch it. */
const unhandled: unknown[] = [];
const told: string[] = [];
const source$ = new Subject<number>();
const stream$ = publicStream(source$, (cause) => told.push((cause as Error).message));

beforeEach(() => {
  told.length = 0;
  unhandled.length = 0;
  config.onUnhandledError = (cause) => unhandled.push(cause);
});
afterEach(() => {
  config.onUnhandledError = null;
});

describe('a subscriber of a public stream that breaks (F60)', () => {
  const subscribers: Record<string, (stream$: Observable<number>) => { unsubscribe(): void }> = {
    'a callback that throws': (values$) => values$.subscribe(broken),
    'an observer that throws': (values$) => values$.subscribe({ next: broken }),
    'an observer with an add() of its own': (values$) =>
      values$.subscribe({ next: broken, add: () => undefined } as Partial<Observer<number>>),
    'a subscriber of a shared pipe': (values$) => values$.pipe(share()).subscribe(broken),
    'a subscriber of the stream from from()': (values$) => from(values$).subscribe(broken),
    'an async callback that rejects': (values$) =>
      values$.subscribe(() => Promise.reject(new Error('it broke')) as never),
    'an operator that throws': (values$) => values$.pipe(map(broken)).subscribe(),
    'a subscriber of a pipe that throws': (values$) =>
      values$
        .pipe(map((value) => value + 1))
        .pipe(tap())
        .subscribe(broken),
    'an error handler that throws': (values$) => values$.pipe(map(broken)).subscribe({ error: broken }),
  };
  for (const [what, subscribe] of Object.entries(subscribers)) {
    it(`is told once, and the others are served: ${what}`, async () => {
      const seen: number[] = [];
      const first = stream$.subscribe((value) => seen.push(value));
      const second = subscribe(stream$);
      const third = stream$.subscribe((value) => seen.push(value));
      source$.next(1);
      source$.next(2);
      await timersDue();
      expect(seen).toEqual([1, 1, 2, 2]);
      expect(told).toEqual(['it broke']);
      expect(unhandled).toEqual([]);
      for (const subscription of [first, second, third]) subscription.unsubscribe();
    });
  }

  it('is told when completion breaks it', async () => {
    const ending$ = new Subject<number>();
    publicStream(ending$, (cause) => told.push((cause as Error).message)).subscribe({ complete: broken });
    ending$.complete();
    await timersDue();
    expect([told, unhandled]).toEqual([['it broke'], []]);
  });

  it('goes on being served itself', () => {
    const seen: number[] = [];
    const subscription = stream$.subscribe((value) => {
      seen.push(value);
      broken();
    });
    source$.next(1);
    source$.next(2);
    expect(seen).toEqual([1, 2]);
    subscription.unsubscribe();
  });

  it('is not told of what it handles', () => {
    const errors: unknown[] = [];
    const subscription = stream$.pipe(map(broken)).subscribe({ error: (error: unknown) => errors.push(error) });
    source$.next(1);
    expect(errors).toEqual([new Error('it broke')]);
    expect(told).toEqual([]);
    subscription.unsubscribe();
  });
});

describe('a public stream', () => {
  it('hands its values to operators without anything in between', () => {
    const observers: unknown[] = [];
    const probe$ = publicStream(new Observable<number>((subscriber) => void observers.push(subscriber)), broken);
    const operator = merge(probe$, NEVER).subscribe();
    expect(observers).toHaveLength(1);
    operator.unsubscribe();
    expect(observers[0]).toMatchObject({ closed: true });
  });

  it('takes callbacks as separate arguments, or none', () => {
    const ending$ = new Subject<number>();
    const seen: unknown[] = [];
    const ends$ = publicStream(ending$, broken);
    const nothing = ends$.subscribe();
    // eslint-disable-next-line @typescript-eslint/no-deprecated, rxjs-x/prefer-observer -- applications may
    ends$.subscribe(
      (value) => seen.push(value),
      undefined,
      () => seen.push('end'),
    );
    ending$.next(1);
    ending$.complete();
    expect(seen).toEqual([1, 'end']);
    expect(nothing.closed).toBe(true);
  });

  const more: Record<string, readonly [(source$: Observable<number>) => Observable<number>, ...members: string[]]> = {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- applications may
    'publish()': [publish(), 'connect', 'refCount'],
    'connectable()': [(values$) => connectable(values$), 'connect'],
    'a subject': [() => new BehaviorSubject(5), 'value', 'next'],
  };
  for (const [what, [operator, ...members]] of Object.entries(more)) {
    it(`leaves what a pipe makes of it as it is, if that is more than a stream: ${what}`, () => {
      const piped$ = stream$.pipe(operator);
      for (const member of members) expect(member in piped$).toBe(true);
    });
  }

  it('is itself after a pipe without operators', () => {
    expect(stream$.pipe()).toBe(stream$);
  });

  it('lets go of its source with its last subscriber, whichever way it was subscribed to', async () => {
    const shared$ = stream$.pipe(share());
    const connected$ = connectable(stream$);
    const copied$ = new Subject<number>();
    const subscriptions = [shared$.subscribe(), shared$.subscribe(), connected$.connect(), stream$.subscribe(copied$)];
    const first = firstValueFrom(stream$.pipe(map((value) => value + 1)));
    const both = lastValueFrom(stream$.pipe(take(2), toArray()));
    const copies = firstValueFrom(copied$);
    source$.next(1);
    source$.next(2);
    expect(await Promise.all([first, both, copies])).toEqual([2, [1, 2], 1]);
    expect(source$.observed).toBe(true);
    for (const subscription of subscriptions) subscription.unsubscribe();
    expect(source$.observed).toBe(false);
  });

  it('leaves an error to the promise that waits for it', async () => {
    const first = firstValueFrom(stream$.pipe(map(broken)));
    source$.next(1);
    await expect(first).rejects.toThrow('it broke');
    expect(told).toEqual([]);
  });

  it('is one of RxJS for other libraries', () => {
    const interop = (Symbol as { readonly observable?: symbol }).observable ?? '@@observable';
    expect(Reflect.get(stream$, interop)).toBeInstanceOf(Function);
    expect(from(stream$)).toBe(stream$);
  });
});
