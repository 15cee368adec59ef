import { containerOf } from './accepted.ts';
import { bytesPerSample, frameBytes } from './formats.ts';
import type { AudioEncoding, AudioMetadata } from './types.ts';

/** What the start of a stream turned out to be. */
export type WavHeader =
  | {
      /** A readable WAV file. */
      readonly kind: 'wav';
      /** The format of its samples. */
      readonly metadata: AudioMetadata;
      /** Where the samples start, in bytes. */
      readonly dataOffset: number;
      /** Length of the samples in bytes; absent if the writer did not know it (0 or 0xFFFFFFFF in the file). */
      readonly dataLength?: number;
    }
  | {
      /** Not a RIFF file: raw samples, or something else. */
      readonly kind: 'raw';
    }
  | {
      /** A RIFF file with an unsupported sample format. */
      readonly kind: 'unsupported';
      /** Why it is unsupported. */
      readonly reason: string;
    };

/** `fmt ` chunk: the format tag and bits per sample of each encoding (Microsoft's mmreg.h). */
const tags: readonly { readonly encoding: AudioEncoding; readonly tag: number; readonly bits: number }[] = [
  { encoding: 'linear16', tag: 1, bits: 16 },
  { encoding: 'linear32', tag: 3, bits: 32 },
  { encoding: 'alaw', tag: 6, bits: 8 },
  { encoding: 'mulaw', tag: 7, bits: 8 },
];

const extensible = 0xfffe;
const unknownLength = 0xffffffff;

/** RIFF, and its variants for more than 4 GB (EBU Tech 3306), whose sizes are stored elsewhere. */
const riffIds: readonly string[] = ['RIFF', 'RF64', 'BW64'];

/** What they begin with. */
const letterR = 0x52;
const letterB = 0x42;

/** The bytes of a `fmt ` chunk that matter: up to the sub-format tag of WAVE_FORMAT_EXTENSIBLE. */
const formatLength = 26;

