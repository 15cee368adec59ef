import { bytesForMs, durationMs, frameBytes, type PcmFormat } from '../../audio/formats.ts';
import { PcmCarry } from '../../audio/pcm-carry.ts';

/** Audio per block, in milliseconds: keeping thousands of single frames would burden the garbage collector. */
const blockMs = 1_000;

/** A copy of the audio that the service has not made final yet. */
export class AudioBacklog {
  readonly format: PcmFormat;
  readonly #frameLength: number;
  readonly #blockLength: number;
  readonly #carry: PcmCarry;
  /** All but the last are full. */
  #blocks: Uint8Array<ArrayBuffer>[] = [];
  /** Position of the first block, in bytes of all audio. */
  #base: number = 0;
  /** Start and end of the kept audio, in bytes of all audio. */
  #start: number = 0;
  #end: number = 0;

  /** @param frameMs - Longest frame, in milliseconds. */
  constructor(format: PcmFormat, frameMs: number) {
    this.format = format;
    this.#frameLength = Math.max(bytesForMs(frameMs, format), frameBytes(format));
    this.#blockLength = Math.ceil(bytesForMs(blockMs, format) / this.#frameLength) * this.#frameLength;
    this.#carry = new PcmCarry(frameBytes(format));
  }

  /** Position of the oldest audio kept, in milliseconds of all audio. */
  get startMs(): number {
    return durationMs(this.#start, this.format);
  }

  /** Position of the end of all audio so far, in milliseconds. */
  get endMs(): number {
    return durationMs(this.#end, this.format);
  }

  /** Adds audio, split anywhere; returns the whole frames now available. */
  push(data: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
    const samples = this.#carry.push(data);
    if (samples.length === 0) return [];
    this.#keep(samples);
    return samples.length <= this.#frameLength ? [samples] : this.#cut(samples);
  }

  /** Drops the audio before a position. */
  release(ms: number): void {
    this.#drop(bytesForMs(ms, this.format));
  }

  /** Keeps only the newest `maxMs` milliseconds; returns how many were dropped. */
  trim(maxMs: number): number {
    const before = this.#start;
    this.#drop(this.#end - bytesForMs(maxMs, this.format));
    return this.#start === before ? 0 : durationMs(this.#start - before, this.format);
  }

  /** The kept audio from a position on, in frames. Default: all of it. */
  from(ms: number = 0): readonly Uint8Array<ArrayBuffer>[] {
    const start = Math.max(this.#start, bytesForMs(ms, this.format));
    return this.#blocks.flatMap((block, index) => {
      const base = this.#base + index * this.#blockLength;
      return this.#cut(block.subarray(Math.max(0, start - base), Math.max(0, this.#end - base)));
    });
  }

  #keep(samples: Uint8Array<ArrayBuffer>): void {
    let rest = samples;
    while (rest.length > 0) {
      const at = (this.#end - this.#base) % this.#blockLength;
      if (at === 0) this.#blocks.push(new Uint8Array(this.#blockLength));
      const fits = rest.length <= this.#blockLength - at;
      const fitting = fits ? rest : rest.subarray(0, this.#blockLength - at);
      this.#blocks.at(-1)?.set(fitting, at);
      this.#end += fitting.length;
      // Nearly always: a view of nothing would cost more than the copy.
      if (fits) return;
      rest = rest.subarray(fitting.length);
    }
  }

  #cut(samples: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    const frames: Uint8Array<ArrayBuffer>[] = [];
    for (let at = 0; at < samples.length; at += this.#frameLength) {
      frames.push(samples.subarray(at, at + this.#frameLength));
    }
    return frames;
  }

  #drop(position: number): void {
    if (position <= this.#start) return;
    this.#start = Math.min(position, this.#end);
    const past = Math.floor((this.#start - this.#base) / this.#blockLength);
    if (past === 0) return;
    this.#blocks.splice(0, past);
    this.#base += past * this.#blockLength;
  }
}

/** Most bytes kept of a stream: a quarter of an hour of FLAC, more than an hour of Opus. */
const maxBytes = 16 * 1024 * 1024;

/** A lower bound of compressed speech, so that a recording's length is never underestimated. */
const leastBytesPerMs = 2;

/**
 * Compressed audio that a service may still need. Such a stream can only be decoded from its start, so another
 * connection receives all of it; if it was too long to keep, its first chunk, which holds the header, and the newest.
 */
export class EncodedBacklog {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #bytes: number = 0;
  #isWhole: boolean = true;
  #finalMs: number = 0;

  /** Position from which another connection resumes, in milliseconds of all audio; an estimate if audio was dropped. */
  get startMs(): number {
    return this.#isWhole ? 0 : this.#finalMs;
  }

  /** An upper bound for the end of all audio so far, in milliseconds. */
  get endMs(): number {
    return this.startMs + this.#bytes / leastBytesPerMs;
  }

  /** Adds a copy of a chunk, and returns it. */
  push(data: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
    const copy = new Uint8Array(data);
    this.#chunks.push(copy);
    this.#bytes += copy.length;
    return [copy];
  }

  /** Notes that the audio before a position is final; none of it can be dropped. */
  release(ms: number): void {
    this.#finalMs = ms;
  }

  /** Enforces the limit on bytes; returns an upper bound of the milliseconds that were dropped. */
  trim(_maxMs: number): number {
    if (this.#bytes <= maxBytes) return 0;
    const before = this.#bytes;
    let count = 0;
    for (const { length } of this.#chunks.slice(1)) {
      if (this.#bytes <= maxBytes) break;
      this.#bytes -= length;
      count++;
    }
    this.#chunks.splice(1, count);
    this.#isWhole = false;
    return (before - this.#bytes) / leastBytesPerMs;
  }

  /** Everything kept. */
  from(_ms?: number): readonly Uint8Array<ArrayBuffer>[] {
    return [...this.#chunks];
  }
}
