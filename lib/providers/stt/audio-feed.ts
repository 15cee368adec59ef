import { interval, tap, type SchedulerLike, type Subscription } from 'rxjs';
import { durationMs, frameBytes, silenceByte, type PcmFormat } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';

/** Audio, or a message to send after it. */
export type FeedItem = Uint8Array<ArrayBuffer> | string;
type Items = readonly FeedItem[];

/** How a service wants its audio. */
export interface FeedOptions {
  /** Shortest frame, in milliseconds; 0 for any. */
  readonly minFrameMs: number;
  /** Maximum speed for queued audio, as a multiple of real time; `undefined` for no limit. */
  readonly speed: number | undefined;
  readonly scheduler: SchedulerLike;
  /** Sends audio whose time has come. */
  readonly send: (items: Items) => void;
}

/** Audio sent at once even under a speed limit, in milliseconds. */
const burstMs = 1_000;
/** Interval between checks of the queue, in milliseconds. */
const tickMs = 20;

/** Feeds one connection: in frames as long as the service requires, no faster than it accepts. */
export class AudioFeed {
  readonly #format: PcmFormat;
  readonly #options: FeedOptions;
  /** Bytes of the shortest frame. */
  readonly #shortest: number;
  readonly #carry: PcmCarry | undefined;
  #waiting: FeedItem[] = [];
  /** Milliseconds of audio that could be sent at `#at`. */
  #credit: number = burstMs;
  #at: number;
  #timer: Subscription | undefined;

  constructor(format: PcmFormat, options: FeedOptions) {
    this.#format = format;
    this.#options = options;
    // Rounded up: a frame that is half a sample short is too short.
    const samples = Math.ceil((options.minFrameMs * format.sampleRate) / 1000);
    this.#shortest = samples > 0 ? samples * frameBytes(format) : 0;
    if (this.#shortest > 0) this.#carry = new PcmCarry(this.#shortest);
    this.#at = options.scheduler.now();
  }

  /** Whether audio is queued. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Queued audio, in milliseconds. */
  get waitingMs(): number {
    return this.#waiting.reduce(
      (sum, item) => (typeof item === 'string' ? sum : sum + durationMs(item.length, this.#format)),
      0,
    );
  }

  /** Queues frames and messages; returns what may be sent now. */
  push(items: Items): Items {
    const whole = this.#carry ? items.map((item) => this.#whole(item)).filter(({ length }) => length > 0) : items;
    return this.#options.speed === undefined ? whole : this.#take(whole);
  }

  /** Ends the audio: returns everything queued, with the last frame padded with silence. */
  flush(): Items {
    const items = [...this.#waiting];
    if (this.#carry?.pending) {
      const missing = this.#shortest - this.#carry.pending;
      items.push(this.#carry.push(new Uint8Array(missing).fill(silenceByte(this.#format.encoding))));
    }
    this.stop();
    return items;
  }

  /** Drops the queue. */
  stop(): void {
    this.#timer?.unsubscribe();
    this.#timer = undefined;
    this.#waiting = [];
    this.#carry?.reset();
  }

  #whole(item: FeedItem): FeedItem {
    return typeof item === 'string' ? item : (this.#carry?.push(item) ?? item);
  }

  #take(items: Items): Items {
    const { speed = 1, scheduler } = this.#options;
    const now = scheduler.now();
    // A clock that was set back earns nothing.
    this.#credit = Math.min(burstMs, this.#credit + Math.max(0, now - this.#at) * speed);
    this.#at = now;
    this.#waiting.push(...items);
    let count = 0;
    for (const item of this.#waiting) {
      if (typeof item !== 'string') {
        if (this.#credit <= 0) break;
        this.#credit -= durationMs(item.length, this.#format);
      }
      count++;
    }
    const due = this.#waiting.splice(0, count);
    if (this.#waiting.length > 0)
      this.#timer ??= interval(tickMs, scheduler)
        .pipe(tap(() => this.#tick()))
        .subscribe();
    return due;
  }

  #tick(): void {
    const due = this.#take([]);
    if (!this.isWaiting) {
      this.#timer?.unsubscribe();
      this.#timer = undefined;
    }
    if (due.length > 0) this.#options.send(due);
  }
}
