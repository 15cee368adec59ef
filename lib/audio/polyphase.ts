import {
  blockLength,
  buildFilterBank,
  isShort,
  writeSamples,
  type FilterBank,
  type PolyphaseFilter,
  type ResamplerQuality,
} from './filter-bank.ts';
import type { Samples } from './samples.ts';
import { simdFilter } from './simd-filter.ts';

/** A block's results; shared, as nothing else runs meanwhile. */
let scratch: Float32Array<ArrayBuffer> = new Float32Array(0);

const kept = 16;
const cache = new Map<string, PolyphaseFilter>();

/** The filter for two sample rates; the 16 most recent ratios are cached. */
export function polyphaseFilter(from: number, to: number, quality: ResamplerQuality): PolyphaseFilter {
  const key = `${from}/${to}/${quality}`;
  const filter = cache.get(key) ?? createFilter(from, to, quality);
  cache.delete(key);
  cache.set(key, filter);
  const [oldest] = cache.keys();
  if (cache.size > kept && oldest !== undefined) cache.delete(oldest);
  return filter;
}

function createFilter(from: number, to: number, quality: ResamplerQuality): PolyphaseFilter {
  const bank = buildFilterBank(from, to, quality);
  return simdFilter(bank) ?? plainFilter(bank);
}

/** The filter in JavaScript. */
export function plainFilter(bank: FilterBank): PolyphaseFilter {
  return isShort(bank) ? new LanewiseFilter(bank) : new RowwiseFilter(bank);
}

/** The scratch, so long at least: the loops overshoot by up to four periods. */
function room(length: number): Float32Array<ArrayBuffer> {
  if (scratch.length < length) scratch = new Float32Array(length);
  return scratch;
}

/**
 * For short periods. The signal is distributed over `step` lanes, so that the next output of the same phase starts one
 * input later in each: four outputs share every coefficient, and each loaded input serves the next three.
 */
class LanewiseFilter implements PolyphaseFilter {
  readonly phases: number;
  readonly step: number;
  readonly taps: number;
  readonly lanes: number;
  readonly laneLength: number;
  /** For each phase and lane, the filter's coefficients. */
  readonly #rows: Float64Array<ArrayBuffer>;
  readonly #rowLength: number;
  /** The nonzero part of each row, in fours: filters for `speech` have rows with a single nonzero value. */
  readonly #starts: Int32Array<ArrayBuffer>;
  readonly #ends: Int32Array<ArrayBuffer>;

  constructor({ phases, step, taps, coefficients }: FilterBank) {
    const length = 4 * Math.ceil((taps + step - 1) / step / 4);
    this.phases = phases;
    this.step = step;
    this.taps = taps;
    this.lanes = step;
    this.laneLength = Math.ceil((blockLength + taps + step) / step) + length + 8;
    this.#rowLength = length;
    this.#rows = new Float64Array(phases * step * length);
    this.#starts = new Int32Array(phases * step);
    this.#ends = new Int32Array(phases * step);
    for (let index = 0; index < phases * step; index++) {
      const phase = Math.floor(index / step);
      const skipped = (index % step) - Math.floor((phase * step) / phases);
      const row = this.#rows.subarray(index * length, (index + 1) * length);
      for (let at = 0; at < length; at++) {
        const tap = at * step + skipped;
        if (tap >= 0 && tap < taps) row[at] = coefficients[phase * taps + tap] ?? 0;
      }
      this.#starts[index] =
        4 *
        Math.floor(
          Math.max(
            0,
            row.findIndex((value) => value !== 0),
          ) / 4,
        );
      this.#ends[index] = 4 * Math.ceil((row.findLastIndex((value) => value !== 0) + 1) / 4);
    }
  }

