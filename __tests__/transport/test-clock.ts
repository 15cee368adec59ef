import { VirtualTimeScheduler, type SchedulerAction, type Subscription } from 'rxjs';
// What a pipeline loads when it is first needed is loaded beforehand: this clock does not wait for a file to be read.
import '@cfworker/json-schema';
import '../../lib/conversation/answer/captions.ts';
import '../../lib/playback/audio-levels.ts';

/** The longest wait of a runtime's timers, in milliseconds (25 days); they take a longer one for none. */
const longestWaitMs = 2 ** 31 - 1;

/** A clock that stands until it is told to go on; promises settle between any two of its timers. */
export class TestClock extends VirtualTimeScheduler {
  /** @param startAt - What it shows at first: the time of day, for a service that looks at it. */
  constructor(startAt: number = 0) {
    super(undefined, 0);
    this.frame = startAt;
  }

  override schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    return super.schedule(work, delay > longestWaitMs ? 1 : delay, state);
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

  /** Whether a timer is due in so many milliseconds, neither earlier nor later. */
  isDueIn(ms: number): boolean {
    return this.#due.some(({ delay }) => Math.abs(delay - this.frame - ms) < 1e-6);
  }

  /**
   * Lets time pass until something happens, from one timer to the next: those of up to `longestMs`, such as the waits
   * between attempts. Longer ones stand, such as the wait for an answer that a real socket is about to bring.
   */
  async passUntil(happened: () => boolean, longestMs: number): Promise<void> {
    const dueMs = (): number => Math.min(...this.#due.map(({ delay }) => delay)) - this.frame;
    for (;;) {
      await until(() => happened() || dueMs() <= longestMs);
      if (happened()) return;
      await this.advance(dueMs());
    }
  }

  /** Timers that are still to come. */
  get pending(): number {
    return this.#due.length;
  }

  get #due(): { readonly delay: number }[] {
    return this.actions.filter(({ closed }) => !closed);
  }
}

/** Lets every promise that can settle do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets the timers that are due run, such as the one in which RxJS reports an error: this one is set after them. */
export function timersDue(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

const realNow = performance.now.bind(performance);

/** Waits for something that this machine's sockets are about to bring; a test that waits in vain fails, and ends. */
export async function until(happened: () => boolean): Promise<void> {
  const giveUpAt = realNow() + 20_000;
  while (!happened()) {
    if (realNow() > giveUpAt) throw new Error(`It has not happened: ${String(happened)}`);
    await settle();
  }
}
