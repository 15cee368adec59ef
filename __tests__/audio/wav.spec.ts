/** Slow: headers cut at every byte, and thousands of damaged ones. */
import fc from 'fast-check';
import {
  encodeWav,
  fixWavSizes,
  isWav,
  parseWavHeader,
  wavHeader,
  WavReader,
  type AudioEncoding,
  type AudioMetadata,
} from 'rxvoice/audio';

const mono: AudioMetadata = { encoding: 'linear16', sampleRate: 24000, channels: 1, bitDepth: 16 };
const samples = Uint8Array.from({ length: 96 }, (_, at) => at + 1);

function text(value: string): number[] {
  return [...value].map((character) => character.charCodeAt(0));
}

function le32(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24];
}

function le16(value: number): number[] {
  return [value & 0xff, value >>> 8];
}

function chunk(id: string, content: readonly number[], length: number = content.length): number[] {
  return [...text(id), ...le32(length), ...content, ...(content.length % 2 ? [0] : [])];
}

function format(tag: number, bits: number, channels: number = 1, sampleRate: number = 24000): number[] {
  const align = (bits / 8) * channels;
  return [
    ...le16(tag),
    ...le16(channels),
    ...le32(sampleRate),
    ...le32(sampleRate * align),
    ...le16(align),
    ...le16(bits),
  ];
}

function file(...chunks: readonly number[][]): Uint8Array<ArrayBuffer> {
  const content = [...text('WAVE'), ...chunks.flat()];
  return new Uint8Array([...text('RIFF'), ...le32(content.length), ...content]);
}

/** WAVE_FORMAT_EXTENSIBLE: the real tag stands in the sub-format's GUID. */
function extensible(tag: number, bits: number): number[] {
  const guid = [...le16(tag), 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];
  return [...format(0xfffe, bits, 2), ...le16(22), ...le16(bits), ...le32(3), ...guid];
}

const data = [...samples];
const list = chunk('LIST', text('INFOISFT\x05\0\0\0Lavf\0'));

/** Files that differ in everything but their 96 bytes of samples. */
const files: readonly { name: string; bytes: Uint8Array<ArrayBuffer>; metadata: AudioMetadata }[] = [
  { name: 'a plain header', bytes: file(chunk('fmt ', format(1, 16)), chunk('data', data)), metadata: mono },
  {
    name: 'a LIST chunk before the samples',
    bytes: file(chunk('fmt ', format(1, 16)), list, chunk('data', data)),
    metadata: mono,
  },
  {
    name: 'chunks after the samples',
    bytes: file(chunk('fmt ', format(1, 16)), chunk('data', data), list),
    metadata: mono,
  },
  {
    name: 'a chunk before the format, of odd length',
    bytes: file(chunk('junk', [1, 2, 3]), chunk('fmt ', format(1, 16)), chunk('data', data)),
    metadata: mono,
  },
  { name: 'length 0 of a stream', bytes: file(chunk('fmt ', format(1, 16)), chunk('data', data, 0)), metadata: mono },
  {
    name: 'length 0xFFFFFFFF of a stream',
    bytes: file(chunk('fmt ', format(1, 16)), chunk('data', data, 0xffffffff)),
    metadata: mono,
  },
  {
    name: 'a length beyond the end',
    bytes: file(chunk('fmt ', format(1, 16)), chunk('data', data, 0x7ffff000)),
    metadata: mono,
  },
  {
    name: 'a format chunk with an empty extension',
    bytes: file(chunk('fmt ', [...format(1, 16), 0, 0]), chunk('data', data)),
    metadata: mono,
  },
  {
    name: 'extensible 16-bit stereo',
    bytes: file(chunk('fmt ', extensible(1, 16)), chunk('data', data)),
    metadata: { ...mono, channels: 2 },
  },
  {
    name: 'extensible floats',
    bytes: file(chunk('fmt ', extensible(3, 32)), chunk('data', data)),
    metadata: { ...mono, encoding: 'linear32', bitDepth: 32, channels: 2 },
  },
  {
    name: 'floats',
    bytes: file(chunk('fmt ', format(3, 32)), chunk('fact', le32(24)), chunk('data', data)),
    metadata: { ...mono, encoding: 'linear32', bitDepth: 32 },
  },
  {
    name: 'A-law',
    bytes: file(chunk('fmt ', format(6, 8, 1, 8000)), chunk('data', data)),
    metadata: { encoding: 'alaw', sampleRate: 8000, channels: 1, bitDepth: 8 },
  },
  {
    name: 'mu-law',
    bytes: file(chunk('fmt ', format(7, 8, 1, 8000)), chunk('data', data)),
    metadata: { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 },
  },
  {
    name: 'RF64',
    bytes: new Uint8Array([
      ...text('RF64'),
      ...le32(0xffffffff),
      ...text('WAVE'),
      ...chunk('ds64', new Array<number>(28).fill(0)),
      ...chunk('fmt ', format(1, 16)),
      ...chunk('data', data, 0xffffffff),
    ]),
    metadata: mono,
  },
  {
    name: 'two files one after the other',
    bytes: new Uint8Array([
      ...file(chunk('fmt ', format(1, 16)), chunk('data', data.slice(0, 40))),
      ...file(chunk('fmt ', format(1, 16)), chunk('data', data.slice(40))),
    ]),
    metadata: mono,
  },
];

