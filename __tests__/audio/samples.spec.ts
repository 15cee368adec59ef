import {
  channelOf,
  concatBytes,
  decodeSamples,
  encodeSamples,
  float32Bytes,
  float32View,
  int16Bytes,
  int16View,
  interleave,
  mixChannels,
  toFloat32,
  toInt16,
} from 'rxvoice/audio';
import { joinBytes } from '../../lib/audio/concat.ts';

describe('views on samples', () => {
  it('are views where bytes are aligned: no copy', () => {
    const bytes = new Uint8Array([0, 0, 0x34, 0x12, 0xff, 0xff]);
    const samples = int16View(bytes.subarray(2));
    expect([...samples]).toEqual([0x1234, -1]);
    expect(samples.buffer).toBe(bytes.buffer);
    expect(int16Bytes(samples).buffer).toBe(bytes.buffer);
    expect([...int16Bytes(samples)]).toEqual([0x34, 0x12, 0xff, 0xff]);
    const floats = Float32Array.of(0.5, -1);
    expect(float32View(float32Bytes(floats)).buffer).toBe(floats.buffer);
  });

  it('read the same samples at an odd byte offset, where no view is possible', () => {
    for (const offset of [1, 3, 5]) {
      const bytes = new Uint8Array(offset + 4);
      bytes.set([0x34, 0x12, 0xfe, 0xff], offset);
      expect([...int16View(bytes.subarray(offset))]).toEqual([0x1234, -2]);
      const floats = new Uint8Array(offset + 8);
      floats.set(float32Bytes(Float32Array.of(0.25, -0.5)), offset);
      expect([...float32View(floats.subarray(offset))]).toEqual([0.25, -0.5]);
    }
  });

  it('leave out an incomplete sample at the end', () => {
    expect([...int16View(new Uint8Array([1, 0, 2]))]).toEqual([1]);
    expect([...int16View(new Uint8Array([9, 1, 0, 2]).subarray(1))]).toEqual([1]);
    expect(float32View(new Uint8Array(7)).length).toBe(1);
    expect(int16View(new Uint8Array(0)).length).toBe(0);
  });
});

describe('conversion of samples', () => {
  it('gives every 16-bit sample back after floats', () => {
    const all = Int16Array.from({ length: 65536 }, (_, at) => at - 32768);
    expect(toInt16(toFloat32(all)).every((sample, at) => sample === all[at])).toBe(true);
    expect(toFloat32(Int16Array.of(-32768, 16384))).toEqual(Float32Array.of(-1, 0.5));
  });

  it('clamps floats beyond full scale, rounds, and converts NaN to silence', () => {
    expect([...toInt16(Float32Array.of(1, 2, -1, -7, 0.00002, 0.00001, NaN, Infinity, -Infinity))]).toEqual([
      32767, 32767, -32768, -32768, 1, 0, 0, 32767, -32768,
    ]);
  });

  it('decodes and encodes each encoding, and refuses compressed ones with what to do', () => {
    const samples = Int16Array.of(0, 1000, -1000, 32767);
    expect([...decodeSamples(encodeSamples(samples, 'linear16'), 'linear16')]).toEqual([...samples]);
    expect([...decodeSamples(encodeSamples(samples, 'linear32'), 'linear32')]).toEqual([...toFloat32(samples)]);
    expect([...encodeSamples(samples, 'mulaw')]).toEqual([0xff, 0xce, 0x4e, 0x80]);
    expect([...encodeSamples(Float32Array.of(0), 'alaw')]).toEqual([0xd5]);
    expect([...decodeSamples(new Uint8Array([0x80]), 'mulaw')]).toEqual([32124]);
    expect(() => decodeSamples(new Uint8Array(4), 'mp3')).toThrow(/linear16/);
    expect(() => encodeSamples(samples, 'opus')).toThrow(/linear16/);
  });
});

describe('channels', () => {
  it('averages on the way down, so that nothing clips, and copies on the way up', () => {
    expect([...mixChannels(Int16Array.of(32767, 32767, 100, -300), 2, 1)]).toEqual([32767, -100]);
    expect([...mixChannels(Int16Array.of(5, -7), 1, 2)]).toEqual([5, 5, -7, -7]);
    expect([...mixChannels(Float32Array.of(1, 0.5, 0, 0.25), 4, 2)]).toEqual([0.5, 0.375]);
    expect([...mixChannels(Int16Array.of(1, 2, 3, 4, 5, 6), 3, 2)]).toEqual([2, 2, 5, 5]);
    expect([...mixChannels(Int16Array.of(1, 2, 3, 4), 2, 3)]).toEqual([1, 2, 1, 3, 4, 3]);
  });

  it('returns the samples themselves where nothing changes', () => {
    const samples = Int16Array.of(1, 2);
    expect(mixChannels(samples, 2, 2)).toBe(samples);
  });

  it('takes one channel out and puts channels together', () => {
    expect([...channelOf(Int16Array.of(1, 2, 3, 4), 2, 1)]).toEqual([2, 4]);
    expect([...interleave([Int16Array.of(1, 3), Int16Array.of(2)])]).toEqual([1, 2, 3, 0]);
    expect([...interleave([Float32Array.of(0.5), Float32Array.of(-0.5)])]).toEqual([0.5, -0.5]);
  });
});

describe('concatBytes', () => {
  it('copies only when it must', () => {
    const one = new Uint8Array([1, 2]);
    expect(concatBytes(new Uint8Array(0), one, new Uint8Array(0))).toBe(one);
    expect([...concatBytes(one, new Uint8Array([3]), one)]).toEqual([1, 2, 3, 1, 2]);
    expect(concatBytes().length).toBe(0);
  });

  it('joins more pieces than a function can have arguments', () => {
    const piece = new Uint8Array([1, 2]);
    const joined = joinBytes(new Array<Uint8Array<ArrayBuffer>>(500_000).fill(piece));
    expect(joined.length).toBe(1_000_000);
    expect([...joined.subarray(-3)]).toEqual([2, 1, 2]);
  });
});
