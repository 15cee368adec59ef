import type { FilterBank, PolyphaseFilter } from './filter-bank.ts';

/**
 * For long periods. Successive outputs have different filters but almost the same inputs: zero padding around each
 * filter lets four run over one stretch of the signal, so that each input is loaded once for all four.
 */
export class RowwiseFilter implements PolyphaseFilter {
  readonly phases: number;
  readonly step: number;
  readonly taps: number;
  readonly lanes: number = 1;
  readonly overrun: number;
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
    this.overrun = padding + 8;
    const stride = taps + padding;
    this.#rows = new Float64Array(phases * stride + padding);
    for (let phase = 0; phase < phases; phase++) {
      this.#rows.set(coefficients.subarray(phase * taps, (phase + 1) * taps), phase * stride + padding);
    }
    this.#starts = Int32Array.from({ length: phases + 3 }, (_, output) => Math.floor((output * step) / phases));
    this.#reads = this.#starts.map((start, output) => (output % phases) * stride + padding - start);
  }

  compute(
    signal: Float64Array<ArrayBuffer>,
    _laneLength: number,
    first: number,
    end: number,
    out: Float64Array<ArrayBuffer>,
  ): void {
    const { taps, phases, step } = this;
    const rows = this.#rows;
    const starts = this.#starts;
    const reads = this.#reads;
    let phase = first % phases;
    let period = ((first - phase) / phases) * step;
    for (let at = 0; at < end - first; at += 4) {
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
      out[at] = a;
      out[at + 1] = b;
      out[at + 2] = c;
      out[at + 3] = d;
      for (phase += 4; phase >= phases; phase -= phases) period += step;
    }
  }
}
