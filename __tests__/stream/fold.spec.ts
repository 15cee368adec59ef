import { map, NEVER, Subject, tap, type SchedulerAction, type Subscription } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { globalClock } from '../transport/global-clock.ts';
import { TestClock } from '../transport/test-clock.ts';
import { BlockedClock } from './blocked-clock.ts';
import { fold, type Machine, type Step } from '../../lib/stream/fold.ts';

type Input = 'a' | 'b' | 'wait' | 'later' | 'tick' | 'throw';
interface State {
  readonly seen: string;
  readonly until: number;
}

/** Remembers its inputs; `wait` waits 4 ms, `later` 8 ms. */
const machine: Machine<State, Input, string> = {
  start: { seen: '', until: Infinity },
  reduce({ seen, until }, input, at): Step<State, string> {
    if (input === 'throw') throw new Error('reducer');
    const waits = { wait: at + 4, later: at + 8, tick: Infinity, a: until, b: until };
    return [{ seen: `${seen}${input[0] ?? ''}`, until: waits[input] }, input];
  },
  wakeAt: ({ until }) => until,
  tick: 'tick',
};

class CountingScheduler extends TestScheduler {
  timers: number = 0;

  override schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay?: number, state?: T): Subscription {
    this.timers++;
    return super.schedule(work, delay, state);
  }
}

const inputs: Record<string, Input> = { a: 'a', b: 'b', w: 'wait', l: 'later', x: 'throw' };

function expectSeen(source: string, expected: string, values: Record<string, string>, subscription?: string): void {
  const scheduler = new TestScheduler((actual, wanted) => {
    expect(actual).toEqual(wanted);
  });
  scheduler.run(({ hot, expectObservable, expectSubscriptions }) => {
    const source$ = hot(source, inputs, new Error('source'));
    const seen$ = source$.pipe(
      fold(machine, scheduler),
      map(([{ seen }]) => seen),
    );
    const error = source.includes('x') ? new Error('reducer') : new Error('source');
    expectObservable(seen$, subscription).toBe(expected, values, error);
    if (subscription) expectSubscriptions(source$.subscriptions).toBe(subscription);
  });
}

