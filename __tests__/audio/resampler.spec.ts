// Slow: every pair of rates, against a transform of the whole signal.
import fc from 'fast-check';
import { canResample, Resampler, type ResamplerQuality, type Samples } from 'rxvoice/audio';
import { difference, levelDb, pairs, resampleTone, tone, toneError, worstAlias } from './tones.ts';

/** Every kind of filter: short and long periods, up and down. */
const somePairs = [
  { from: 24000, to: 8000 },
  { from: 8000, to: 16000 },
  { from: 24000, to: 16000 },
  { from: 8000, to: 48000 },
  { from: 44100, to: 16000 },
  { from: 44100, to: 48000 },
  { from: 11025, to: 32000 },
  { from: 96000, to: 8000 },
  { from: 8000, to: 96000 },
];
const qualities: readonly ResamplerQuality[] = ['strict', 'speech'];
const limitDb = -90;

describe('Resampler quality (P4): error of tones and aliases -90 dB or less, for every pair of rates', () => {
  for (const quality of qualities) {
    it(`${quality}: tones up to 0.9 of the lower Nyquist frequency come out as the ideal tone`, () => {
      for (const { from, to } of pairs) {
        const error = toneError(from, to, quality);
        if (error > limitDb) throw new Error(`${from} to ${to}: error ${error.toFixed(1)} dB`);
      }
    });

    it(`${quality}: what lies above leaves no alias`, () => {
      for (const { from, to } of pairs) {
        const alias = worstAlias(from, to, quality);
        if (alias > limitDb) throw new Error(`${from} to ${to}: alias ${alias.toFixed(1)} dB`);
      }
    });
  }

  it('strict: tones between 0.9 and 1 of the lower Nyquist frequency leave no image above it', () => {
    for (const { from, to } of pairs.filter((pair) => pair.to > pair.from)) {
      for (const part of [0.93, 0.97, 0.99]) {
        const image = levelDb(withoutTone(resampleTone(from, to, 'strict', (part * from) / 2), (part * from) / 2, to));
        if (image > limitDb) throw new Error(`${from} to ${to}, ${part} of Nyquist: image ${image.toFixed(1)} dB`);
      }
    }
  });

  it('a sweep to 0.9 of Nyquist keeps its level within 0.1 dB all the way', () => {
    for (const quality of qualities) {
      for (const { from, to } of somePairs) {
        const seconds = 1;
        const slope = (0.9 * Math.min(from, to)) / 2 / seconds;
        const sweep = Float32Array.from({ length: from }, (_, n) => 0.5 * Math.sin(Math.PI * slope * (n / from) ** 2));
        const out = floats(new Resampler(from, to, { quality }), sweep);
        const window = Math.floor(to / 20);
        for (let start = Math.floor(to / 10); start + window < 0.98 * to; start += window) {
          const part = out.subarray(start, start + window);
          const ideal = part.map((_, n) => 0.5 * Math.sin(Math.PI * slope * ((start + n) / to) ** 2));
          expect(Math.abs(levelDb(part) - levelDb(ideal))).toBeLessThan(0.1);
        }
      }
    }
  });

  it('16-bit samples keep 90 dB, both roundings included', () => {
    for (const quality of qualities) {
      for (const { from, to } of somePairs) {
        const hz = 0.31 * Math.min(from, to);
        const samples = Int16Array.from({ length: from / 5 }, (_, n) => Math.round(32760 * tone(hz, from, n)));
        const out = new Resampler(from, to, { quality }).push(samples);
        const scaled = Float32Array.from(out, (sample) => sample / 32760);
        expect(levelDb(difference(scaled, (n) => tone(hz, to, n)))).toBeLessThan(-90);
      }
    }
  });

  it('a constant stays that constant, and full scale is clamped instead of wrapping around', () => {
    for (const { from, to } of somePairs) {
      const steady = new Resampler(from, to).push(new Int16Array(from / 5).fill(12345));
      expect(new Set(steady.subarray(500))).toEqual(new Set([12345]));
      const square = Int16Array.from({ length: from / 5 }, (_, n) => (Math.floor(n / 40) % 2 ? -32768 : 32767));
      const ringing = new Resampler(from, to).push(square);
      const held = Math.floor((40 * to) / from / 2);
      for (let at = 1000; at + 1 < ringing.length; at++) {
        const cycle = (at * from) / to / 40;
        if (Math.abs((cycle % 1) - 0.5) * held < held / 4) {
          expect(Math.sign(ringing[at] ?? 0)).toBe(Math.floor(cycle) % 2 ? -1 : 1);
        }
      }
    }
  });
});

