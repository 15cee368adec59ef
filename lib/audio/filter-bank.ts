/**
 * How sharp a resampler's filter is. `strict` keeps up to 0.9 of the lower Nyquist frequency and lets nothing above it
 * through; `speech` costs half as much and has half the delay, and lets what lies between it and 1.1 of it leave an alias
 * above 0.9.
 */
export type ResamplerQuality = 'strict' | 'speech';

/** A band-limited interpolator, cut into one short filter for each position between two input samples. */
export interface FilterBank {
  /** Output samples in a period. */
  readonly phases: number;
  /** Input samples in a period. */
  readonly step: number;
  /** Coefficients of each phase's filter. */
  readonly taps: number;
  /** Phase after phase; `taps` coefficients each. */
  readonly coefficients: Float64Array<ArrayBuffer>;
}

/** Where the filter's transition band ends, in lower Nyquist frequencies; it starts at 0.9. */
const stopBand: Readonly<Record<ResamplerQuality, number>> = { strict: 1, speech: 1.1 };
const passBand = 0.9;

/** Stop band attenuation in dB that the Kaiser window is designed for; what the tests measure is 90 dB or more. */
const attenuation = 96;

/** Most phases of a filter bank: 11025 to 32000 Hz has 1280. */
const mostPhases = 2048;

const bankCount = 16;
const banks = new Map<string, FilterBank>();

/** Whether a filter bank for two sample rates has a reasonable size: all pairs of usual rates do. */
export function canResample(from: number, to: number): boolean {
  const valid = Number.isInteger(from) && Number.isInteger(to) && from > 0 && to > 0;
  return valid && to / greatestDivisor(from, to) <= mostPhases && from / to <= 32;
}

/** The filter bank for a ratio, built once (1 to 30 ms) and kept for the next; the latest 16 are. */
export function filterBank(from: number, to: number, quality: ResamplerQuality): FilterBank {
  const divisor = greatestDivisor(from, to);
  const key = `${from / divisor}/${to / divisor}/${quality}`;
  const bank = banks.get(key) ?? buildBank(to / divisor, from / divisor, quality);
  banks.delete(key);
  banks.set(key, bank);
  const [oldest] = banks.keys();
  if (banks.size > bankCount && oldest !== undefined) banks.delete(oldest);
  return bank;
}

function buildBank(phases: number, step: number, quality: ResamplerQuality): FilterBank {
  const scale = Math.min(1, phases / step);
  const stop = stopBand[quality];
  const cutoff = (scale * (passBand + stop)) / 2;
  // Kaiser's formulas for the length and shape of the window, in input samples.
  const transition = Math.PI * scale * (stop - passBand);
  const halfWidth = (attenuation - 7.95) / (2.285 * transition) / 2;
  const beta = 0.1102 * (attenuation - 8.7);
  const half = Math.ceil(halfWidth);
  const taps = 2 * half;
  const coefficients = new Float64Array(phases * taps);
  for (let phase = 0; phase < phases; phase++) {
    const row = coefficients.subarray(phase * taps, (phase + 1) * taps);
    let sum = 0;
    for (let tap = 0; tap < taps; tap++) {
      const distance = phase / phases + half - 1 - tap;
      const value = sinc(cutoff * distance) * kaiser(distance / half, beta);
      row[tap] = value;
      sum += value;
    }
    // Each phase passes a constant exactly, so that no offset is turned into a tone.
    for (let tap = 0; tap < taps; tap++) row[tap] = (row[tap] ?? 0) / sum;
  }
  return { phases, step, taps, coefficients };
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

function kaiser(x: number, beta: number): number {
  return Math.abs(x) >= 1 ? 0 : besselI0(beta * Math.sqrt(1 - x * x)) / besselI0(beta);
}

/** The modified Bessel function of the first kind and order 0, by its power series. */
function besselI0(x: number): number {
  const quarter = (x * x) / 4;
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-17; k++) {
    term *= quarter / (k * k);
    sum += term;
  }
  return sum;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
