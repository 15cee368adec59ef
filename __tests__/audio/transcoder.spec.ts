/** Slow: every pair of formats, in pieces of many sizes. */
import fc from 'fast-check';
import {
  createTranscoder,
  decodeMulaw,
  encodeMulaw,
  encodeWav,
  int16Bytes,
  int16View,
  isConvertible,
  Resampler,
  wavHeader,
  WavReader,
  type AudioEncoding,
  type AudioMetadata,
} from 'rxvoice/audio';

const linear16 = (sampleRate: number, channels: number = 1): AudioMetadata => ({
  encoding: 'linear16',
  sampleRate,
  channels,
});
const phone: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };

function sine(hz: number, rate: number, length: number): Int16Array<ArrayBuffer> {
  return Int16Array.from({ length }, (_, at) => Math.round(12000 * Math.sin((2 * Math.PI * hz * at) / rate)));
}

/** All that a transcoder makes of bytes cut into pieces of the given sizes. */
function convert(
  from: AudioMetadata,
  to: AudioMetadata,
  bytes: Uint8Array<ArrayBuffer>,
  sizes: readonly number[] = [],
): Uint8Array<ArrayBuffer> {
  const transcoder = createTranscoder(from, to);
  const out: number[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    for (const byte of transcoder.push(bytes.subarray(at, at + size))) out.push(byte);
    at += size;
  }
  for (const byte of transcoder.flush()) out.push(byte);
  return new Uint8Array(out);
}

function firstDifference(actual: Uint8Array, wanted: Uint8Array): number {
  if (actual.length !== wanted.length) return Math.min(actual.length, wanted.length);
  return actual.findIndex((byte, at) => byte !== wanted[at]);
}