function read(pieces: readonly Uint8Array<ArrayBuffer>[], reader: WavReader = new WavReader()): number[] {
  return [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.flush()];
}

describe('WavReader (F30)', () => {
  for (const { name, bytes, metadata } of files) {
    it(`${name}: the same samples and format wherever the stream is split`, () => {
      for (let cut = 0; cut <= bytes.length; cut++) {
        const reader = new WavReader();
        expect(read([bytes.subarray(0, cut), bytes.subarray(cut)], reader)).toEqual(data);
        expect(reader.metadata).toEqual(metadata);
        expect(reader.kind).toBe('wav');
      }
      expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(data);
    });
  }

  it('hands samples on as they come: a header of unknown length does not hold them back', () => {
    const reader = new WavReader();
    expect(reader.push(wavHeader(mono)).length).toBe(0);
    const piece = reader.push(samples);
    expect([...piece]).toEqual(data);
    expect(piece.buffer).toBe(samples.buffer);
  });

  it('lets a raw stream through untouched, even one that begins like a header or is shorter than one', () => {
    for (const raw of [
      data,
      text('RIFF'),
      text('RIFFxxxxAVI LIST and so on'),
      text('RI'),
      text('RIFX1234WAVE'),
      [],
      [0x52],
    ]) {
      for (let cut = 0; cut <= raw.length; cut++) {
        const reader = new WavReader();
        expect(read([new Uint8Array(raw.slice(0, cut)), new Uint8Array(raw.slice(cut))], reader)).toEqual(raw);
        expect(reader.metadata).toBe(undefined);
      }
    }
    const reader = new WavReader();
    reader.push(samples);
    expect(reader.kind).toBe('raw');
    expect(reader.push(samples)).toBe(samples);
  });

  it('gives no noise for files that it cannot read, and says why', () => {
    const unreadable: readonly (readonly [chunks: number[][], reason: RegExp])[] = [
      [[chunk('fmt ', format(1, 24)), chunk('data', data)], /format 1 with 24 bits/],
      [[chunk('fmt ', format(0x55, 0)), chunk('data', data)], /format 85/],
      [[chunk('fmt ', format(1, 16, 0)), chunk('data', data)], /0 channels/],
      [[chunk('fmt ', format(1, 16, 1, 0)), chunk('data', data)], /at 0 Hz/],
      [[chunk('fmt ', [1, 0]), chunk('data', data)], /too short/],
      [[chunk('data', data)], /no fmt chunk/],
    ];
    for (const [chunks, reason] of unreadable) {
      const bytes = file(...chunks);
      const reader = new WavReader();
      expect(read([bytes], reader)).toEqual([]);
      expect(reader.kind).toBe('unsupported');
      expect(reader.problem).toMatch(reason);
      const header = parseWavHeader(bytes);
      expect(header?.kind === 'unsupported' && header.reason).toMatch(reason);
    }
  });

  it('keeps what it holds, not the caller’s buffer, which may be used again', () => {
    const bytes = files[0]?.bytes ?? samples;
    const reader = new WavReader();
    const out: number[] = [];
    const reused = new Uint8Array(7);
    for (let at = 0; at < bytes.length; at += 7) {
      const piece = bytes.subarray(at, at + 7);
      reused.set(piece);
      out.push(...reader.push(reused.subarray(0, piece.length)));
      reused.fill(0xaa);
    }
    expect(out).toEqual(data);
  });

  it('garbage never throws, loops or gives more bytes than came, whole or in pieces', () => {
    const mutated = fc
      .tuple(
        fc.constantFrom(...files),
        fc.array(fc.tuple(fc.nat({ max: 120 }), fc.integer({ min: 0, max: 255 })), { maxLength: 8 }),
      )
      .map(([{ bytes }, changes]) => {
        const copy = new Uint8Array(bytes);
        for (const [at, value] of changes) copy[at % copy.length] = value;
        return copy;
      });
    const random = fc.uint8Array({ maxLength: 300 }).map((bytes) => new Uint8Array(bytes));
    fc.assert(
      fc.property(fc.oneof(mutated, random), fc.integer({ min: 1, max: 50 }), (bytes, size) => {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, at * size + size),
        );
        const whole = read([bytes]);
        expect(read(pieces)).toEqual(whole);
        expect(whole.length).toBeLessThanOrEqual(bytes.length);
        parseWavHeader(bytes);
        fixWavSizes(bytes);
      }),
      { numRuns: 2000, seed: 30 },
    );
  });
});