describe('Resampler framing: pieces of any size give bit for bit the samples of one call', () => {
  const signal = noise(3000);

  for (const { from, to } of somePairs) {
    it(`${from} to ${to}, any cuts, floats and integers, mono and stereo`, () => {
      for (const quality of qualities) {
        for (const [channels, samples] of [
          [1, signal],
          [1, integers(signal)],
          [2, signal],
          [2, integers(signal)],
        ] as const) {
          const whole = inPieces(from, to, samples, [], quality, channels);
          fc.assert(
            fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 40 }), (sizes) => {
              expect(firstDifference(inPieces(from, to, samples, sizes, quality, channels), whole)).toBe(-1);
            }),
            { numRuns: 8, seed: from + to },
          );
        }
      }
    });
  }

  it('one sample at a time', () => {
    for (const { from, to } of somePairs) {
      const short = signal.subarray(0, 1500);
      const ones = Array.from(short, () => 1);
      const whole = inPieces(from, to, short, [], 'strict', 1);
      expect(firstDifference(inPieces(from, to, short, ones, 'strict', 1), whole)).toBe(-1);
    }
  });

  it('gives exactly input * to / from samples, rounded up, for every pair and length', () => {
    for (const { from, to } of pairs) {
      for (const length of [0, 1, 2, 147, 160, 441, 1000, 1023, 1024, 1025, from / 25]) {
        const resampler = new Resampler(from, to);
        const total = resampler.push(new Int16Array(length)).length + resampler.flush().length;
        expect(total).toBe(Math.ceil((length * to) / from));
      }
    }
  });

  it('brings each sample out once the input is latencyMs further, not later', () => {
    for (const { from, to } of somePairs) {
      for (const quality of qualities) {
        const resampler = new Resampler(from, to, { quality });
        let got = 0;
        for (let received = 10; received <= 4000; received += 10) {
          got += resampler.push(new Int16Array(10)).length;
          expect(got).toBe(Math.max(0, Math.ceil((received / from - resampler.latencyMs / 1000) * to - 1e-9)));
        }
      }
    }
  });

  it('has the latency that its documentation states', () => {
    expect(new Resampler(24000, 8000, { quality: 'strict' }).latencyMs).toBeCloseTo(7.9, 1);
    expect(new Resampler(24000, 8000).latencyMs).toBeCloseTo(4, 1);
    expect(new Resampler(8000, 24000).latencyMs).toBeCloseTo(4, 1);
    expect(new Resampler(16000, 48000, { quality: 'strict' }).latencyMs).toBeCloseTo(3.95, 1);
    expect(new Resampler(16000, 16000).latencyMs).toBe(0);
  });

  it('starts afresh after flush and reset: nothing of one utterance sounds in the next', () => {
    for (const { from, to } of somePairs) {
      const resampler = new Resampler(from, to);
      const first = floats(resampler, signal);
      expect(floats(resampler, signal)).toEqual(first);
      resampler.push(signal);
      resampler.reset();
      expect(floats(resampler, signal)).toEqual(first);
    }
  });

  it('keeps channels apart', () => {
    const left = noise(4000);
    const stereo = Float32Array.from({ length: 8000 }, (_, at) => (at % 2 ? 0 : (left[at / 2] ?? 0)));
    const out = floats(new Resampler(24000, 8000, { channels: 2 }), stereo);
    expect(out.filter((_, at) => at % 2 === 1).every((sample) => sample === 0)).toBe(true);
    expect(out.filter((_, at) => at % 2 === 0)).toEqual(floats(new Resampler(24000, 8000), left));
  });

  it('takes NaN and infinity for silence, so that one bad sample is not a second of noise', () => {
    const bad = noise(4000).map((sample, at) => (at === 2000 ? NaN : at === 2001 ? Infinity : sample));
    const good = bad.map((sample) => (Number.isFinite(sample) ? sample : 0));
    for (const { from, to } of somePairs) {
      expect(floats(new Resampler(from, to), bad)).toEqual(floats(new Resampler(from, to), good));
    }
  });

  it('passes equal rates through without a copy, and refuses rates that no filter of a sensible size serves', () => {
    const samples = Int16Array.of(1, 2, 3);
    expect(new Resampler(16000, 16000).push(samples)).toBe(samples);
    for (const [from, to] of [
      [44100, 47999],
      [8000, 0],
      [16000.5, 8000],
      [NaN, 8000],
      [-8000, 8000],
      [8000, Infinity],
    ] as const) {
      expect(canResample(from, to)).toBe(false);
      expect(() => new Resampler(from, to)).toThrow(/resample/);
    }
    for (const { from, to } of [...pairs, { from: 96000, to: 16000 }, { from: 12000, to: 48000 }]) {
      expect(canResample(from, to)).toBe(true);
    }
  });
});