describe('createTranscoder', () => {
  it('passes equal formats without a copy, compressed ones too', () => {
    const bytes = new Uint8Array([1, 2, 3]);
    for (const format of [
      phone,
      linear16(24000),
      { encoding: 'mp3', sampleRate: 24000, channels: 1 } satisfies AudioMetadata,
    ]) {
      const transcoder = createTranscoder(format, { ...format });
      expect(transcoder.passthrough).toBe(true);
      expect(transcoder.push(bytes)).toBe(bytes);
      expect(transcoder.flush().length).toBe(0);
      expect(transcoder.latencyMs).toBe(0);
    }
  });

  it('decodes and encodes G.711 at its own rate sample for sample', () => {
    const samples = sine(440, 8000, 800);
    const coded = encodeMulaw(samples);
    expect([...convert(linear16(8000), phone, int16Bytes(samples))]).toEqual([...coded]);
    expect([...int16View(convert(phone, linear16(8000), coded))]).toEqual([...decodeMulaw(coded)]);
    const alaw = convert(phone, { ...phone, encoding: 'alaw' }, coded);
    expect(alaw.length).toBe(coded.length);
    expect(createTranscoder(linear16(8000), phone).passthrough).toBe(false);
  });

  it('brings a voice of 24 kHz to the phone: the tone stays, the length is right, the latency is stated', () => {
    const transcoder = createTranscoder(linear16(24000), phone);
    const coded = transcoder.push(int16Bytes(sine(440, 24000, 24000)));
    const rest = transcoder.flush();
    expect(coded.length + rest.length).toBe(8000);
    expect(transcoder.latencyMs).toBeCloseTo(4, 1);
    expect(createTranscoder(linear16(24000), phone, { quality: 'strict' }).latencyMs).toBeCloseTo(7.9, 1);
    const heard = decodeMulaw(coded);
    const wanted = sine(440, 8000, 8000);
    const worst = heard
      .subarray(100)
      .reduce((most, sample, at) => Math.max(most, Math.abs(sample - (wanted[at + 100] ?? 0))), 0);
    expect(worst).toBeLessThan(400);
  });

  it('mixes down before the filter and up after it', () => {
    const left = sine(300, 48000, 4800);
    const stereo = Int16Array.from({ length: 9600 }, (_, at) => (at % 2 ? 0 : 2 * (left[at / 2] ?? 0)));
    const mono = int16View(convert(linear16(48000, 2), linear16(16000), int16Bytes(stereo)));
    const direct = new Resampler(48000, 16000);
    expect([...mono]).toEqual([...direct.push(left), ...direct.flush()]);
    const back = int16View(convert(linear16(48000), linear16(16000, 2), int16Bytes(left)));
    expect(back.filter((_, at) => at % 2 === 0)).toEqual(mono);
    expect(back.filter((_, at) => at % 2 === 1)).toEqual(mono);
  });

  it('reads and writes floats', () => {
    const float: AudioMetadata = { encoding: 'linear32', sampleRate: 16000, channels: 1 };
    const samples = sine(440, 16000, 100);
    const floats = convert(linear16(16000), float, int16Bytes(samples));
    expect(floats.length).toBe(400);
    expect([...int16View(convert(float, linear16(16000), floats))]).toEqual([...samples]);
  });

  it('gives the same bytes for pieces of every size from 1 to 4,096 (F29)', () => {
    const bytes = int16Bytes(sine(700, 24000, 2500));
    const whole = convert(linear16(24000), phone, bytes);
    for (let size = 1; size <= 4096; size++) {
      const sizes = new Array<number>(Math.floor(bytes.length / size)).fill(size);
      if (firstDifference(convert(linear16(24000), phone, bytes, sizes), whole) !== -1)
        throw new Error(`differs at size ${size}`);
    }
  });

  it('gives the same bytes for any pieces, between any formats, at any byte offset', () => {
    const encodings: readonly AudioEncoding[] = ['linear16', 'linear32', 'mulaw', 'alaw'];
    const format = fc.record({
      encoding: fc.constantFrom(...encodings),
      sampleRate: fc.constantFrom(8000, 16000, 22050, 24000, 48000),
      channels: fc.constantFrom(1, 2, 3),
      container: fc.constantFrom('raw' as const, 'wav' as const),
    });
    const content = fc.uint8Array({ minLength: 0, maxLength: 3000 });
    fc.assert(
      fc.property(
        format,
        format,
        content,
        fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 20 }),
        (from, to, random, sizes) => {
          const raw = new Uint8Array(random);
          const offset = new Uint8Array(raw.length + 1);
          offset.set(raw, 1);
          const input = from.container === 'wav' ? new Uint8Array([...wavHeader(from), ...raw]) : offset.subarray(1);
          expect(firstDifference(convert(from, to, input, sizes), convert(from, to, input))).toBe(-1);
        },
      ),
      { numRuns: 300, seed: 29 },
    );
  });

  it('takes the header off a WAV stream, and believes it more than the configuration', () => {
    const samples = sine(440, 8000, 400);
    const bytes = encodeWav(int16Bytes(samples), linear16(8000));
    const from: AudioMetadata = { ...linear16(24000), container: 'wav' };
    for (let cut = 0; cut <= 60; cut++) {
      expect([...int16View(convert(from, linear16(8000), bytes, [cut]))]).toEqual([...samples]);
    }
  });

  it('takes a stream without a header, where WAV was announced, as the raw samples that it is', () => {
    const samples = sine(440, 8000, 400);
    const from: AudioMetadata = { ...linear16(8000), container: 'wav' };
    expect([...convert(from, linear16(8000), int16Bytes(samples))]).toEqual([...int16Bytes(samples)]);
    expect([...convert(from, linear16(8000), new Uint8Array([0x52, 0x49]))]).toEqual([0x52, 0x49]);
  });

  it('writes one WAV header, before the first samples of each stream', () => {
    const to: AudioMetadata = { ...linear16(16000), container: 'wav' };
    const transcoder = createTranscoder(linear16(16000), to);
    const samples = int16Bytes(sine(440, 16000, 100));
    for (let stream = 0; stream < 2; stream++) {
      const reader = new WavReader();
      const out = [
        ...reader.push(transcoder.push(samples)),
        ...reader.push(transcoder.push(samples)),
        ...reader.push(transcoder.flush()),
      ];
      expect(out).toEqual([...samples, ...samples]);
      expect(reader.metadata?.sampleRate).toBe(16000);
    }
    expect(transcoder.flush().length).toBe(0);
  });

  it('is as new after flush and reset: half a sample or a filter’s tail never reaches the next stream', () => {
    const bytes = int16Bytes(sine(440, 24000, 1000));
    const wanted = convert(linear16(24000), phone, bytes);
    const transcoder = createTranscoder(linear16(24000), phone);
    for (const clear of [() => transcoder.flush(), () => transcoder.reset()]) {
      transcoder.push(bytes.subarray(0, 777));
      clear();
      const out = [...transcoder.push(bytes), ...transcoder.flush()];
      expect(firstDifference(new Uint8Array(out), wanted)).toBe(-1);
    }
  });

  it('refuses what it cannot decode with what to do about it, and a WAV stream that it cannot read', () => {
    const mp3: AudioMetadata = { encoding: 'mp3', sampleRate: 24000, channels: 1 };
    expect(isConvertible(mp3)).toBe(false);
    expect(() => createTranscoder(mp3, phone)).toThrow(
      'cannot convert mp3 24000 Hz mono to mulaw 8000 Hz mono: mp3 needs a codec; use linear16 instead',
    );
    expect(() => createTranscoder(phone, mp3)).toThrow(RangeError);
    expect(() => createTranscoder({ ...phone, container: 'webm' }, phone)).toThrow(/webm/);
    const bytes = encodeWav(new Uint8Array(24), phone);
    bytes[34] = 24;
    const transcoder = createTranscoder({ ...phone, container: 'wav' }, phone);
    expect(() => transcoder.push(bytes)).toThrow(/24 bits.*linear16/);
  });
});
