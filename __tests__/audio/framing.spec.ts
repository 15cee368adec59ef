// Slow: pieces of every size from 1 to 4,096 bytes.
import fc from 'fast-check';
import { FrameSplitter, PcmCarry, type AudioMetadata } from 'rxvoice/audio';

const stream = Uint8Array.from({ length: 10000 }, (_, at) => (at * 31 + (at >> 8)) & 0xff);

function pieces(bytes: Uint8Array<ArrayBuffer>, sizes: readonly number[]): Uint8Array<ArrayBuffer>[] {
  const cut: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    cut.push(bytes.subarray(at, at + size));
    at += size;
  }
  return cut;
}

function sameBytes(parts: readonly Uint8Array[], wanted: Uint8Array): boolean {
  let at = 0;
  for (const part of parts) for (const byte of part) if (byte !== wanted[at++]) return false;
  return at === wanted.length;
}

describe('PcmCarry (F29)', () => {
  it('gives whole samples for pieces of every size from 1 to 4,096, equal to one piece', () => {
    for (const frameBytes of [2, 4, 6]) {
      const whole = stream.subarray(0, stream.length - (stream.length % frameBytes));
      for (let size = 1; size <= 4096; size++) {
        const carry = new PcmCarry(frameBytes);
        const sizes = new Array<number>(Math.floor(stream.length / size)).fill(size);
        const out = pieces(stream, sizes).map((piece) => carry.push(piece));
        if (!out.every((part) => part.length % frameBytes === 0)) throw new Error(`a sample was cut at size ${size}`);
        if (!sameBytes(out, whole)) throw new Error(`samples differ at size ${size}`);
        expect(carry.pending).toBe(stream.length % frameBytes);
      }
    }
  });

  it('copies nothing while pieces hold whole samples', () => {
    const carry = new PcmCarry(2);
    const piece = stream.subarray(0, 640);
    expect(carry.push(piece).buffer).toBe(stream.buffer);
    expect(carry.push(piece).length).toBe(640);
  });

  it('keeps what it was given, not the caller’s buffer, which may be used again', () => {
    const carry = new PcmCarry(2);
    const reused = new Uint8Array([1, 2, 3]);
    expect([...carry.push(reused)]).toEqual([1, 2]);
    reused.fill(9);
    expect([...carry.push(new Uint8Array([4]))]).toEqual([3, 4]);
  });

  it('forgets half a sample at the end of an utterance, so that the next one is not noise', () => {
    const carry = new PcmCarry(2);
    carry.push(new Uint8Array([1]));
    expect(carry.reset()).toBe(1);
    expect([...carry.push(new Uint8Array([5, 6]))]).toEqual([5, 6]);
    expect(() => new PcmCarry(0)).toThrow(RangeError);
  });
});

describe('FrameSplitter', () => {
  const phone: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
  const linear16: AudioMetadata = { encoding: 'linear16', sampleRate: 8000, channels: 1 };

  it('gives frames of one size for any pieces, in order, and the rest at flush', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 700 }), { maxLength: 60 }), (sizes) => {
        const splitter = new FrameSplitter(phone, 20);
        const frames = pieces(stream, sizes).flatMap((piece) => splitter.push(piece));
        expect(frames.every((frame) => frame.length === 160)).toBe(true);
        expect(frames.length).toBe(62);
        expect(splitter.pending).toBe(80);
        const rest = splitter.flush();
        expect(rest?.length).toBe(80);
        expect(sameBytes(rest ? [...frames, rest] : frames, stream)).toBe(true);
        expect(splitter.flush()).toBe(undefined);
      }),
      { seed: 1 },
    );
  });

  it('does not copy frames that lie within a piece, nor change one that it has handed out', () => {
    const splitter = new FrameSplitter(phone, 20);
    expect(splitter.push(stream.subarray(0, 480)).map((frame) => frame.buffer === stream.buffer)).toEqual([
      true,
      true,
      true,
    ]);
    splitter.push(stream.subarray(0, 100));
    const [frame] = splitter.push(stream.subarray(100, 160));
    splitter.push(new Uint8Array(100).fill(7));
    expect(sameBytes(frame ? [frame] : [], stream.subarray(0, 160))).toBe(true);
    splitter.flush();
    expect(sameBytes(frame ? [frame] : [], stream.subarray(0, 160))).toBe(true);
  });

  it('fills the last frame up with silence that is silent in its encoding', () => {
    const splitter = new FrameSplitter(phone, 20);
    splitter.push(new Uint8Array(100).fill(1));
    const last = splitter.flush(true);
    expect(last?.length).toBe(160);
    expect([...new Set(last?.subarray(100))]).toEqual([0xff]);
    expect([...new Set(last?.subarray(0, 100))]).toEqual([1]);
  });

  it('leaves out half a sample at the end', () => {
    const splitter = new FrameSplitter(linear16, 20);
    splitter.push(new Uint8Array([1, 2, 3]));
    expect([...(splitter.flush() ?? [])]).toEqual([1, 2]);
    splitter.push(new Uint8Array([1]));
    expect(splitter.flush(true)).toBe(undefined);
    splitter.push(new Uint8Array([1, 2, 3]));
    expect([...(splitter.flush(true) ?? [])].slice(0, 5)).toEqual([1, 2, 0, 0, 0]);
  });

  it('forgets what is left when playback is cut', () => {
    const splitter = new FrameSplitter(phone, 20);
    splitter.push(new Uint8Array(100).fill(1));
    splitter.reset();
    expect(splitter.push(new Uint8Array(160).fill(2)).map((frame) => [...new Set(frame)])).toEqual([[2]]);
  });

  it('rounds down to whole samples where a frame has no whole number of them, and refuses empty frames', () => {
    expect(new FrameSplitter({ ...linear16, sampleRate: 11025 }, 20).frameLength).toBe(440);
    expect(() => new FrameSplitter(phone, 0)).toThrow(RangeError);
    expect(() => new FrameSplitter(phone, NaN)).toThrow(RangeError);
    expect(() => new FrameSplitter({ ...phone, encoding: 'mp3' }, 20)).toThrow(/compressed/);
  });
});
