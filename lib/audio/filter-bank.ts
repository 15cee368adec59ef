/**
 * How sharp a resampler's filter is. Both keep everything up to 0.9 of the lower Nyquist frequency. `strict` lets no
 * alias through; `speech` costs half as much and waits half as long, and what lies between 1.0 and 1.1 of the lower
 * Nyquist frequency may leave an alias between 0.9 and 1.0 of it.
 */
export type ResamplerQuality = 'strict' | 'speech';

/** A band-limited interpolator, cut into one filter for each of the positions that an output can have among inputs. */
export interface FilterBank {
  /** Outputs in a period, each with a filter of its own. */
  readonly phases: number;
  /** Inputs in a period. */
  readonly step: number;
  /** Coefficients of each filter; even. */
  readonly taps: number;
  /** Filter after filter. Output n begins at input floor(n * step / phases) of the padded signal. */
  readonly coefficients: Float64Array<ArrayBuffer>;
}

/** Edges of the transition band, in lower Nyquist frequencies. */
const passEdge = 0.9;
const stopEdge: Readonly<Record<ResamplerQuality, number>> = { strict: 1, speech: 1.1 };

/** Stop band in dB: what is left of the sum of all images and of 16-bit rounding is then 90 dB or more. */
const attenuation = 98;

/** 11025 to 32000 Hz has 1280 phases, the most of all pairs of usual rates. */
const mostPhases = 2048;
const mostDecimation = 32;

/** Whether a filter bank for two sample rates has a reasonable size: those of all pairs of usual rates have. */
export function canResample(from: number, to: number): boolean {
  if (!Number.isInteger(from) || !Number.isInteger(to) || from < 1 || to < 1) return false;
  return to / greatestDivisor(from, to) <= mostPhases && from / to <= mostDecimation;
}

/** Computes the filter bank for two sample rates that {@link canResample}. Takes 1 to 30 ms. */
export function buildFilterBank(from: number, to: number, quality: ResamplerQuality): FilterBank {
  const divisor = greatestDivisor(from, to);
  const phases = to / divisor;
  const step = from / divisor;
  const lowerNyquist = Math.min(1, phases / step);
  const stop = stopEdge[quality];
  const cutoff = (lowerNyquist * (passEdge + stop)) / 2;
  // Kaiser's formulas: the length from the transition band, the shape from the attenuation.
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
    // Each filter passes a constant exactly, so that no offset becomes a tone.
    const sum = row.reduce((total, value) => total + value, 0);
    row.forEach((value, tap) => (row[tap] = value / sum));
  }
  return { phases, step, taps, coefficients };
}

function sinc(x: number): number {
  // Exactly 0 at whole numbers, where the sine is only nearly so: `speech` has whole rows of these.
  if (Number.isInteger(x)) return x === 0 ? 1 : 0;
  return Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number, beta: number): number {
  return Math.abs(x) < 1 ? besselI0(beta * Math.sqrt(1 - x * x)) : 0;
}

/** The modified Bessel function of the first kind and order 0, by its power series. */
function besselI0(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= (x * x) / (4 * k * k);
    sum += term;
  }
  return sum;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/**
 * The inner loop of a resampler for one ratio, without state. Every output is one sum in one fixed order, however many
 * are computed at once: that makes the result independent of framing to the bit.
 */
export interface PolyphaseFilter {
  /** Outputs in a period. */
  readonly phases: number;
  /** Inputs in a period. */
  readonly step: number;
  /** Inputs that each output depends on. */
  readonly taps: number;
  /** Lanes that the signal is dealt out to: input i stands in lane i mod `lanes`, at floor(i / lanes). */
  readonly lanes: number;
  /** How far behind the last input of a lane may be read; any finite numbers do there. */
  readonly overrun: number;
  /**
   * Computes the outputs from `first` to before `end`, counted from the start of the signal, into `out` from 0 on. Up to
   * `4 * phases` values behind the last one may be overwritten.
   */
  compute(
    signal: Float64Array<ArrayBuffer>,
    laneLength: number,
    first: number,
    end: number,
    out: Float64Array<ArrayBuffer>,
  ): void;
}
