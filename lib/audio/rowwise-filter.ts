import type { FilterBank } from './filter-bank.ts';
import type { PolyphaseFilter } from './polyphase.ts';

/**
 * For long periods. Successive outputs have different filters but nearly the same inputs: zeros before and after each
 * filter let four run over one stretch of the signal, so that every input is loaded once for them.
 */
export class RowwiseFilter implements PolyphaseFilter {
  readonly phases: number;
  readonly step: number;
  readonly taps: number;
  readonly lanes: number = 1;
  readonly overrun: number;
  readonly #padding: number;
  /** Filter after filter, `#padding` zeros before, between and after them. */
  readonly #rows: Float64Array<ArrayBuffer>;

  constructor({ phases, step, taps, coefficients }: FilterBank) {
    this.phases = phases;
    this.step = step;
    this.taps = taps;
    this.#padding = Math.ceil((3 * step) / phases) + 2;
    this.overrun = this.#padding + 8;
    const stride = taps + this.#padding;
    this.#rows = new Float64Array(phases * stride + this.#padding);
    for (let phase = 0; phase < phases; phase++) {
      this.#rows.set(coefficients.subarray(phase * taps, (phase + 1) * taps), phase * stride + this.#padding);
    }
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
    for (let output = first; output < end; output += 4) {
      const start = Math.floor((output * step) / phases) | 0;
      const stop = (taps + Math.floor(((output + 3) * step) / phases)) | 0;
      let p = start;
      let qa = this.#rowOf(output, start);
      let qb = this.#rowOf(output + 1, start);
      let qc = this.#rowOf(output + 2, start);
      let qd = this.#rowOf(output + 3, start);
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      // Sums cut to int32 (`| 0`) need no overflow check; two inputs at a time, for each turn has a price of its own.
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
      const at = output - first;
      out[at] = a;
      out[at + 1] = b;
      out[at + 2] = c;
      out[at + 3] = d;
    }
  }

  /** Where to read an output's filter as if it began at input `start`, at or before its own. */
  #rowOf(output: number, start: number): number {
    const zeros = Math.floor((output * this.step) / this.phases) - start;
    return ((output % this.phases) * (this.taps + this.#padding) + this.#padding - zeros) | 0;
  }
}
