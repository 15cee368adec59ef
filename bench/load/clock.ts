import type { PhoneLine } from '../../samples/sandbox/phone-line.ts';
import { frameMs } from './judge.ts';

/** Callers are spread over a frame's time, as they are in life. */
const stepMs = 5;

/** One clock for many telephones, which counts what comes late. */
export class Clock {
  readonly #phones = new Map<PhoneLine, number>();
  readonly #latest = new WeakMap<PhoneLine, number>();
  readonly #timer: ReturnType<typeof setInterval>;
  frames = 0;
  /** Those that came more than a frame too late. */
  lateFrames = 0;

  constructor() {
    this.#timer = setInterval(() => this.#tick(), stepMs);
  }

  add(phone: PhoneLine): void {
    this.#phones.set(phone, performance.now());
    void phone.ended.then(() => this.#phones.delete(phone));
  }

  /** How late a telephone was at worst, in milliseconds. */
  latestMs(phone: PhoneLine): number {
    return this.#latest.get(phone) ?? 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    for (const [phone, began] of this.#phones) {
      const lateMs = now - began - phone.nowMs;
      if (lateMs > this.latestMs(phone)) this.#latest.set(phone, lateMs);
      const due = Math.floor(lateMs / frameMs);
      phone.advance(due * frameMs);
      this.frames += due;
      this.lateFrames += Math.max(0, due - 1);
    }
  }
}
