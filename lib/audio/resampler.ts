import { blockLength, type ResamplerQuality, type PolyphaseFilter } from './filter-bank.ts';
import { canResample } from './formats.ts';
import { polyphaseFilter } from './polyphase.ts';
import type { Samples } from './samples.ts';

/** Options of {@link Resampler}. */
export interface ResamplerOptions {
  /** Interleaved channels. Default: 1. */
  readonly channels?: number;
  /** Default: `speech`. */
  readonly quality?: ResamplerQuality;
}

/**
 * A streaming, band-limited sample rate converter: a polyphase filter with a Kaiser window. State carries over between
 * chunks, so chunks of any size give the same samples, bit for bit, as one call over the whole signal, and after {@link
 * Resampler.flush} exactly `input * to / from` of them (rounded up).
 *
 * Quality, measured against the ideal: error of tones up to 0.9 of the lower Nyquist frequency and aliases at -90 dB or
 * less, pass band within 0.001 dB; {@link ResamplerQuality} says where `speech` has aliases.
 *
 * Latency: the output is time-aligned with the input, and each sample is available once the input is half a filter
 * ahead of it ({@link Resampler.latencyMs}): where the lower rate is 8000 Hz, 7.9 ms (`strict`) or 4 ms (`speech`); at
 * 16000 Hz half of that, and so on.
 */
export class Resampler {
  /** Sample rate of the input, in Hz. */
  readonly from: number;
  /** Sample rate of the output, in Hz. */
  readonly to: number;
  /** Interleaved channels. */
  readonly channels: number;
  readonly #filter: PolyphaseFilter | undefined;
  readonly #signals: readonly Float32Array<ArrayBuffer>[];
  /** Samples in each channel's signal. */
  #filled: number = 0;
  /** The next output, counted from the start of the signal still held. */
  #next: number = 0;
  #received: number = 0;
  #produced: number = 0;
  #float: boolean = false;

  /**
   * @param from - Sample rate of the input, in Hz.
   * @param to - Sample rate of the output, in Hz. Any pair of 8000, 11025, 16000, 22050, 24000, 32000, 44100 and 48000
   * works, and most others; check with {@link canResample}.
   * @throws RangeError for a pair that would need an unreasonably large filter.
   */
  constructor(from: number, to: number, { channels = 1, quality = 'speech' }: ResamplerOptions = {}) {
    if (!canResample(from, to))
      throw new RangeError(`cannot resample ${from} Hz to ${to} Hz: use a common sample rate`);
    this.from = from;
    this.to = to;
    this.channels = channels;
    this.#filter = from === to ? undefined : polyphaseFilter(from, to, quality);
    const { lanes, laneLength } = this.#filter ?? { lanes: 0, laneLength: 0 };
    this.#signals = Array.from({ length: channels }, () => new Float32Array(lanes * laneLength));
    this.reset();
  }

  /** How far ahead of a sample the input must be before it is output, in milliseconds. */
  get latencyMs(): number {
    return ((this.#filter?.taps ?? 0) * 500) / this.from;
  }

  /**
   * Takes any number of samples and returns those now available, in the same kind. NaN and infinity become silence.
   * Equal rates return the samples themselves.
   */
  push<T extends Samples>(samples: T): T;
  push(samples: Samples): Samples {
    if (!this.#filter) return samples;
    this.#float = samples instanceof Float32Array;
    const { taps, phases, step } = this.#filter;
    const frames = Math.floor(samples.length / this.channels);
    this.#received += frames;
    const determined = Math.ceil(((this.#received - taps / 2) * phases) / step);
    const out = this.#allocate(Math.max(0, determined - this.#produced));
    let written = 0;
    for (let at = 0; at < frames; at += blockLength) {
      const length = Math.min(blockLength, frames - at);
      this.#append(samples, at, length, this.#filter);
      written += this.#compute(this.#filter, out, written);
    }
    this.#produced += written;
    return out;
  }

  /** The rest of the signal, as if followed by silence, in the kind of the last samples; then starts over. */
  flush(): Samples {
    if (!this.#filter) return this.#allocate(0);
    const { taps, phases, step } = this.#filter;
    const out = this.#allocate(Math.ceil((this.#received * phases) / step) - this.#produced);
    const silence = this.#allocate(taps / 2);
    let written = 0;
    for (let at = 0; at < taps / 2; at += blockLength) {
      this.#append(silence, at, Math.min(blockLength, taps / 2 - at), this.#filter);
      written += this.#compute(this.#filter, out, written);
    }
    this.reset();
    return out;
  }

  /** Drops the signal so far. */
  reset(): void {
    for (const signal of this.#signals) signal.fill(0);
    // The first output is aligned with the first input: half a filter of silence precedes it.
    this.#filled = this.#filter ? this.#filter.taps / 2 - 1 : 0;
    this.#next = 0;
    this.#received = 0;
    this.#produced = 0;
  }

  #allocate(frames: number): Samples {
    const length = frames * this.channels;
    return this.#float ? new Float32Array(length) : new Int16Array(length);
  }

  /** Distributes input over the lanes of each channel's signal. */
  #append(samples: Samples, start: number, length: number, { lanes, laneLength }: PolyphaseFilter): void {
    const { channels } = this;
    const end = (start + length) * channels;
    for (const [channel, signal] of this.#signals.entries()) {
      for (let nth = 0; nth < lanes; nth++) {
        const place = this.#filled + nth;
        const to = (place % lanes) * laneLength + Math.floor(place / lanes);
        const from = (start + nth) * channels + channel;
        if (samples instanceof Float32Array) readFloats(samples, from, end, lanes * channels, signal, to);
        else readIntegers(samples, from, end, lanes * channels, signal, to);
      }
    }
    this.#filled += length;
  }

  /**
   * Writes available output to `out` from `written` on, drops input that is no longer needed, and returns the count.
   */
  #compute(filter: PolyphaseFilter, out: Samples, written: number): number {
    const { phases, step, taps, lanes, laneLength } = filter;
    const end = Math.max(this.#next, Math.ceil(((this.#filled - taps + 1) * phases) / step));
    const count = end - this.#next;
    if (count === 0) return 0;
    const { channels } = this;
    const periods = Math.floor(end / phases);
    const gone = (periods * step) / lanes;
    const left = Math.ceil(this.#filled / lanes);
    for (const [channel, signal] of this.#signals.entries()) {
      filter.compute(signal, this.#next, end, out, written * channels + channel, channels);
      for (let base = 0; base < signal.length; base += laneLength) signal.copyWithin(base, base + gone, base + left);
    }
    this.#filled -= periods * step;
    this.#next = end - periods * phases;
    return count;
  }
}

/** Reads every `stride`th sample from `from` up to `end`. Sums truncated to int32 (`| 0`) skip the overflow check. */
function readFloats(
  samples: Float32Array,
  from: number,
  end: number,
  stride: number,
  signal: Float32Array,
  to: number,
): void {
  for (let at = from | 0; at < end; at = (at + stride) | 0, to = (to + 1) | 0) {
    const value = samples[at] ?? 0;
    signal[to] = Math.abs(value) < Infinity ? value : 0;
  }
}

function readIntegers(
  samples: Int16Array,
  from: number,
  end: number,
  stride: number,
  signal: Float32Array,
  to: number,
): void {
  for (let at = from | 0; at < end; at = (at + stride) | 0, to = (to + 1) | 0) {
    signal[to] = (samples[at] ?? 0) / 32768;
  }
}
