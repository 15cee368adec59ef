import { interval, tap, type SchedulerLike, type Subscription } from 'rxjs';
import { bytesForMs, durationMs, frameBytes, silenceByte, type PcmFormat } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';
import { Pauses, type FeedItem } from './pauses.ts';

export type { FeedItem } from './pauses.ts';

type Items = readonly FeedItem[];

/** How a service with a speed limit catches up. */
export interface CatchUp {
  /** Maximum speed for queued audio, as a multiple of real time. */
  readonly speed: number;
  /** Silence after which the service ends an utterance, in milliseconds: longer pauses are shortened. Default: 3,000. */
  readonly endingMs?: number | undefined;
}

/** How a service wants its audio. */
export interface FeedOptions {
  /** Shortest frame, in milliseconds; 0 for any. */
  readonly minFrameMs: number;
  /** How queued audio is sent; `undefined` for all of it at once. */
  readonly catchUp: CatchUp | undefined;
  readonly scheduler: SchedulerLike;
  /** Sends audio whose time has come. */
  readonly send: (items: Items) => void;
}

/** Audio sent at once even under a speed limit, in milliseconds. */
const burstMs = 1_000;
/** Longest frame of silence, in milliseconds. */
const padMs = 100;
/** Interval between checks of the queue, in milliseconds. */
const tickMs = 20;

/**
 * Feeds one connection: in frames as long as the service requires, no faster than it accepts. What has to wait loses its
 * long pauses.
 */
export class AudioFeed {
  readonly #format: PcmFormat;
  readonly #options: FeedOptions;
  /** Bytes of the shortest frame. */
  readonly #shortest: number;
  readonly #carry: PcmCarry | undefined;
  readonly #limits: { readonly speed: number; readonly pauses: Pauses } | undefined;
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
    const { catchUp } = options;
    if (catchUp) this.#limits = { speed: catchUp.speed, pauses: new Pauses(format, catchUp.endingMs) };
    this.#at = options.scheduler.now();
  }

  /** Whether audio is queued. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Queued audio, in milliseconds. */
  get waitingMs(): number {
    return this.#waiting.reduce((sum, item) => sum + this.#msOf(item), 0);
  }

  /** Queues frames and messages; returns what may be sent now. */
  push(items: Items): Items {
    const whole = this.#carry ? items.map((item) => this.#whole(item)).filter(isNotEmpty) : items;
    return this.#take(whole);
  }

  /** Queues a message about the audio so far: what is too short to be sent is filled with silence first. */
  tell(message: string): Items {
    return [...this.pad(0), ...this.push([message])];
  }

  /** Queues silence that is not part of the audio, so much that it ends with a whole frame. */
  pad(ms: number): Items {
    const length = bytesForMs(ms, this.#format);
    const rest = this.#carry && this.#shortest ? (this.#carry.pending + length) % this.#shortest : 0;
    const silence = new Uint8Array(length + (rest && this.#shortest - rest)).fill(silenceByte(this.#format.encoding));
    if (silence.length === 0) return [];
    const step = bytesForMs(padMs, this.#format);
    const pieces = Array.from({ length: Math.ceil(silence.length / step) }, (_, at) =>
      silence.subarray(at * step, (at + 1) * step),
    );
    return this.push([...pieces, { paddedMs: durationMs(silence.length, this.#format) }]);
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
    return item instanceof Uint8Array ? (this.#carry?.push(item) ?? item) : item;
  }

  #take(items: Items): Items {
    if (!this.#limits) return items;
    const { speed, pauses } = this.#limits;
    const { scheduler } = this.#options;
    const now = scheduler.now();
    // A clock that was set back earns nothing.
    this.#credit = Math.min(burstMs, this.#credit + Math.max(0, now - this.#at) * speed);
    this.#at = now;
    this.#queue(items, pauses);
    let count = 0;
    for (const item of this.#waiting) {
      if (item instanceof Uint8Array && this.#credit <= 0) break;
      this.#credit -= this.#msOf(item);
      count++;
    }
    const due = this.#waiting.splice(0, count);
    if (this.#waiting.length > 0)
      this.#timer ??= interval(tickMs, scheduler)
        .pipe(tap(() => this.#tick()))
        .subscribe();
    return due;
  }

  #queue(items: Items, pauses: Pauses): void {
    if (this.#waiting.length > 0 || items.length > 1) {
      for (const item of items) pauses.add(this.#waiting, item);
      return;
    }
    // Live audio is not measured.
    this.#waiting.push(...items);
    if (items.length > 0) pauses.passed();
  }

  #msOf(item: FeedItem): number {
    return item instanceof Uint8Array ? durationMs(item.length, this.#format) : 0;
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

function isNotEmpty(item: FeedItem): boolean {
  return !(item instanceof Uint8Array || typeof item === 'string') || item.length > 0;
}