describe('fold', () => {
  it('emits a step for each input, with the state so far', () => {
    expectSeen('-a-b-|', '-1-2-|', { 1: 'a', 2: 'ab' });
  });

  it('tells the machine when its deadline has come', () => {
    expectSeen('-w--------|', '-1---2----|', { 1: 'w', 2: 'wt' });
  });

  it('follows a deadline that moves away, and one that comes nearer', () => {
    expectSeen('-w--w--------|', '-1--2---3----|', { 1: 'w', 2: 'ww', 3: 'wwt' });
    expectSeen('-l--w--------|', '-1--2---3----|', { 1: 'l', 2: 'lw', 3: 'lwt' });
  });

  it('completes with its source, and waits for nothing then', () => {
    expectSeen('-w|', '-1|', { 1: 'w' });
  });

  it('passes on an error of its source', () => {
    expectSeen('-a#', '-1#', { 1: 'a' });
  });

  it('fails with a reducer that throws', () => {
    expectSeen('-a-x-', '-1-#', { 1: 'a' });
  });

  it('leaves the source, and no timer, when unsubscribed', () => {
    expectSeen('-w--------', '-1---', { 1: 'w' }, '^---!');
  });

  it('emits nothing for a source that never does', () => {
    expectSeen('-', '-', {});
  });

  it('takes what a step leads to when everyone has seen that step', () => {
    const inputs$ = new Subject<Input>();
    const step$ = new Subject<Step<State, string>>();
    const seen: string[] = [];
    // The first listener answers each `a` with a `b`; the second still sees `a` first.
    step$.subscribe(([, input]) => {
      if (input === 'a') inputs$.next('b');
    });
    step$.subscribe(([{ seen: all }]) => seen.push(all));
    inputs$.pipe(fold(machine), tap(step$)).subscribe();
    inputs$.next('a');
    expect(seen).toEqual(['a', 'ab']);
  });

  it('emits what follows from a step after it and before the next input, unless nothing follows', () => {
    const inputs$ = new Subject<Input>();
    const seen: string[] = [];
    const follow: Machine<State, Input, string>['follow'] = (state, before, input) =>
      input === 'a' ? [{ ...state, seen: `${state.seen}+` }, `after ${before.seen || 'nothing'}`] : [state];
    inputs$.pipe(fold({ ...machine, follow })).subscribe(([{ seen: all }, effect]) => {
      seen.push(`${all}: ${effect}`);
      // Taken when both have been seen.
      if (all === 'a') inputs$.next('b');
    });
    inputs$.next('a');
    inputs$.next('a');
    expect(seen).toEqual(['a: a', 'a+: after nothing', 'a+b: b', 'a+ba: a', 'a+ba+: after a+b']);
  });

  it('waits for a deadline that followed from a step', () => {
    const clock = new TestClock();
    const inputs$ = new Subject<Input>();
    const follow: Machine<State, Input, string>['follow'] = (state, _before, input, at) =>
      input === 'a' ? [{ ...state, until: at + 4 }] : [state];
    inputs$.pipe(fold({ ...machine, follow }, clock)).subscribe();
    inputs$.next('a');
    expect(clock.pending).toBe(1);
  });

  it('asks for nothing that follows once nobody listens any more', () => {
    const inputs$ = new Subject<Input>();
    const asked: Input[] = [];
    const follow: Machine<State, Input, string>['follow'] = (state, _before, input) => {
      asked.push(input);
      return [state];
    };
    const steps = inputs$.pipe(fold({ ...machine, follow })).subscribe(([, input]) => {
      if (input === 'b') steps.unsubscribe();
    });
    inputs$.next('a');
    inputs$.next('b');
    expect(asked).toEqual(['a']);
  });

  it('has one timer for any number of inputs', () => {
    const scheduler = new CountingScheduler(() => undefined);
    scheduler.run(({ flush }) => {
      const inputs$ = new Subject<Input>();
      inputs$.pipe(fold(machine, scheduler)).subscribe();
      for (let count = 0; count < 1_000; count++) inputs$.next('later');
      flush();
    });
    // One, and one more look when it falls due.
    expect(scheduler.timers).toBeLessThanOrEqual(2);
  });

  it('keeps no timer for a machine that waits for nothing any more', () => {
    const clock = new TestClock();
    const inputs$ = new Subject<Input>();
    inputs$.pipe(fold(machine, clock)).subscribe();
    inputs$.next('wait');
    expect(clock.pending).toBe(1);
    inputs$.next('tick');
    expect(clock.pending).toBe(0);
  });

  /** The times at which each tick was taken, of a machine that has begun to wait for 4 ms. */
  function waiting(clock: BlockedClock) {
    const inputs$ = new Subject<Input>();
    const seen: string[] = [];
    inputs$.pipe(fold(machine, clock)).subscribe(([{ seen: all }]) => seen.push(`${all}@${clock.frame}`));
    inputs$.next('wait');
    return { inputs$, seen };
  }

  it('F46: takes what arrived while the event loop was blocked before the deadline that fell due meanwhile', async () => {
    const clock = new BlockedClock();
    const { inputs$, seen } = waiting(clock);
    clock.lateMs = 500;
    await clock.advance(10);
    inputs$.next('wait');
    await clock.advance(490 + 10);
    expect(seen).toEqual(['w@0', 'ww@10', 'wwt@504']);
  });

  it('F45: waits no longer on a clock that was set back an hour, and a second at most on one set forward', async () => {
    const back = new BlockedClock();
    const late = waiting(back);
    back.lateMs = -3_600_000;
    await back.advance(4);
    expect(late.seen).toEqual(['w@0', 'wt@4']);
    const forward = new BlockedClock();
    const early = waiting(forward);
    forward.lateMs = 3_600_000;
    await forward.advance(1_004);
    expect(early.seen).toEqual(['w@0', 'wt@1004']);
  });

  it.each([2 ** 31, 2 ** 33])('does not take a deadline in %d ms for one that has come', async (ms) => {
    const at = Date.now() + ms;
    const late: Machine<State, Input, string> = { ...machine, wakeAt: () => at };
    const seen: string[] = [];
    using clock = globalClock();
    const steps = NEVER.pipe(fold(late)).subscribe(([, ...effects]) => seen.push(...effects));
    await clock.advance(60_000);
    steps.unsubscribe();
    expect(seen).toEqual([]);
  });
});
