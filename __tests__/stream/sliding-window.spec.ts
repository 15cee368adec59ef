import fc from 'fast-check';
import { SlidingWindow } from '../../lib/stream/sliding-window.ts';

describe('SlidingWindow', () => {
  it('is open until its limit is used up', () => {
    let window = new SlidingWindow(10, 1000);
    expect(window.waitMs(10, 0)).toBe(0);
    window = window.add(6, 0);
    expect([window.left(0), window.waitMs(4, 0), window.waitMs(5, 0)]).toEqual([4, 0, 1000]);
  });

  it('frees what has left the window, oldest first', () => {
    let window = new SlidingWindow(10, 1000);
    window = window.add(6, 0);
    window = window.add(4, 300);
    expect([window.waitMs(6, 400), window.waitMs(7, 400)]).toEqual([600, 900]);
    expect([window.left(999), window.left(1000), window.left(1300)]).toEqual([0, 6, 10]);
  });

  it('lets an amount above the limit wait for an empty window, not for ever', () => {
    let window = new SlidingWindow(10, 1000);
    expect(window.waitMs(50, 0)).toBe(0);
    window = window.add(1, 0);
    expect(window.waitMs(50, 100)).toBe(900);
  });

  it('joins many amounts into a few, and frees none of them too early, nor much too late', () => {
    const [limit, windowMs] = [10_000, 64_000];
    let window = new SlidingWindow(limit, windowMs);
    for (let now = 0; now < windowMs; now += 10) window = window.add(1, now);
    expect(window.left(windowMs - 1)).toBe(limit - 6_400);
    const steps = new Set<number>();
    for (let now = windowMs; now < 2 * windowMs; now += 10) {
      const freed = window.left(now) - (limit - 6_400);
      const due = (now - windowMs) / 10 + 1;
      steps.add(freed);
      expect(freed).toBeLessThanOrEqual(due);
      expect(freed).toBeGreaterThan(due - 100);
    }
    // Of 6,400 amounts, 64 are freed one by one, and the others by the second.
    expect(steps.size).toBeGreaterThan(64);
    expect(steps.size).toBeLessThanOrEqual(64 + 64);
    expect(window.left(2 * windowMs)).toBe(limit);
  });

  it('F45: is open again when the clock was set back, not an hour later', () => {
    const window = new SlidingWindow(10, 1000).add(10, 3_600_000);
    expect([window.waitMs(10, 3_600_000), window.waitMs(10, 0)]).toEqual([1000, 0]);
  });

  it('never lets more than its limit through in any window, whatever the demand', () => {
    const demand = fc.array(fc.tuple(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 400 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(demand, (demand) => {
        let window = new SlidingWindow(10, 1000);
        const sent: { at: number; amount: number }[] = [];
        let now = 0;
        for (const [amount, pause] of demand) {
          now += pause;
          now += window.waitMs(amount, now);
          expect(window.waitMs(amount, now)).toBe(0);
          window = window.add(amount, now);
          sent.push({ at: now, amount });
        }
        for (const { at } of sent) {
          const within = sent.filter((each) => each.at >= at && each.at < at + 1000);
          expect(within.reduce((sum, { amount }) => sum + amount, 0)).toBeLessThanOrEqual(10);
        }
      }),
    );
  });
});
