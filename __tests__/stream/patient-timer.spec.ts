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
});
