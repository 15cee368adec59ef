import { blockLength, isShort, writeSamples, type FilterBank, type PolyphaseFilter } from './filter-bank.ts';
import type { Samples } from './samples.ts';

/** `simd-filter.wat`, compiled by `npm run wasm`: hexadecimal, which compresses better than Base64. */
export const code =
  '0061736d0100000001150260057f7f7f7f7f0060097f7f7f7f7f7f7f7f7f000303020001050401010140071903066d656d6f72790200056c616e6573000004726f777300010af50302e50102027f067b0340fd0c00000000000000000000000000000000220c220b220a22092108200121050340200020052802006a21062005fd0902042107200820072006fd000400fde601fde4012108200920072006fd000410fde601fde4012109200a20072006fd000420fde601fde401210a200b20072006fd000430fde601fde401210b200c20072006fd000440fde601fde401210c200541086a210520052002490d000b20032008fd0b040020032009fd0b04102003200afd0b04202003200bfd0b04302003200cfd0b0440200041d0006a2100200341d0006a210320032004490d000b0b8b0202037f047b0340fd0c00000000000000000000000000000000220f220e220d210c2000210b2005200120066c6a2109200920066a210a0340200c2009fd000400200bfd000400fde601fde401210c200d2009fd000410200bfd000410fde601fde401210d200e2009fd000420200bfd000420fde601fde401210e200f2009fd000430200bfd000430fde601fde401210f200b41c0006a210b200941c0006a21092009200a490d000b200c200dfde401200e200ffde401fde401210c2007200cfd1f00200cfd1f0192200cfd1f02200cfd1f039292380200200020026a2100200120036a2101200120044f0440200120046b2101200041046a21000b200741046a210720072008490d000b0b';

/** Outputs that `lanes` computes at once, and coefficients that `rows` reads at once. */
const lanesAtOnce = 20;
const rowsAtOnce = 16;

/** Bytes of a page of WebAssembly's memory. */
const pageBytes = 65536;

/** What the code exports; positions and lengths are in bytes. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly lanes: (...positions: readonly number[]) => void;
  readonly rows: (...positions: readonly number[]) => void;
}

/** The code and its memory, up to 4 MiB, which all filters share. */
class Kernel {
  readonly exports: Exports = compile();
  /** The whole memory. */
  floats: Float32Array<ArrayBuffer> = new Float32Array(0);
  /** Counts how often the memory was full: all that lay in it has then been dropped. */
  epoch: number = 0;
  /** Floats in use. */
  #used = 0;

  /** Where there is room for so many floats, in `floats`; drops all others for it if it must. Undefined: too many. */
  allocate(length: number): number | undefined {
    if (!this.#reach(this.#used + length)) {
      this.epoch++;
      this.#used = 0;
      if (!this.#reach(length)) return undefined;
    }
    this.#used += length;
    return this.#used - length;
  }

  #reach(length: number): boolean {
    const { memory } = this.exports;
    const missing = Math.ceil((4 * length - memory.buffer.byteLength) / pageBytes);
    try {
      if (missing > 0) memory.grow(missing);
    } catch {
      return false;
    }
    // A memory that grows detaches what viewed it.
    if (this.floats.buffer !== memory.buffer) this.floats = new Float32Array(memory.buffer);
    return true;
  }
}

/** Throws where a Content-Security-Policy forbids it, or the runtime has no WebAssembly or no SIMD. */
function compile(): Exports {
  const bytes = Uint8Array.from(code.match(/../g) ?? [], (byte) => parseInt(byte, 16));
  return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as unknown as Exports;
}

/** Undefined until it is asked for; null where there is none. */
let kernel: Kernel | null | undefined;

/** The filter by WebAssembly; undefined where there is none, which is found out once, or its memory is too small. */
export function simdFilter(bank: FilterBank): PolyphaseFilter | undefined {
  try {
    if (kernel === undefined) kernel = new Kernel();
  } catch {
    kernel = null;
  }
  if (!kernel) return undefined;
  const filter = isShort(bank) ? new LanesFilter(bank, kernel) : new RowsFilter(bank, kernel);
  return filter.place() === undefined ? undefined : filter;
}

/** Rounds up to a multiple. */
function roundUp(value: number, unit: number): number {
  return unit * Math.ceil(value / unit);
}

/** Most periods of outputs that a block of inputs completes or begins. */
function mostPeriods({ step }: FilterBank): number {
  return Math.ceil(blockLength / step) + 2;
}

/** A part of the memory: the filter's coefficients, then a block's signal, then its results. */
abstract class SimdFilter implements PolyphaseFilter {
  readonly phases: number;
  readonly step: number;
  readonly taps: number;
  readonly lanes: number;
  readonly laneLength: number;
  protected readonly kernel: Kernel;
  /** Where the signal and the results lie behind the coefficients. */
  protected readonly signalAt: number;
  protected readonly resultsAt: number;
  readonly #length: number;
  /** As they lie in the memory; kept for when a full memory drops them. */
  readonly #coefficients: Float32Array<ArrayBuffer>;
  #at = 0;
  #epoch = -1;