/** Four bytes as text. */
export function chunkId(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

/** Whether bytes start a WAV file; `undefined` if there are too few to tell. */
export function isWav(bytes: Uint8Array): boolean | undefined {
  const first = bytes[0];
  // Of most audio the first byte tells.
  if (first !== undefined && first !== letterR && first !== letterB) return false;
  const riff = chunkId(bytes, 0);
  if (!riffIds.some((id) => id.startsWith(riff))) return false;
  const wave = chunkId(bytes, 8);
  if (!'WAVE'.startsWith(wave)) return false;
  return wave.length === 4 ? true : undefined;
}

/** A chunk's length from its header; `undefined` if the writer did not know it. */
export function knownLength(length: number): number | undefined {
  return length === 0 || length === unknownLength ? undefined : length;
}

/** The format in a `fmt ` chunk's content, or the reason why it is unusable. */
export function parseFormat(content: Uint8Array<ArrayBuffer>): AudioMetadata | string {
  if (content.length < 16) return 'its fmt chunk is too short';
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const outer = view.getUint16(0, true);
  const tag = outer === extensible && content.length >= formatLength ? view.getUint16(24, true) : outer;
  const channels = view.getUint16(2, true);
  const sampleRate = view.getUint32(4, true);
  const bitDepth = view.getUint16(14, true);
  const row = tags.find((each) => each.tag === tag && each.bits === bitDepth);
  if (!row) return `its samples have format ${tag} with ${bitDepth} bits`;
  if (channels === 0 || sampleRate === 0) return `it claims ${channels} channels at ${sampleRate} Hz`;
  return { encoding: row.encoding, sampleRate, channels, bitDepth };
}

/**
 * Reads a WAV file's header, including any chunks before its samples; `undefined` until there are enough bytes. For
 * streams, use {@link WavReader}.
 */
export function parseWavHeader(bytes: Uint8Array<ArrayBuffer>): WavHeader | undefined {
  const wav = isWav(bytes);
  if (wav === false) return { kind: 'raw' };
  if (wav === undefined) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let format: AudioMetadata | string = 'it has no fmt chunk before its samples';
  for (let at = 12; at + 8 <= bytes.length;) {
    const id = chunkId(bytes, at);
    const length = view.getUint32(at + 4, true);
    at += 8;
    if (id === 'data') {
      if (typeof format === 'string') return { kind: 'unsupported', reason: format };
      const dataLength = knownLength(length);
      return { kind: 'wav', metadata: format, dataOffset: at, ...(dataLength !== undefined && { dataLength }) };
    }
    if (id === 'fmt ') {
      if (at + Math.min(length, formatLength) > bytes.length) return undefined;
      format = parseFormat(bytes.subarray(at, at + Math.min(length, formatLength)));
    }
    at += length + (length % 2);
  }
  return undefined;
}

/**
 * Creates a WAV file's header: 44 bytes for linear16, 58 for other encodings.
 *
 * @param dataLength - Bytes of samples that follow; omit for a stream of unknown length, which readers read to its end.
 *   More than the format can state, 4 GiB, is written as unknown too.
 * @throws RangeError for compressed encodings.
 */
export function wavHeader(metadata: AudioMetadata, dataLength: number = Infinity): Uint8Array<ArrayBuffer> {
  const row = tags.find(({ encoding }) => encoding === metadata.encoding);
  if (!row)
    throw new RangeError(`${metadata.encoding} is compressed: a WAV file needs linear16, linear32, mulaw or alaw`);
  const { channels, sampleRate } = metadata;
  const blockAlign = frameBytes(metadata);
  const plain = row.tag === 1;
  const headerLength = plain ? 44 : 58;
  const header = new Uint8Array(headerLength);
  const view = new DataView(header.buffer);
  let at = 0;
  // Modulo 4 GiB, a length would hide what is beyond it.
  const isUnknown = headerLength + dataLength >= unknownLength;
  const chunk = (id: string, length: number): void => {
    for (const character of id) header[at++] = character.charCodeAt(0);
    view.setUint32(at, length, true);
    at += 4;
  };
  const put16 = (value: number): void => {
    view.setUint16(at, value, true);
    at += 2;
  };
  const put32 = (value: number): void => {
    view.setUint32(at, value, true);
    at += 4;
  };
  chunk('RIFF', isUnknown ? unknownLength : headerLength - 8 + dataLength + (dataLength % 2));
  for (const character of 'WAVE') header[at++] = character.charCodeAt(0);
  chunk('fmt ', plain ? 16 : 18);
  put16(row.tag);
  put16(channels);
  put32(sampleRate);
  put32(sampleRate * blockAlign);
  put16(blockAlign);
  put16(bytesPerSample(metadata.encoding) * 8);
  if (!plain) {
    put16(0);
    chunk('fact', 4);
    put32(isUnknown ? unknownLength : dataLength / blockAlign);
  }
  chunk('data', isUnknown ? unknownLength : dataLength);
  return header;
}

/**
 * Creates a WAV file from raw sample bytes.
 *
 * @throws RangeError for compressed encodings, and for samples that already have a container.
 */
export function encodeWav(samples: Uint8Array<ArrayBuffer>, metadata: AudioMetadata): Uint8Array<ArrayBuffer> {
  const container = containerOf(metadata);
  if (container !== 'raw') throw new RangeError(`a WAV file needs raw samples, not ${container}`);
  const header = wavHeader(metadata, samples.length);
  const file = new Uint8Array(header.length + samples.length + (samples.length % 2));
  file.set(header);
  file.set(samples, header.length);
  return file;
}

/**
 * Corrects the sizes in a complete WAV file, which players rely on; returns the file itself if they are right, else a
 * copy. Services that stream WAV write the header before they know the length. Anything but a WAV file is returned
 * unchanged.
 */
export function fixWavSizes(file: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const header = parseWavHeader(file);
  if (header?.kind !== 'wav') return file;
  const { metadata, dataOffset, dataLength = Infinity } = header;
  const riffLength = new DataView(file.buffer, file.byteOffset, file.byteLength).getUint32(4, true);
  if (dataOffset + dataLength <= file.length && riffLength + 8 <= file.length) return file;
  return encodeWav(file.subarray(dataOffset, dataOffset + Math.min(dataLength, file.length)), metadata);
}
