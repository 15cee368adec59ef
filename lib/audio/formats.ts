import { containerOf } from './accepted.ts';
import type { AudioEncoding, AudioFormat, AudioMetadata } from './types.ts';

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

/** Whether bytes of one format can be used as the other. */
export function sameFormat(a: AudioMetadata, b: AudioMetadata): boolean {
  if (a === b) return true;
  return (
    a.encoding === b.encoding &&
    a.sampleRate === b.sampleRate &&
    a.channels === b.channels &&
    containerOf(a) === containerOf(b)
  );
}

/** A format as text, such as `linear16 24000 Hz mono` or `opus 48000 Hz stereo in ogg`. */
export function describeFormat(metadata: AudioMetadata): string {
  const { encoding, sampleRate, channels } = metadata;
  const layout = channels === 1 ? 'mono' : channels === 2 ? 'stereo' : `${channels} channels`;
  const container = containerOf(metadata);
  return `${encoding} ${sampleRate} Hz ${layout}${container === 'raw' ? '' : ` in ${container}`}`;
}

/** Accepted formats as text, such as `linear16 at 8000 or 16000 Hz (mono)`. */
export function describeFormats(formats: readonly AudioFormat[]): string {
  const anyOf = (values: readonly number[]): string => values.join(', ').replace(/, (\d+)$/, ' or $1');
  const rows = formats.map(({ encoding, sampleRates, channels = [1] }) => {
    const rates = sampleRates ? `${anyOf(sampleRates)} Hz` : 'any sample rate';
    const layout = channels.every((count) => count === 1) ? 'mono' : `${anyOf(channels)} channels`;
    return `${encoding} at ${rates} (${layout})`;
  });
  return rows.join('; ');
}

/** The format of audio that nobody described: the first that is accepted. Default: linear16 at 16 kHz, mono. */
export function firstOf([first = { encoding: 'linear16' }]: readonly AudioFormat[]): AudioMetadata {
  const { encoding, sampleRates, channels } = first;
  return { encoding, sampleRate: sampleRates?.[0] ?? 16_000, channels: channels?.[0] ?? 1 };
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
