import { decodeAlaw, decodeMulaw, encodeAlaw, encodeMulaw } from './g711.ts';
import type { AudioEncoding } from './types.ts';

/** Samples in memory: 16-bit integers, or floats with full scale at 1. Channels are interleaved. */
export type Samples = Int16Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/**
 * Converts linear16 bytes to samples: a view of the same memory if aligned, else a copy. Half a sample at the end is
 * dropped.
 */
export function int16View(bytes: Uint8Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
  const length = bytes.byteLength >> 1;
  if (!littleEndian) return readBigEndian(bytes, new Int16Array(length), (view, at) => view.getInt16(at, true));
  if (bytes.byteOffset % 2 === 0) return new Int16Array(bytes.buffer, bytes.byteOffset, length);
  return new Int16Array(new Uint8Array(bytes).buffer, 0, length);
}

/** Converts samples to linear16 bytes: a view of the same memory on every current machine. */
export function int16Bytes(samples: Int16Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (littleEndian) return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return writeBigEndian(samples, (view, at, sample) => view.setInt16(at, sample, true));
}

/**
 * Converts linear32 bytes to samples: a view of the same memory if aligned, else a copy. A partial sample at the end is
 * dropped.
 */
export function float32View(bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const length = bytes.byteLength >> 2;
  if (!littleEndian) return readBigEndian(bytes, new Float32Array(length), (view, at) => view.getFloat32(at, true));
  if (bytes.byteOffset % 4 === 0) return new Float32Array(bytes.buffer, bytes.byteOffset, length);
  return new Float32Array(new Uint8Array(bytes).buffer, 0, length);
}

/** Converts samples to linear32 bytes: a view of the same memory on every current machine. */
export function float32Bytes(samples: Float32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (littleEndian) return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return writeBigEndian(samples, (view, at, sample) => view.setFloat32(at, sample, true));
}

/** Converts 16-bit samples to floats: -32768 becomes -1. Float samples are returned unchanged. */
export function toFloat32(samples: Samples): Float32Array<ArrayBuffer> {
  if (samples instanceof Float32Array) return samples;
  const floats = new Float32Array(samples.length);
  for (let at = 0; at < floats.length; at++) floats[at] = (samples[at] ?? 0) / 32768;
  return floats;
}

/**
 * Converts floats to 16-bit samples: 1 becomes 32767, values beyond full scale are clamped, NaN becomes silence;
 * rounded, without dither. 16-bit samples are returned unchanged.
 */
export function toInt16(samples: Samples): Int16Array<ArrayBuffer> {
  if (samples instanceof Int16Array) return samples;
  const integers = new Int16Array(samples.length);
  for (let at = 0; at < integers.length; at++) {
    const scaled = Math.round((samples[at] ?? 0) * 32768);
    integers[at] = scaled > 32767 ? 32767 : scaled < -32768 ? -32768 : scaled;
  }
  return integers;
}

/**
 * Decodes raw bytes to samples: floats for linear32, else 16-bit. A view where possible, so don't write to it.
 *
 * @throws RangeError for compressed encodings.
 */
export function decodeSamples(bytes: Uint8Array<ArrayBuffer>, encoding: AudioEncoding): Samples {
  const decode = decoders[encoding];
  if (!decode) throw new RangeError(`${encoding} is compressed and cannot be decoded here: ask for linear16`);
  return decode(bytes);
}

/**
 * Encodes samples to raw bytes. A view where possible, so don't write to the samples afterwards.
 *
 * @throws RangeError for compressed encodings.
 */
export function encodeSamples(samples: Samples, encoding: AudioEncoding): Uint8Array<ArrayBuffer> {
  const encode = encoders[encoding];
  if (!encode) throw new RangeError(`${encoding} is compressed and cannot be encoded here: use linear16`);
  return encode(samples);
}

const decoders: Partial<Record<AudioEncoding, (bytes: Uint8Array<ArrayBuffer>) => Samples>> = {
  linear16: int16View,
  linear32: float32View,
  mulaw: (bytes) => decodeMulaw(bytes),
  alaw: (bytes) => decodeAlaw(bytes),
};

const encoders: Partial<Record<AudioEncoding, (samples: Samples) => Uint8Array<ArrayBuffer>>> = {
  linear16: (samples) => int16Bytes(toInt16(samples)),
  linear32: (samples) => float32Bytes(toFloat32(samples)),
  mulaw: (samples) => encodeMulaw(toInt16(samples)),
  alaw: (samples) => encodeAlaw(toInt16(samples)),
};

function readBigEndian<T extends Samples>(
  bytes: Uint8Array<ArrayBuffer>,
  samples: T,
  read: (view: DataView, at: number) => number,
): T {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < samples.length; at++) samples[at] = read(view, at * samples.BYTES_PER_ELEMENT);
  return samples;
}

function writeBigEndian(
  samples: Samples,
  write: (view: DataView, at: number, sample: number) => void,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(samples.byteLength);
  const view = new DataView(bytes.buffer);
  samples.forEach((sample, at) => write(view, at * samples.BYTES_PER_ELEMENT, sample));
  return bytes;
}
