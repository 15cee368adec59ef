import { asyncScheduler } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { Alarm, patientTimer } from '../../lib/stream/patient-timer.ts';
import { globalClock } from '../transport/global-clock.ts';
import { TestClock } from '../transport/test-clock.ts';
import { BlockedClock } from './blocked-clock.ts';

describe('patientTimer', () => {
  it('is a timer', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ expectObservable }) => {
      expectObservable(patientTimer(3, scheduler)).toBe('---(a|)', { a: 0 });
      expectObservable(patientTimer(3, scheduler), '--!').toBe('---');
    });
  });

  it('F46: gives back the time in which the event loop was blocked', async () => {
    const clock = new BlockedClock();
    let due = false;
    patientTimer(100, clock).subscribe(() => (due = true));
    clock.lateMs = 500;
    await clock.advance(599);
    expect(due).toBe(false);
    await clock.advance(1);
    expect(due).toBe(true);
  });

  it('F45: a clock that was set forward an hour prolongs it by a second at most', async () => {
    const clock = new BlockedClock();
    let due = false;
    patientTimer(100, clock).subscribe(() => (due = true));
    clock.lateMs = 3_600_000;
    await clock.advance(1_100);
    expect(due).toBe(true);
  });

  it('F45: a clock that was set back does not prolong it', async () => {
    const clock = new BlockedClock();
    let due = false;
    patientTimer(100, clock).subscribe(() => (due = true));
    clock.lateMs = -3_600_000;
    await clock.advance(100);
    expect(due).toBe(true);
  });

  it.each([Infinity, 2 ** 31, 2 ** 33])("does not fire at once for %d ms, on a runtime's timers", async (ms) => {
    using clock = globalClock();
    let isDue = false;
    const waiting = patientTimer(ms, asyncScheduler).subscribe(() => (isDue = true));
    await clock.advance(60_000);
    waiting.unsubscribe();
    expect(isDue).toBe(false);
  });

  it('is as long as it is said to be beyond 25 days', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ expectObservable }) => {
      expectObservable(patientTimer(2 ** 33 + 5, scheduler)).toBe(`${2 ** 33 + 5}ms (a|)`, { a: 0 });
      expectObservable(patientTimer(Infinity, scheduler)).toBe('-');
    });
  });
});

describe('Alarm', () => {
  function alarm(clock: TestClock): { readonly alarm: Alarm; readonly rung: number[] } {
    const rung: number[] = [];
    return { alarm: new Alarm(clock, (at) => rung.push(at)), rung };
  }

  it('rings once, at the deadline that was set last, and can be set again', async () => {
    const clock = new TestClock();
    const { alarm: one, rung } = alarm(clock);
    for (const at of [100, 300, 200]) one.set(at);
    await clock.advance(199);
    expect(rung).toEqual([]);
    await clock.advance(500);
    expect(rung).toEqual([200]);
    one.set(800);
    await clock.advance(101);
    expect(rung).toEqual([200, 800]);
    expect(clock.pending).toBe(0);
  });

  it('keeps one timer while its deadline moves later, and none without a deadline', () => {
    const clock = new TestClock();
    const { alarm: one } = alarm(clock);
    for (let at = 100; at < 200; at++) one.set(at);
    expect([clock.actions.length, clock.isDueIn(100)]).toEqual([1, true]);
    one.set(50);
    expect([clock.pending, clock.isDueIn(50)]).toEqual([1, true]);
    one.set(Infinity);
    expect(clock.pending).toBe(0);
  });

  it('rings for a deadline that has passed, but not within set()', async () => {
    const clock = new TestClock(500);
    const { alarm: one, rung } = alarm(clock);
    one.set(100);
    expect(rung).toEqual([]);
    await clock.advance(400);
    expect(rung).toEqual([100]);
  });

  it('does nothing once it is over', async () => {
    const clock = new TestClock();
    const { alarm: one, rung } = alarm(clock);
    one.set(100);
    one.unsubscribe();
    one.set(50);
    await clock.advance(1_000);
    expect([rung, clock.actions.length]).toEqual([[], 0]);
  });
});