  constructor(
    kernel: Kernel,
    { phases, step, taps }: FilterBank,
    lanes: number,
    laneLength: number,
    coefficients: Float32Array<ArrayBuffer>,
    resultLength: number,
  ) {
    this.kernel = kernel;
    this.phases = phases;
    this.step = step;
    this.taps = taps;
    this.lanes = lanes;
    this.laneLength = laneLength;
    this.#coefficients = coefficients;
    this.signalAt = coefficients.length;
    this.resultsAt = this.signalAt + lanes * laneLength;
    this.#length = roundUp(this.resultsAt + resultLength, rowsAtOnce);
  }

  /** Where the filter lies in the memory; undefined if it has no room there. */
  place(): number | undefined {
    const { kernel } = this;
    if (this.#epoch === kernel.epoch) return this.#at;
    const at = kernel.allocate(this.#length);
    if (at === undefined) return undefined;
    kernel.floats.set(this.#coefficients, at);
    this.#at = at;
    this.#epoch = kernel.epoch;
    return at;
  }

  /** Puts a signal into the memory, and says where the filter lies there. */
  protected enter(signal: Float32Array<ArrayBuffer>): number {
    // The memory never shrinks: what had room once has it again.
    const at = this.place() ?? 0;
    this.kernel.floats.set(signal, at + this.signalAt);
    return at;
  }

  abstract compute(
    signal: Float32Array<ArrayBuffer>,
    first: number,
    end: number,
    out: Samples,
    at: number,
    stride: number,
  ): void;
}

/**
 * For short periods. The signal is distributed over `step` lanes, so that the next output of the same phase starts one
 * input later in each: twenty outputs share every coefficient, and those that are zero are left out.
 */
class LanesFilter extends SimdFilter {
  /** Where each phase's taps end. */
  readonly #ends: readonly number[];
  /** Room for the results of a phase. */
  readonly #room: number;

  constructor(bank: FilterBank, kernel: Kernel) {
    const { phases, step, taps, coefficients } = bank;
    // What is read beyond a lane's end is for outputs that nobody asked for.
    const laneLength = Math.ceil((blockLength + taps) / step) + 1;
    const room = roundUp(mostPeriods(bank), lanesAtOnce);
    /** Each tap's offset in the signal, then its coefficient. */
    const pairs: number[] = [];
    const ends: number[] = [];
    for (let phase = 0; phase < phases; phase++) {
      const start = Math.floor((phase * step) / phases);
      for (let lane = 0; lane < step; lane++) {
        for (let at = 0, tap = lane - start; tap < taps; at++, tap += step) {
          const value = tap < 0 ? 0 : coefficients[phase * taps + tap];
          if (value) pairs.push(4 * (lane * laneLength + at), value);
        }
      }
      ends.push(pairs.length);
    }
    const floats = Float32Array.from(pairs);
    new Int32Array(floats.buffer).forEach((_, index, offsets) => {
      if (index % 2 === 0) offsets[index] = pairs[index] ?? 0;
    });
    super(kernel, bank, step, laneLength, floats, phases * room);
    this.#ends = ends;
    this.#room = room;
  }

  compute(
    signal: Float32Array<ArrayBuffer>,
    first: number,
    end: number,
    out: Samples,
    at: number,
    stride: number,
  ): void {
    const base = this.enter(signal);
    const { phases, kernel } = this;
    const period = Math.floor(first / phases);
    const inputs = base + this.signalAt + period;
    let taps = base;
    for (let phase = 0; phase < phases; phase++) {
      const tapsEnd = base + (this.#ends[phase] ?? 0);
      const results = base + this.resultsAt + phase * this.#room;
      const count = Math.ceil((end - phase) / phases) - period;
      if (count > 0) kernel.exports.lanes(4 * inputs, 4 * taps, 4 * tapsEnd, 4 * results, 4 * (results + count));
      // In the first period, the phases before the first output were had before.
      const skipped = period * phases + phase < first ? 1 : 0;
      const to = at + ((period + skipped) * phases + phase - first) * stride;
      writeSamples(kernel.floats, results + skipped, count - skipped, out, to, phases * stride);
      taps = tapsEnd;
    }
  }
}

/** For long periods: each output has a row of coefficients, in the order of their distances from an input. */
class RowsFilter extends SimdFilter {
  /** In floats, zeros at the end included. */
  readonly #rowLength: number;

  constructor(bank: FilterBank, kernel: Kernel) {
    const { phases, step, taps, coefficients } = bank;
    const rowLength = roundUp(taps, rowsAtOnce);
    const rows = new Float32Array(phases * rowLength);
    for (let phase = 0; phase < phases; phase++) {
      const row = coefficients.subarray(phase * taps, (phase + 1) * taps);
      rows.set(row, ((phase * step) % phases) * rowLength);
    }
    super(kernel, bank, 1, blockLength + step + rowLength, rows, phases * mostPeriods(bank));
    this.#rowLength = rowLength;
  }

  compute(
    signal: Float32Array<ArrayBuffer>,
    first: number,
    end: number,
    out: Samples,
    at: number,
    stride: number,
  ): void {
    const base = this.enter(signal);
    const { phases, step, kernel } = this;
    const results = base + this.resultsAt;
    const count = end - first;
    kernel.exports.rows(
      4 * (base + this.signalAt + Math.floor((first * step) / phases)),
      (first * step) % phases,
      4 * Math.floor(step / phases),
      step % phases,
      phases,
      4 * base,
      4 * this.#rowLength,
      4 * results,
      4 * (results + count),
    );
    writeSamples(kernel.floats, results, count, out, at, stride);
  }
}
