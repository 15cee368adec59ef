import type { Subscription } from 'rxjs';
import { TestClock } from './test-clock.ts';

/**
 * A clock in place of the timers and the stop-watch that programs find in the global object, until it is disposed of.
 * What a system does for itself (sockets, files) goes on in real time.
 */
export function globalClock(): TestClock & Disposable {
  const clock = new TestClock();
  const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = globalThis;
  const clear = (timer?: Subscription | NodeJS.Timeout): void => {
    // One that began before this clock is the system's.
    if (timer && 'unsubscribe' in timer) timer.unsubscribe();
    else clearTimeout(timer);
  };
  const globals = {
    setTimeout: (work: () => void, ms = 0): Subscription => clock.schedule(() => work(), ms),
    setInterval: (work: () => void, ms = 0): Subscription =>
      clock.schedule(function again() {
        work();
        this.schedule(undefined, ms);
      }, ms),
    clearTimeout: clear,
    clearInterval: clear,
    performance: { now: () => clock.now() },
  };
  const put = (values: object): void => {
    for (const [name, value] of Object.entries(values)) {
      Object.defineProperty(globalThis, name, { value: value as unknown, configurable: true, writable: true });
    }
  };
  put(globals);
  return Object.assign(clock, {
    [Symbol.dispose]: () => put({ setTimeout, clearTimeout, setInterval, clearInterval, performance }),
  });
}
