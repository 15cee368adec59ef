import { greatestDivisor } from './formats.ts';
import type { Samples } from './samples.ts';

/**
 * Sharpness of a resampler's filter. Both keep everything up to 0.9 of the lower Nyquist frequency. `strict` has no
 * aliases; `speech` costs half as much at half the latency, and content between 1.0 and 1.1 of the lower Nyquist
 * frequency may alias into 0.9 to 1.0.
 */
export type ResamplerQuality = 'strict' | 'speech';

/** A band-limited interpolator, split into one filter for each position that an output can have among the inputs. */
export interface FilterBank {
  /** Outputs per period, each with its own filter. */
  readonly phases: number;
  /** Inputs per period. */
  readonly step: number;
  /** Coefficients per filter; even. */
  readonly taps: number;
  /** Filter after filter. Output n starts at input floor(n * step / phases) of the padded signal. */
  readonly coefficients: Float64Array<ArrayBuffer>;
}

/** Edges of the transition band, in lower Nyquist frequencies. */
const passEdge = 0.9;
const stopEdge: Readonly<Record<ResamplerQuality, number>> = { strict: 1, speech: 1.1 };

/** Stop band attenuation in dB: the sum of all images, plus 16-bit rounding, then stays at -90 dB or less. */
const attenuation = 98;

/** Computes the filter bank for two sample rates that can be resampled. Takes 1 to 30 ms. */
export function buildFilterBank(from: number, to: number, quality: ResamplerQuality): FilterBank {
  const divisor = greatestDivisor(from, to);
  const phases = to / divisor;
  const step = from / divisor;
  const lowerNyquist = Math.min(1, phases / step);
  const stop = stopEdge[quality];
  const cutoff = (lowerNyquist * (passEdge + stop)) / 2;
  // Kaiser's formulas: length from the transition band, shape from the attenuation.
  const half = Math.ceil((attenuation - 7.95) / (4.57 * Math.PI * lowerNyquist * (stop - passEdge)));
  const beta = 0.1102 * (attenuation - 8.7);
  const taps = 2 * half;
  const coefficients = new Float64Array(phases * taps);
  for (let phase = 0; phase < phases; phase++) {
    const row = coefficients.subarray(phase * taps, (phase + 1) * taps);
    const fraction = ((phase * step) % phases) / phases;
    for (let tap = 0; tap < taps; tap++) {
      const distance = tap - (half - 1) - fraction;
      row[tap] = sinc(cutoff * distance) * kaiser(distance / half, beta);
    }
    // Each filter passes DC exactly, so that an offset never becomes a tone.
    const sum = row.reduce((total, value) => total + value, 0);
    row.forEach((value, tap) => (row[tap] = value / sum));
  }
  return { phases, step, taps, coefficients };
}

function sinc(x: number): number {
  // Exactly 0 at integers, where the sine is only almost 0: `speech` has whole rows of these.
  if (Number.isInteger(x)) return x === 0 ? 1 : 0;
  return Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number, beta: number): number {
  return Math.abs(x) < 1 ? besselI0(beta * Math.sqrt(1 - x * x)) : 0;
}

/** The modified Bessel function of the first kind of order 0, by its power series. */
function besselI0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= (x * x) / (4 * k * k);
    sum += term;
  }
  return sum;
}

/** Inputs per channel that a filter computes at once: bounds its memory and fits the cache. */
export const blockLength = 1024;

/** Longer periods repeat a filter too rarely to share its coefficients. 8 to 48 kHz has 6. */
const longestPeriod = 6;

/** Whether outputs of the same phase are computed together, from a signal in lanes. */
export function isShort({ phases, step }: FilterBank): boolean {
  return Math.max(phases, step) <= longestPeriod;
}

/**
 * The inner loop of a resampler for one ratio, without a state of its own. Every output is one sum in one fixed order,
 * however many are computed at once: the result is bit-identical for any framing.
 */
export interface PolyphaseFilter {
  /** Outputs per period. */
  readonly phases: number;
  /** Inputs per period. */
  readonly step: number;
  /** Inputs that each output depends on. */
  readonly taps: number;
  /** Lanes that the signal is distributed over: input i is in lane i mod `lanes`, at floor(i / lanes). */
  readonly lanes: number;
  /** Length of a lane: room for {@link blockLength} inputs after those still needed, and for what is read beyond. */
  readonly laneLength: number;
  /**
   * Computes outputs `first` up to but excluding `end`, counted from the start of the signal, and writes them into every
   * `stride`th sample of `out` from `at` on. The signal has all of its lanes, and finite values only.
   */
  compute(
    signal: Float32Array<ArrayBuffer>,
    first: number,
    end: number,
    out: Samples,
    at: number,
    stride: number,
  ): void;
}

/** Writes `count` values from `start` on into every `stride`th sample of `out` from `at` on. */
export function writeSamples(
  values: Float32Array<ArrayBuffer>,
  start: number,
  count: number,
  out: Samples,
  at: number,
  stride: number,
): void {
  if (out instanceof Float32Array) {
    for (let index = 0, to = at; index < count; index++, to += stride) out[to] = values[start + index] ?? 0;
    return;
  }
  for (let index = 0, to = at; index < count; index++, to += stride) {
    const value = Math.round((values[start + index] ?? 0) * 32768);
    out[to] = Math.max(-32768, Math.min(value, 32767));
  }
}
