// Slow: the filters of every pair of rates.
import { readFileSync } from 'node:fs';
import { Resampler } from 'rxvoice/audio';
import loadWabt from 'wabt';
import { buildFilterBank } from '../../lib/audio/filter-bank.ts';
import { plainFilter } from '../../lib/audio/polyphase.ts';
import { code, simdFilter } from '../../lib/audio/simd-filter.ts';
import { pairs } from './tones.ts';

const source = 'lib/audio/simd-filter.wat';

describe('The resampler in WebAssembly', () => {
  it('holds what its source compiles to (else: npm run wasm)', async () => {
    const wabt = await loadWabt();
    const module = wabt.parseWat(source, readFileSync(source, 'utf8'), { simd: true });
    expect(Buffer.from(module.toBinary({}).buffer).toString('hex')).toBe(code);
  });

  it('gives what the filter in JavaScript gives, to the precision of its floats, for every pair of rates', () => {
    for (const { from, to } of pairs) {
      const bank = buildFilterBank(from, to, 'speech');
      const simd = simdFilter(bank);
      if (!simd) throw new Error(`${from} to ${to} Hz has no filter in WebAssembly`);
      const plain = plainFilter(bank);
      const noise = random(1000);
      const before = 2 * bank.phases;
      const last = Math.floor(((noise.length - bank.taps) * bank.phases) / bank.step);
      for (const [first, end] of [
        [0, last],
        [0, 1],
        [bank.phases - 1, bank.phases + 22],
        [bank.phases + 1, bank.phases + 40],
      ] as const) {
        const [actual, wanted] = [simd, plain].map((filter) => {
          const out = new Float32Array(before + 2 * (end - first)).fill(7);
          filter.compute(inLanes(noise, filter), first, end, out, before + 1, 2);
          return out;
        });
        // Neither writes beside its own channel, or before its part of it.
        const wrong = actual?.findIndex((sample, at) =>
          at < before || at % 2 === 0 ? sample !== 7 : !(Math.abs(sample - (wanted?.[at] ?? NaN)) < 1e-5),
        );
        expect([from, to, first, wrong]).toEqual([from, to, first, -1]);
      }
    }
  });

  it('goes on where its memory was full and other rates took its place', () => {
    const [early, late] = [random(2400), random(2500)];
    const rates = [
      { from: 24000, to: 8000 },
      { from: 44100, to: 16000 },
    ];
    const wanted = rates.map(({ from, to }) => pushed(new Resampler(from, to), early, late));
    const resamplers = rates.map(({ from, to }) => new Resampler(from, to));
    const before = resamplers.map((resampler) => pushed(resampler, early));
    // Together larger than the memory, and each writes its coefficients and a signal there.
    for (const quality of ['speech', 'strict'] as const) {
      for (const { from, to } of pairs.filter((pair) => pair.from === 11025 || pair.to === 11025)) {
        new Resampler(from, to, { quality }).push(random(2000));
      }
    }
    expect(resamplers.map((resampler, at) => [...(before[at] ?? []), ...pushed(resampler, late)])).toEqual(wanted);
  });

  it('leaves to JavaScript what its memory cannot hold', () => {
    const [from, to] = [22051, 2000];
    expect(simdFilter(buildFilterBank(from, to, 'speech'))).toBeUndefined();
    const steady = new Resampler(from, to).push(new Int16Array(from).fill(1000));
    expect(new Set(steady.subarray(100))).toEqual(new Set([1000]));
    // And goes on for others.
    expect(simdFilter(buildFilterBank(24000, 8000, 'speech'))).toBeDefined();
  });
});

function pushed(resampler: Resampler, ...pieces: readonly Float32Array<ArrayBuffer>[]): number[] {
  return pieces.flatMap((piece) => [...resampler.push(piece)]);
}

function random(length: number): Float32Array<ArrayBuffer> {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state / 2 ** 31.5;
  });
}

function inLanes(
  samples: Float32Array<ArrayBuffer>,
  { lanes, laneLength }: { readonly lanes: number; readonly laneLength: number },
): Float32Array<ArrayBuffer> {
  const signal = new Float32Array(lanes * laneLength);
  samples.forEach((sample, at) => (signal[(at % lanes) * laneLength + Math.floor(at / lanes)] = sample));
  return signal;
}
