import { VirtualTimeScheduler } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { loadAhead } from './load-ahead.ts';

/** How long nothing may be due, in real milliseconds: only what takes real time can still end that. */
const deadMs = 5_000;

/**
 * A clock on which a minute takes a moment, and promises settle between any two of its timers: for a `Pipeline` with the
 * application around it, its asynchronous tools included. Pass it as `scheduler` to the pipeline and all its providers.
 * Nothing else moves it: what takes real time, such as a request, is not waited for while anything is due.
 *
 * @example
 * ```ts
 * import { Pipeline } from 'rxvoice';
 * import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, VirtualClock } from 'rxvoice/testing';
 *
 * const scheduler = new VirtualClock();
 * const stt = new FakeSTT({ scheduler });
 * const ends = [new FakeInput({ scheduler }), new FakeOutput({ scheduler })];
 * const agent = new Pipeline({
 *   providers: [...ends, stt, new FakeLLM({ scheduler }), new FakeTTS({ scheduler })],
 *   scheduler,
 * });
 * await agent.initialize(); // loads code, in real time
 * await scheduler.run(agent.start());
 * stt.hearWords(FakeSTT.result('hello', 'final'));
 * await scheduler.pass(60_000);
 * await scheduler.run(agent.dispose());
 * ```
 */
export class VirtualClock extends VirtualTimeScheduler {
  constructor() {
    super(undefined, 0);
    loadAhead();
  }

  /**
   * Lets time pass, with everything that falls due in it.
   *
   * @param ms - In milliseconds.
   */
  async pass(ms: number): Promise<void> {
    const end = this.now() + ms;
    while (await this.#next(end));
    this.frame = end;
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
      const isDue = await this.#next(Infinity, () => state.isDone);
      if (state.isDone) return finished;
      if (isDue) idleSince = undefined;
      else if (performance.now() - (idleSince ??= performance.now()) > deadMs) {
        throw new VoiceError(
          'nothing is due in virtual time: give the pipeline and every provider the scheduler; what takes real time needs ' +
            'a real clock (of evaluate(), time: "real")',
          { code: 'timeout' },
        );
      }
    }
  }

  /** Once every promise that can has settled, does what is due next; whether there is anything until then. */
  async #next(until: number, isDone: () => boolean = () => false): Promise<boolean> {
    await settle();
    const [next] = this.actions;
    if (!next || next.delay > until || isDone()) return false;
    this.maxFrames = next.delay;
    this.flush();
    return true;
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