describe('parseWavHeader', () => {
  for (const { name, bytes, metadata } of files) {
    it(`${name}: undefined until the samples begin, then where and what they are`, () => {
      const complete = parseWavHeader(bytes);
      if (complete?.kind !== 'wav') throw new Error('not read');
      expect(complete.metadata).toEqual(metadata);
      expect(bytes[complete.dataOffset]).toBe(1);
      for (let length = 0; length < complete.dataOffset; length++) {
        expect(parseWavHeader(bytes.subarray(0, length))).toBe(undefined);
      }
      expect(parseWavHeader(bytes.subarray(0, complete.dataOffset))).toEqual(complete);
    });
  }

  it('tells raw streams at once, and leaves out a length that the writer did not know', () => {
    expect(parseWavHeader(Uint8Array.of(0))).toEqual({ kind: 'raw' });
    expect(isWav(new Uint8Array(text('RIFF1234')))).toBe(undefined);
    expect(parseWavHeader(wavHeader(mono))).toEqual({ kind: 'wav', metadata: mono, dataOffset: 44 });
    expect(parseWavHeader(wavHeader(mono, 96))).toEqual({
      kind: 'wav',
      metadata: mono,
      dataOffset: 44,
      dataLength: 96,
    });
  });
});

describe('writing WAV files', () => {
  it('writes byte for byte what the format says', () => {
    expect([...encodeWav(samples, mono)]).toEqual([...file(chunk('fmt ', format(1, 16)), chunk('data', data))]);
    expect([...encodeWav(samples, { encoding: 'mulaw', sampleRate: 8000, channels: 1 })]).toEqual([
      ...file(chunk('fmt ', [...format(7, 8, 1, 8000), 0, 0]), chunk('fact', le32(96)), chunk('data', data)),
    ]);
  });

  it('reads back what it wrote, in every encoding and with any number of channels', () => {
    const encodings: readonly AudioEncoding[] = ['linear16', 'linear32', 'mulaw', 'alaw'];
    for (const encoding of encodings) {
      for (const channels of [1, 2, 6]) {
        const reader = new WavReader();
        expect(read([encodeWav(samples, { encoding, sampleRate: 44100, channels })], reader)).toEqual(data);
        expect(reader.metadata).toMatchObject({ encoding, sampleRate: 44100, channels });
      }
    }
  });

  it('pads samples of odd length, as RIFF wants, and does not read the padding as a sample', () => {
    const odd = encodeWav(samples.subarray(0, 95), { encoding: 'mulaw', sampleRate: 8000, channels: 1 });
    expect(odd.length % 2).toBe(0);
    expect(read([odd])).toEqual(data.slice(0, 95));
  });

  it('states no length beyond 4 GiB: its remainder would cut the file off', () => {
    for (const [length, stated] of [
      [2 ** 32 - 50, 2 ** 32 - 50],
      [2 ** 32 - 44, undefined],
      [2 ** 32 + 96, undefined],
      [5 * 2 ** 30, undefined],
    ] as const) {
      const long = parseWavHeader(wavHeader(mono, length));
      expect(long?.kind === 'wav' && long.dataLength).toBe(stated);
    }
  });

  it('refuses compressed samples, and samples that have a container already', () => {
    expect(() => wavHeader({ encoding: 'mp3', sampleRate: 24000, channels: 1 })).toThrow(RangeError);
    expect(() => encodeWav(samples, { ...mono, container: 'wav' })).toThrow(/raw/);
  });

  it('mends the sizes of a streamed file, for players that believe them', () => {
    const metadatas: readonly AudioMetadata[] = [mono, { encoding: 'mulaw', sampleRate: 8000, channels: 1 }];
    for (const metadata of metadatas) {
      const streamed = new Uint8Array([...wavHeader(metadata), ...samples]);
      expect([...fixWavSizes(streamed)]).toEqual([...encodeWav(samples, metadata)]);
    }
    const tooLong = files.find(({ name }) => name === 'a length beyond the end')?.bytes ?? samples;
    expect([...fixWavSizes(tooLong)]).toEqual([...encodeWav(samples, mono)]);
  });

  it('leaves correct sizes, other chunks and other files alone', () => {
    const whole = file(chunk('fmt ', format(1, 16)), list, chunk('data', data), list);
    expect(fixWavSizes(whole)).toBe(whole);
    expect(fixWavSizes(samples)).toBe(samples);
    const unsupported = file(chunk('fmt ', format(1, 24)), chunk('data', data, 0));
    expect(fixWavSizes(unsupported)).toBe(unsupported);
  });
});
