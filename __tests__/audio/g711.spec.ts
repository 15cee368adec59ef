import alawmulaw from 'alawmulaw';
import { decodeAlaw, decodeMulaw, encodeAlaw, encodeMulaw } from 'rxvoice/audio';

/*
 * ITU-T G.711 (11/88) as it is written: tables 1a and 2a list the decision values x and the quantized values y of the
 * positive half, segment by segment; tables 1b and 2b mirror them. 16-bit samples are 8 units of table 1 (4096 is full
 * scale) and 4 of table 2 (8159 is full scale).
 */
interface Law {
  /** Decision values of the positive half, ascending: value n is where interval n begins. */
  readonly decisions: readonly number[];
  readonly quantized: readonly number[];
  /** The character signal of interval n of the positive half; the sign is bit 1, polarity is set for positive values. */
  readonly signal: (interval: number, positive: boolean) => number;
}

/** Segments as the tables give them: how many intervals of which width. */
function law(segments: readonly (readonly [count: number, width: number])[], unit: number, signal: Law['signal']): Law {
  const decisions = [0];
  for (const [count, width] of segments) {
    for (let n = 0; n < count; n++) decisions.push((decisions.at(-1) ?? 0) + width * unit);
  }
  const quantized = decisions.slice(1).map((end, n) => (end + (decisions[n] ?? 0)) / 2);
  return { decisions: decisions.slice(0, -1), quantized, signal };
}

// Table 1: 32 intervals of 2, then 16 each of 4, 8, 16, 32, 64, 128. Even bits are inverted (note 2).
const alaw = law(
  [
    [32, 2],
    [16, 4],
    [16, 8],
    [16, 16],
    [16, 32],
    [16, 64],
    [16, 128],
  ],
  8,
  (interval, positive) => ((positive ? 0x80 : 0) | interval) ^ 0x55,
);

// Table 2: one interval of 1, 15 of 2, then 16 each of 4, 8, 16, 32, 64, 128, 256. All bits are inverted (note 2).
const mulaw = law(
  [
    [1, 1],
    [15, 2],
    [16, 4],
    [16, 8],
    [16, 16],
    [16, 32],
    [16, 64],
    [16, 128],
    [16, 256],
  ],
  4,
  (interval, positive) => (positive ? 0xff : 0x7f) - interval,
);
// The first interval's quantized value is 0 (table 2, y_0), not its middle.
const mulawQuantized = [0, ...mulaw.quantized.slice(1)];

function encodeByTable({ decisions, signal }: Law, sample: number): number {
  const interval = decisions.findLastIndex((decision) => decision <= Math.abs(sample));
  return signal(interval, sample >= 0);
}

const allSamples = Int16Array.from({ length: 65536 }, (_, at) => at - 32768);
const allBytes = Uint8Array.from({ length: 256 }, (_, at) => at);

const codecs = [
  { name: 'A-law', table: alaw, values: alaw.quantized, encode: encodeAlaw, decode: decodeAlaw, npm: alawmulaw.alaw },
  {
    name: 'mu-law',
    table: mulaw,
    values: mulawQuantized,
    encode: encodeMulaw,
    decode: decodeMulaw,
    npm: alawmulaw.mulaw,
  },
] as const;

for (const { name, table, values, encode, decode, npm } of codecs) {
  describe(`G.711 ${name}`, () => {
    it('encodes all 65,536 samples as the tables of the Recommendation say', () => {
      const wanted = Uint8Array.from(allSamples, (sample) => encodeByTable(table, sample));
      expect(differences(encode(allSamples), wanted)).toEqual([]);
    });

    it('decodes all 256 bytes to the quantized values of the Recommendation', () => {
      const wanted = new Int16Array(256);
      values.forEach((value, interval) => {
        wanted[table.signal(interval, true)] = value;
        wanted[table.signal(interval, false)] = -value;
      });
      expect(differences(decode(allBytes), wanted)).toEqual([]);
    });

    it('agrees with npm alawmulaw on every value: it differs from the Recommendation nowhere', () => {
      expect(differences(encode(allSamples), npm.encode(allSamples))).toEqual([]);
      expect(differences(decode(allBytes), npm.decode(allBytes))).toEqual([]);
    });

    it('gives back every byte that is decoded and encoded again, but for negative zero', () => {
      const again = encode(decode(allBytes));
      expect(differences(again, allBytes)).toEqual(name === 'mu-law' ? [0x7f] : []);
    });

    it('works in frames of any length, also into the caller’s buffer, without touching what lies behind', () => {
      const whole = encode(allSamples);
      for (const length of [0, 1, 2, 3, 4, 5, 7, 160, 161]) {
        const samples = allSamples.subarray(1000, 1000 + length);
        const target = new Uint8Array(length + 2).fill(0x11);
        const written = encode(samples, target);
        expect([...written]).toEqual([...whole.subarray(1000, 1000 + length)]);
        expect([...encode(samples)]).toEqual([...written]);
        expect([...target.subarray(length)]).toEqual([0x11, 0x11]);
        const decoded = new Int16Array(length + 2).fill(0x1111);
        expect([...decode(written, decoded)]).toEqual([...decode(written)]);
        expect([...decoded.subarray(length)]).toEqual([0x1111, 0x1111]);
      }
    });

    it('refuses a buffer that is too short instead of losing samples', () => {
      expect(() => encode(new Int16Array(3), new Uint8Array(2))).toThrow(RangeError);
      expect(() => decode(new Uint8Array(3), new Int16Array(2))).toThrow(RangeError);
    });
  });
}

describe('G.711 mu-law check values of the telephone wire', () => {
  const encoded: readonly (readonly [sample: number, byte: number])[] = [
    [0, 0xff],
    [8, 0xfe],
    [132, 0xef],
    [1000, 0xce],
    [8000, 0xa0],
    [32767, 0x80],
    [-8, 0x7e],
    [-1000, 0x4e],
    [-32768, 0x00],
  ];
  for (const [sample, byte] of encoded) {
    it(`encodes ${sample} as 0x${byte.toString(16)}`, () => {
      expect(encodeMulaw(Int16Array.of(sample))[0]).toBe(byte);
    });
  }

  const decoded: readonly (readonly [byte: number, sample: number])[] = [
    [0xff, 0],
    [0x7f, 0],
    [0x80, 32124],
    [0x00, -32124],
    [0xaa, 5372],
  ];
  for (const [byte, sample] of decoded) {
    it(`decodes 0x${byte.toString(16)} as ${sample}`, () => {
      expect(decodeMulaw(Uint8Array.of(byte))[0]).toBe(sample);
    });
  }
});

/** Where two arrays differ; the first ten places. */
function differences(actual: ArrayLike<number>, wanted: ArrayLike<number>): number[] {
  expect(actual.length).toBe(wanted.length);
  return Array.from({ length: wanted.length }, (_, at) => at)
    .filter((at) => actual[at] !== wanted[at])
    .slice(0, 10);
}