/** What is left after the best fit of a tone is taken away. */
function withoutTone(actual: Float32Array<ArrayBuffer>, hz: number, rate: number): Float32Array<ArrayBuffer> {
  const start = Math.floor(0.3 * actual.length);
  const end = Math.floor(0.9 * actual.length);
  let [ss, cc, sc, ys, yc] = [0, 0, 0, 0, 0];
  for (let n = start; n < end; n++) {
    const s = Math.sin((2 * Math.PI * hz * n) / rate);
    const c = Math.cos((2 * Math.PI * hz * n) / rate);
    const y = actual[n] ?? 0;
    [ss, cc, sc, ys, yc] = [ss + s * s, cc + c * c, sc + s * c, ys + y * s, yc + y * c];
  }
  const determinant = ss * cc - sc * sc;
  const a = (ys * cc - yc * sc) / determinant;
  const b = (yc * ss - ys * sc) / determinant;
  return difference(
    actual,
    (n) => a * Math.sin((2 * Math.PI * hz * n) / rate) + b * Math.cos((2 * Math.PI * hz * n) / rate),
  );
}

function noise(length: number): Float32Array<ArrayBuffer> {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state / 2 ** 31.5;
  });
}

function integers(samples: Float32Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
  return Int16Array.from(samples, (sample) => sample * 32767);
}

function floats(resampler: Resampler, samples: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  return Float32Array.from([...resampler.push(samples), ...resampler.flush()]);
}

function inPieces(
  from: number,
  to: number,
  samples: Samples,
  sizes: readonly number[],
  quality: ResamplerQuality,
  channels: number,
): number[] {
  const resampler = new Resampler(from, to, { quality, channels });
  const out: number[] = [];
  let at = 0;
  for (const size of [...sizes, samples.length]) {
    for (const sample of resampler.push(samples.subarray(at, at + size * channels))) out.push(sample);
    at += size * channels;
  }
  for (const sample of resampler.flush()) out.push(sample);
  return out;
}

/** Where two arrays differ first; -1 where they are equal to the bit. */
function firstDifference(actual: readonly number[], wanted: readonly number[]): number {
  if (actual.length !== wanted.length) return Math.min(actual.length, wanted.length);
  return actual.findIndex((value, at) => !Object.is(value, wanted[at]));
}
