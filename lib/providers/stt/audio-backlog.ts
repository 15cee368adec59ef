import { bytesForMs, durationMs, frameBytes, type PcmFormat } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';

/** The audio that a service may still need: what it has not made final yet, in frames of bounded length. */
export class AudioBacklog {
  readonly format: PcmFormat;
  readonly #frameLength: number;
  readonly #carry: PcmCarry;
  #frames: Uint8Array<ArrayBuffer>[] = [];
  /** Position of the first frame that is kept, in bytes of all audio. */
  #start: number = 0;
  #length: number = 0;

  /** @param frameMs - Longest frame, in milliseconds. */
  constructor(format: PcmFormat, frameMs: number) {
    this.format = format;
    this.#frameLength = Math.max(bytesForMs(frameMs, format), frameBytes(format));
    this.#carry = new PcmCarry(frameBytes(format));
  }

  /** Position of the oldest audio that is kept, in milliseconds of all audio. */
  get startMs(): number {
    return durationMs(this.#start, this.format);
  }

  /** Position of the end of all audio so far, in milliseconds. */
  get endMs(): number {
    return durationMs(this.#start + this.#length, this.format);
  }

  /** Adds audio, cut anywhere; returns the whole frames that it makes. */
  push(data: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
    const samples = this.#carry.push(data);
    if (samples.length === 0) return [];
    const frames = samples.length <= this.#frameLength ? [samples] : this.#cut(samples);
    this.#frames.push(...frames);
    this.#length += samples.length;
    return frames;
  }

  /** Forgets the audio before a position. */
  release(ms: number): void {
    this.#drop(Math.min(bytesForMs(ms, this.format) - this.#start, this.#length));
  }

  /** Keeps the newest `maxMs` milliseconds; returns whether anything had to go. */
  trim(maxMs: number): boolean {
    const excess = this.#length - bytesForMs(maxMs, this.format);
    this.#drop(excess);
    return excess > 0;
  }

  /** The audio from a position on, as far as it is kept. Default: all of it. */
  from(ms: number = 0): readonly Uint8Array<ArrayBuffer>[] {
    let skip = bytesForMs(ms, this.format) - this.#start;
    const frames: Uint8Array<ArrayBuffer>[] = [];
    for (const frame of this.#frames) {
      if (skip < frame.length) frames.push(skip > 0 ? frame.subarray(skip) : frame);
      skip -= frame.length;
    }
    return frames;
  }

  #cut(samples: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    const frames: Uint8Array<ArrayBuffer>[] = [];
    for (let at = 0; at < samples.length; at += this.#frameLength) {
      frames.push(samples.subarray(at, at + this.#frameLength));
    }
    return frames;
  }

  #drop(bytes: number): void {
    if (bytes <= 0) return;
    let rest = bytes;
    let whole = 0;
    for (const frame of this.#frames) {
      if (rest < frame.length) break;
      rest -= frame.length;
      whole++;
    }
    if (whole > 0) this.#frames.splice(0, whole);
    const first = this.#frames[0];
    if (rest > 0 && first) this.#frames[0] = first.subarray(rest);
    this.#start += bytes;
    this.#length -= bytes;
  }
}

/**
 * Turns a connection's time into that of all audio: the connection began with audio from the middle, and hears silence
 * that nobody said.
 */
export class ConnectionClock {
  /** From these moments of the connection on, its time and that of the audio differ by another amount. */
  #marks: { readonly at: number; readonly audioMs: number }[];
  #sentMs: number = 0;

  /** @param audioMs - Position of the first audio that the connection hears. */
  constructor(audioMs: number) {
    this.#marks = [{ at: 0, audioMs }];
  }

  /** Milliseconds that the connection has heard. */
  get sentMs(): number {
    return this.#sentMs;
  }

  /** Audio was sent. */
  sent(ms: number): void {
    this.#sentMs += ms;
  }

  /** Silence of our own was sent. */
  filled(ms: number): void {
    const audioMs = this.toAudioMs(this.#sentMs);
    this.#sentMs += ms;
    this.#marks.push({ at: this.#sentMs, audioMs });
    if (this.#marks.length > maxMarks) this.#marks.shift();
  }

  /** The position in all audio of a moment of the connection, in milliseconds. */
  toAudioMs(ms: number): number {
    const index = this.#marks.findLastIndex(({ at }) => at <= ms);
    const mark = this.#marks[index] ?? this.#marks[0];
    if (!mark) return ms;
    const next = this.#marks[index + 1]?.audioMs ?? Infinity;
    return Math.min(mark.audioMs + ms - mark.at, next);
  }
}

/** Results come for the last minutes at most. */
const maxMarks = 1_024;
