import { asyncScheduler } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { patientTimer } from '../../lib/stream/patient-timer.ts';
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

  it.each([Infinity, 2 ** 31, 2 ** 33])('does not fire at once when it is for %d ms, on the real clock', async (ms) => {
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warn);
    let isDue = false;
    const waiting = patientTimer(ms, asyncScheduler).subscribe(() => (isDue = true));
    await new Promise((resolve) => setTimeout(resolve, 20));
    waiting.unsubscribe();
    process.off('warning', warn);
    expect([isDue, warnings]).toEqual([false, []]);
  });

  it('is as long as it is said to be beyond 25 days', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ expectObservable }) => {
      expectObservable(patientTimer(2 ** 33 + 5, scheduler)).toBe(`${2 ** 33 + 5}ms (a|)`, { a: 0 });
      expectObservable(patientTimer(Infinity, scheduler)).toBe('-');
    });
  });
});
