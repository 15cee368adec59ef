import { VirtualTimeScheduler } from 'rxjs';
import { VoiceError } from '../core/errors.ts';

/** How long nothing may be due, in real milliseconds: only what takes real time can still end that. */
const deadMs = 5_000;

/** A clock on which a minute takes a moment: promises settle between any two of its timers. */
export class VirtualClock extends VirtualTimeScheduler {
  constructor() {
    super(undefined, 0);
  }

  /**
   * Goes on until some work is done.
   *
   * @throws VoiceError `timeout` when nothing is due any more, and the work is not done; or what the work throws.
   */
  async run<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const finished = work.finally(() => {
      state.isDone = true;
    });
    finished.catch(() => undefined);
    let idleSince: number | undefined;
    for (;;) {
      await settle();
      if (state.isDone) return finished;
      const [next] = this.actions;
      if (next) {
        idleSince = undefined;
        this.maxFrames = next.delay;
        this.flush();
      } else if (performance.now() - (idleSince ??= performance.now()) > deadMs) {
        throw new VoiceError(
          'nothing is due in virtual time: give every provider the scheduler of the call, or use time: "real"',
          { code: 'timeout' },
        );
      }
    }
  }
}

/** Lets every promise that can settle do so. A page has only the slow way. */
function settle(): Promise<void> {
  const { setImmediate: soon } = globalThis as { readonly setImmediate?: (run: () => void) => unknown };
  return new Promise((resolve) => {
    if (soon) soon(resolve);
    else setTimeout(resolve);
  });
}
