import { VirtualTimeScheduler } from 'rxjs';

/** A clock that stands until it is told to go on; promises settle between any two of its timers. */
export class TestClock extends VirtualTimeScheduler {
  constructor() {
    super(undefined, 0);
  }

  /** Lets `ms` milliseconds pass. */
  async advance(ms: number): Promise<void> {
    const target = this.frame + ms;
    await settle();
    for (let next = this.actions[0]; next && next.delay <= target; next = this.actions[0]) {
      this.maxFrames = next.delay;
      this.flush();
      await settle();
    }
    this.frame = target;
  }

  /** Timers that are still to come. */
  get pending(): number {
    return this.actions.filter((action) => !action.closed).length;
  }
}

/** Lets every promise that can settle do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