  compute(
    signal: Float32Array<ArrayBuffer>,
    first: number,
    end: number,
    out: Samples,
    at: number,
    stride: number,
  ): void {
    const { phases, step, laneLength } = this;
    const results = room(end - first + 4 * phases);
    const rows = this.#rows;
    const rowLength = this.#rowLength;
    const starts = this.#starts;
    const ends = this.#ends;
    for (let phase = 0; phase < phases; phase++) {
      const stop = Math.ceil((end - phase) / phases);
      for (let period = Math.ceil((first - phase) / phases); period < stop; period += 4) {
        let a = 0;
        let b = 0;
        let c = 0;
        let d = 0;
        for (let lane = 0; lane < step; lane++) {
          const index = phase * step + lane;
          const start = starts[index] ?? 0;
          // Sums truncated to int32 (`| 0`) skip the overflow check; four inputs per iteration save loop overhead.
          let p = (lane * laneLength + period + start) | 0;
          let q = (index * rowLength + start) | 0;
          const last = (index * rowLength + (ends[index] ?? 0)) | 0;
          let x0 = signal[p] ?? 0;
          let x1 = signal[(p + 1) | 0] ?? 0;
          let x2 = signal[(p + 2) | 0] ?? 0;
          for (; q < last; q = (q + 4) | 0, p = (p + 4) | 0) {
            const x3 = signal[(p + 3) | 0] ?? 0;
            const h0 = rows[q] ?? 0;
            a += x0 * h0;
            b += x1 * h0;
            c += x2 * h0;
            d += x3 * h0;
            const x4 = signal[(p + 4) | 0] ?? 0;
            const h1 = rows[(q + 1) | 0] ?? 0;
            a += x1 * h1;
            b += x2 * h1;
            c += x3 * h1;
            d += x4 * h1;
            const x5 = signal[(p + 5) | 0] ?? 0;
            const h2 = rows[(q + 2) | 0] ?? 0;
            a += x2 * h2;
            b += x3 * h2;
            c += x4 * h2;
            d += x5 * h2;
            const x6 = signal[(p + 6) | 0] ?? 0;
            const h3 = rows[(q + 3) | 0] ?? 0;
            a += x3 * h3;
            b += x4 * h3;
            c += x5 * h3;
            d += x6 * h3;
            x0 = x4;
            x1 = x5;
            x2 = x6;
          }
        }
        const to = period * phases + phase - first;
        results[to] = a;
        results[to + phases] = b;
        results[to + 2 * phases] = c;
        results[to + 3 * phases] = d;
      }
    }
    writeSamples(results, 0, end - first, out, at, stride);
  }
}

/**
 * For long periods. Successive outputs have different filters but almost the same inputs: zero padding around each
 * filter lets four run over one stretch of the signal, so that each input is loaded once for all four.
 */
class RowwiseFilter implements PolyphaseFilter {
  readonly phases: number;
  readonly step: number;
  readonly taps: number;
  readonly lanes: number = 1;
  readonly laneLength: number;
  /** The filters, with zeros before, between and after them. */
  readonly #rows: Float64Array<ArrayBuffer>;
  /** Where the inputs of each output of a period start, plus three outputs of the next period. */
  readonly #starts: Int32Array<ArrayBuffer>;
  /** Where each output's filter would be in `#rows` if its inputs started at 0. */
  readonly #reads: Int32Array<ArrayBuffer>;

  constructor({ phases, step, taps, coefficients }: FilterBank) {
    this.phases = phases;
    this.step = step;
    this.taps = taps;
    const padding = Math.ceil((3 * step) / phases) + 2;
    this.laneLength = blockLength + taps + step + padding + 8;
    const stride = taps + padding;
    this.#rows = new Float64Array(phases * stride + padding);
    for (let phase = 0; phase < phases; phase++) {
      this.#rows.set(coefficients.subarray(phase * taps, (phase + 1) * taps), phase * stride + padding);
    }
    this.#starts = Int32Array.from({ length: phases + 3 }, (_, output) => Math.floor((output * step) / phases));
    this.#reads = this.#starts.map((start, output) => (output % phases) * stride + padding - start);
  }

  compute(
    signal: Float32Array<ArrayBuffer>,
    first: number,
    end: number,
    out: Samples,
    at: number,
    stride: number,
  ): void {
    const { taps, phases, step } = this;
    const results = room(end - first + 4 * phases);
    const rows = this.#rows;
    const starts = this.#starts;
    const reads = this.#reads;
    let phase = first % phases;
    let period = ((first - phase) / phases) * step;
    for (let to = 0; to < end - first; to += 4) {
      const start = starts[phase] ?? 0;
      let p = (period + start) | 0;
      const stop = (period + taps + (starts[phase + 3] ?? 0)) | 0;
      let qa = ((reads[phase] ?? 0) + start) | 0;
      let qb = ((reads[phase + 1] ?? 0) + start) | 0;
      let qc = ((reads[phase + 2] ?? 0) + start) | 0;
      let qd = ((reads[phase + 3] ?? 0) + start) | 0;
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      // Sums truncated to int32 (`| 0`) skip the overflow check; two inputs per iteration save loop overhead.
      for (; p < stop; p = (p + 2) | 0) {
        const x0 = signal[p] ?? 0;
        const x1 = signal[(p + 1) | 0] ?? 0;
        a += x0 * (rows[qa] ?? 0);
        b += x0 * (rows[qb] ?? 0);
        c += x0 * (rows[qc] ?? 0);
        d += x0 * (rows[qd] ?? 0);
        a += x1 * (rows[(qa + 1) | 0] ?? 0);
        b += x1 * (rows[(qb + 1) | 0] ?? 0);
        c += x1 * (rows[(qc + 1) | 0] ?? 0);
        d += x1 * (rows[(qd + 1) | 0] ?? 0);
        qa = (qa + 2) | 0;
        qb = (qb + 2) | 0;
        qc = (qc + 2) | 0;
        qd = (qd + 2) | 0;
      }
      results[to] = a;
      results[to + 1] = b;
      results[to + 2] = c;
      results[to + 3] = d;
      for (phase += 4; phase >= phases; phase -= phases) period += step;
    }
    writeSamples(results, 0, end - first, out, at, stride);
  }
}
