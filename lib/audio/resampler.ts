import { canResample, filterBank, type FilterBank, type ResamplerQuality } from './filter-bank.ts';
import type { Samples } from './samples.ts';

export { canResample } from './filter-bank.ts';
export type { ResamplerQuality } from './filter-bank.ts';

/** Options of {@link Resampler}. */
export interface ResamplerOptions {
  /** Interleaved channels. Default: 1. */
  readonly channels?: number;
  /** Default: `speech`. */
  readonly quality?: ResamplerQuality;
}

/** Input samples that are worked on at once: bounds the memory and keeps it in the cache. */
const blockLength = 4096;

/**
 * A streaming, band-limited sample rate converter: a polyphase filter with a Kaiser window. Its state carries over from
 * piece to piece, so pieces of any size give bit for bit the samples of one call over the whole signal, and after
 * {@link Resampler.flush} exactly `input * to / from` samples (rounded up).
 *
 * Latency: a sample comes out {@link Resampler.latencyMs} after it went in; time-aligned output, so nothing is delayed in
 * the signal itself. With the lower rate at 8000 Hz that is 7.8 ms (`strict`) or 4 ms (`speech`), at 16000 Hz half of it.
 */
export class Resampler {
  readonly from: number;
  readonly to: number;
  readonly channels: number;
  readonly #bank: FilterBank | undefined;
  readonly #buffers: Float64Array<ArrayBuffer>[];
  /** Samples in each buffer; the filter of the next output starts at `#start`. */
  #filled: number = 0;
  #start: number = 0;
  #phase: number = 0;
  #received: number = 0;
  #produced: number = 0;
  #float: boolean = false;

  /**
   * @param from - Sample rate of what is pushed, in Hz: an integer.
   * @param to - Sample rate of what comes out, in Hz. Any pair of 8000, 11025, 16000, 22050, 24000, 32000, 44100 and
   * 48000 works, and most others.
   * @throws RangeError for rates whose ratio would need an unreasonably large filter.
   */
  constructor(from: number, to: number, { channels = 1, quality = 'speech' }: ResamplerOptions = {}) {
    if (!canResample(from, to))
      throw new RangeError(`cannot resample ${from} Hz to ${to} Hz: use a common sample rate`);
    this.from = from;
    this.to = to;
    this.channels = channels;
    this.#bank = from === to ? undefined : filterBank(from, to, quality);
    const capacity = blockLength + (this.#bank?.taps ?? 0);
    this.#buffers = Array.from({ length: this.#bank ? channels : 0 }, () => new Float64Array(capacity));
    this.reset();
  }

  /** How much later than its input a sample comes out, in milliseconds, apart from the caller's own framing. */
  get latencyMs(): number {
    return this.#bank ? (this.#bank.taps / 2 / this.from) * 1000 : 0;
  }

  /** Takes samples of any number; returns those that can be computed now, of the same kind. */
  push<T extends Samples>(samples: T): T;
  push(samples: Samples): Samples {
    if (!this.#bank) return samples;
    this.#float = samples instanceof Float32Array;
    const frames = Math.floor(samples.length / this.channels);
    const out = this.#allocate(this.#available(this.#received + frames) - this.#produced);
    const scale = this.#float ? 1 : 1 / 32768;
    this.#received += frames;
    let written = 0;
    for (let at = 0; at < frames; at += blockLength) {
      const length = Math.min(blockLength, frames - at);
      this.#take(samples, at, length, scale);
      written += this.#compute(this.#bank, out, written, out.length / this.channels - written);
    }
    return out;
  }

  /** The rest of the signal, as if silence followed, in the kind of samples that was pushed last; then starts afresh. */
  flush(): Samples {
    if (!this.#bank) return this.#allocate(0);
    const total = Math.ceil((this.#received * this.#bank.phases) / this.#bank.step);
    const out = this.#allocate(total - this.#produced);
    this.#take(undefined, 0, this.#bank.taps / 2, 0);
    this.#compute(this.#bank, out, 0, total - this.#produced);
    this.reset();
    return out;
  }

  /** Forgets the signal so far. */
  reset(): void {
    for (const buffer of this.#buffers) buffer.fill(0);
    // The first output lies on the first input sample: half a filter of silence stands before it.
    this.#filled = this.#bank ? this.#bank.taps / 2 - 1 : 0;
    this.#start = 0;
    this.#phase = 0;
    this.#received = 0;
    this.#produced = 0;
  }

  #allocate(frames: number): Samples {
    const length = frames * this.channels;
    return this.#float ? new Float32Array(length) : new Int16Array(length);
  }

  /** How many output samples the first `received` input samples determine. */
  #available(received: number): number {
    if (!this.#bank) return received;
    const { phases, step, taps } = this.#bank;
    return Math.max(0, Math.ceil(((received - taps / 2) * phases) / step));
  }

  /** Appends input to the buffers; silence when there is none. */
  #take(samples: Samples | undefined, at: number, length: number, scale: number): void {
    const { channels } = this;
    this.#buffers.forEach((buffer, channel) => {
      const filled = this.#filled;
      if (!samples) buffer.fill(0, filled, filled + length);
      else {
        let source = at * channels + channel;
        for (let index = 0; index < length; index++, source += channels) {
          buffer[filled + index] = (samples[source] ?? 0) * scale;
        }
      }
    });
    this.#filled += length;
  }

  /** Computes up to `most` outputs from what the buffers hold, and lets go of input that no later one needs. */
  #compute(bank: FilterBank, out: Samples, written: number, most: number): number {
    const { phases, step, taps, coefficients } = bank;
    const last = this.#filled - taps;
    let start = this.#start;
    let phase = this.#phase;
    let count = 0;
    for (; count < most && start <= last; count++) {
      this.#buffers.forEach((buffer, channel) => {
        let sum = 0;
        const row = phase * taps;
        for (let tap = 0; tap < taps; tap++) sum += (buffer[start + tap] ?? 0) * (coefficients[row + tap] ?? 0);
        const index = (written + count) * this.channels + channel;
        out[index] = this.#float ? sum : Math.max(-32768, Math.min(32767, Math.round(sum * 32768)));
      });
      phase += step;
      start += Math.floor(phase / phases);
      phase %= phases;
    }
    this.#produced += count;
    this.#phase = phase;
    const gone = Math.min(start, this.#filled);
    for (const buffer of this.#buffers) buffer.copyWithin(0, gone, this.#filled);
    this.#filled -= gone;
    this.#start = start - gone;
    return count;
  }
}
