import type { AudioEncoding, AudioMetadata } from './types.ts';

const sampleBytes: Readonly<Partial<Record<AudioEncoding, number>>> = { linear16: 2, linear32: 4, mulaw: 1, alaw: 1 };

/** Silence where it is not zero bytes (ITU-T G.711: the positive value nearest to zero). */
const silenceBytes: Readonly<Partial<Record<AudioEncoding, number>>> = { mulaw: 0xff, alaw: 0xd5 };

/** The part of a format needed to count samples. */
export type PcmFormat = Pick<AudioMetadata, 'encoding' | 'sampleRate' | 'channels'>;

/** Whether every sample has a fixed size, so that bytes can be counted, split and converted without a decoder. */
export function isPcmLike(encoding: AudioEncoding): boolean {
  return sampleBytes[encoding] !== undefined;
}

/**
 * Bytes per sample of one channel: 2 for linear16, 4 for linear32, 1 for mulaw and alaw.
 *
 * @throws RangeError for compressed encodings.
 */
export function bytesPerSample(encoding: AudioEncoding): number {
  const bytes = sampleBytes[encoding];
  if (bytes === undefined) throw new RangeError(`${encoding} is compressed: its samples have no fixed size`);
  return bytes;
}

/**
 * Bytes per sample of all channels together.
 *
 * @throws RangeError for compressed encodings.
 */
export function frameBytes(metadata: Pick<AudioMetadata, 'encoding' | 'channels'>): number {
  return bytesPerSample(metadata.encoding) * metadata.channels;
}

/**
 * Bytes per millisecond; not an integer at 11025, 22050 and 44100 Hz.
 *
 * @throws RangeError for compressed encodings.
 */
export function bytesPerMs(metadata: PcmFormat): number {
  return (frameBytes(metadata) * metadata.sampleRate) / 1000;
}

/**
 * Bytes of the whole samples in `ms` milliseconds.
 *
 * @throws RangeError for compressed encodings.
 */
export function bytesForMs(ms: number, metadata: PcmFormat): number {
  // So that a duration computed from samples converts back to as many samples despite rounding.
  return Math.floor((ms * metadata.sampleRate) / 1000 + 1e-6) * frameBytes(metadata);
}

/**
 * Duration of raw samples, in milliseconds.
 *
 * @throws RangeError for compressed encodings.
 */
export function durationMs(byteLength: number, metadata: PcmFormat): number {
  return (byteLength * 1000) / (frameBytes(metadata) * metadata.sampleRate);
}

/** The byte value of silence: 0xff in mulaw, 0xd5 in alaw, else 0. */
export function silenceByte(encoding: AudioEncoding): number {
  return silenceBytes[encoding] ?? 0;
}

/**
 * Silence of `ms` milliseconds, in whole samples.
 *
 * @throws RangeError for compressed encodings.
 */
export function silence(metadata: PcmFormat, ms: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytesForMs(ms, metadata)).fill(silenceByte(metadata.encoding));
}

/** 11025 to 32000 Hz has 1280 phases, the most of all pairs of common rates. */
const mostPhases = 2048;
const mostDecimation = 32;

/** Whether the filter bank for two sample rates has a reasonable size, as for all pairs of common rates. */
export function canResample(from: number, to: number): boolean {
  if (!Number.isInteger(from) || !Number.isInteger(to) || from < 1 || to < 1) return false;
  return to / greatestDivisor(from, to) <= mostPhases && from / to <= mostDecimation;
}

/** The greatest common divisor of two positive integers. */
export function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
