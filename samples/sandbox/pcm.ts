/**
 * Bytes on the sandbox's wires to samples and back.
 *
 * G.711 is written out here a second time, from the recommendation and not from `rxvoice/audio`: the sandbox is what
 * the library's codecs are tested against, and a shared mistake would cancel itself out.
 */

/** Encodings in which the sandbox speaks and listens. */
export type SampleEncoding = 'linear16' | 'linear32' | 'mulaw' | 'alaw';

/** Bytes of one sample. */
export const bytesPerSample: Readonly<Record<SampleEncoding, number>> = { linear16: 2, linear32: 4, mulaw: 1, alaw: 1 };

export function isSampleEncoding(name: unknown): name is SampleEncoding {
  return typeof name === 'string' && Object.hasOwn(bytesPerSample, name);
}

function mulawToLinear(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = ((((bits & 0x0f) << 3) + 0x84) << ((bits >> 4) & 7)) - 0x84;
  return bits & 0x80 ? -magnitude : magnitude;
}

function linearToMulaw(sample: number): number {
  const magnitude = Math.min(Math.abs(sample), 32635) + 0x84;
  const segment = 24 - Math.clz32(magnitude);
  const bits = (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f) | (sample < 0 ? 0x80 : 0);
  return ~bits & 0xff;
}

function alawToLinear(byte: number): number {
  const bits = byte ^ 0x55;
  const segment = (bits >> 4) & 7;
  const low = ((bits & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? low : (low + 0x100) << (segment - 1);
  return bits & 0x80 ? magnitude : -magnitude;
}

function linearToAlaw(sample: number): number {
  const magnitude = Math.min(Math.abs(sample), 32767) >> 3;
  const segment = Math.max(0, 32 - Math.clz32(magnitude) - 5);
  const low = segment < 2 ? (magnitude >> 1) & 0x0f : (magnitude >> segment) & 0x0f;
  return ((segment << 4) | low | (sample < 0 ? 0 : 0x80)) ^ 0x55;
}

const decoders: Readonly<Record<SampleEncoding, (bytes: DataView, index: number) => number>> = {
  linear16: (view, index) => view.getInt16(index * 2, true),
  linear32: (view, index) => Math.max(-32768, Math.min(32767, Math.round(view.getFloat32(index * 4, true) * 32768))),
  mulaw: (view, index) => mulawTable[view.getUint8(index)] ?? 0,
  alaw: (view, index) => alawTable[view.getUint8(index)] ?? 0,
};
const mulawTable = Int16Array.from({ length: 256 }, (_, byte) => mulawToLinear(byte));
const alawTable = Int16Array.from({ length: 256 }, (_, byte) => alawToLinear(byte));

/** Turns the pieces of a byte stream into mono samples; carries what a piece splits, and mixes channels down. */
export class SampleReader {
  readonly #decode: (bytes: DataView, index: number) => number;
  readonly #frameBytes: number;
  readonly #channels: number;
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  constructor(encoding: SampleEncoding, channels = 1) {
    this.#decode = decoders[encoding];
    this.#channels = channels;
    this.#frameBytes = bytesPerSample[encoding] * channels;
  }

  read(bytes: Uint8Array): Int16Array<ArrayBuffer> {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const frames = Math.floor(all.length / this.#frameBytes);
    this.#rest = all.slice(frames * this.#frameBytes);
    const view = new DataView(all.buffer);
    const samples = new Int16Array(frames);
    for (let frame = 0; frame < frames; frame++) {
      let sum = 0;
      for (let channel = 0; channel < this.#channels; channel++)
        sum += this.#decode(view, frame * this.#channels + channel);
      samples[frame] = sum / this.#channels;
    }
    return samples;
  }
}

/** Takes interleaved channels apart, however the audio is cut. */
export class ChannelSplitter {
  readonly #sampleBytes: number;
  readonly #channels: number;
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  constructor(encoding: SampleEncoding, channels: number) {
    this.#sampleBytes = bytesPerSample[encoding];
    this.#channels = channels;
  }

  /** The bytes of each channel. */
  split(bytes: Uint8Array): Uint8Array<ArrayBuffer>[] {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const [size, channels] = [this.#sampleBytes, this.#channels];
    const frames = Math.floor(all.length / (size * channels));
    this.#rest = all.slice(frames * size * channels);
    return Array.from({ length: channels }, (_, channel) => {
      const own = new Uint8Array(frames * size);
      for (let frame = 0; frame < frames; frame++) {
        const from = (frame * channels + channel) * size;
        own.set(all.subarray(from, from + size), frame * size);
      }
      return own;
    });
  }
}

/** Mono samples from bytes that hold whole samples. */
export function readSamples(bytes: Uint8Array, encoding: SampleEncoding): Int16Array<ArrayBuffer> {
  return new SampleReader(encoding).read(bytes);
}

/** Bytes of mono samples. */
export function writeSamples(samples: Int16Array, encoding: SampleEncoding): Uint8Array<ArrayBuffer> {
  if (encoding === 'mulaw' || encoding === 'alaw') {
    return Uint8Array.from(samples, encoding === 'mulaw' ? linearToMulaw : linearToAlaw);
  }
  const size = bytesPerSample[encoding];
  const view = new DataView(new ArrayBuffer(samples.length * size));
  samples.forEach((sample, index) => {
    if (encoding === 'linear16') view.setInt16(index * 2, sample, true);
    else view.setFloat32(index * 4, sample / 32768, true);
  });
  return new Uint8Array(view.buffer);
}

/**
 * The 44 bytes before mono 16-bit samples in a WAV file.
 *
 * @param dataBytes Bytes that follow; absent writes 0xFFFFFFFF into both sizes, as services do that stream.
 */
export function wavHeader(sampleRate: number, dataBytes?: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(44));
  const words: readonly (readonly [number, string])[] = [
    [0, 'RIFF'],
    [8, 'WAVE'],
    [12, 'fmt '],
    [36, 'data'],
  ];
  for (const [at, word] of words) [...word].forEach((letter, n) => view.setUint8(at + n, letter.charCodeAt(0)));
  view.setUint32(4, dataBytes === undefined ? 0xffffffff : dataBytes + 36, true);
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  view.setUint32(40, dataBytes ?? 0xffffffff, true);
  return new Uint8Array(view.buffer);
}

/** A WAV file of mono 16-bit samples. */
export function wavFile(samples: Int16Array, sampleRate: number): Uint8Array<ArrayBuffer> {
  return concatBytes([wavHeader(sampleRate, samples.length * 2), writeSamples(samples, 'linear16')]);
}

/** A WAV file of mono G.711 samples: its `fmt ` chunk is longer, and a `fact` chunk follows. */
export function g711File(samples: Int16Array, sampleRate: number, encoding: 'mulaw' | 'alaw'): Uint8Array<ArrayBuffer> {
  const data = writeSamples(samples, encoding);
  const header = new Uint8Array(58);
  const view = new DataView(header.buffer);
  header.set(wavHeader(sampleRate).subarray(0, 36));
  view.setUint32(4, 50 + data.length, true);
  view.setUint32(16, 18, true);
  view.setUint16(20, encoding === 'alaw' ? 6 : 7, true);
  view.setUint32(28, sampleRate, true);
  view.setUint16(32, 1, true);
  view.setUint16(34, 8, true);
  view.setUint16(36, 0, true);
  header.set(new TextEncoder().encode('fact'), 38);
  view.setUint32(42, 4, true);
  view.setUint32(46, data.length, true);
  header.set(new TextEncoder().encode('data'), 50);
  view.setUint32(54, data.length, true);
  return concatBytes([header, data]);
}

/** The samples of a WAV file with 16-bit PCM, A-law or mu-law; `undefined` when it is no such file. */
export function readWav(file: Uint8Array): { samples: Int16Array<ArrayBuffer>; sampleRate: number } | undefined {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const word = (at: number): string => String.fromCharCode(...file.subarray(at, at + 4));
  if (file.length < 44 || word(0) !== 'RIFF' || word(8) !== 'WAVE') return undefined;
  let format: { encoding: SampleEncoding; channels: number; sampleRate: number } | undefined;
  for (let at = 12; at + 8 <= file.length;) {
    const size = view.getUint32(at + 4, true);
    if (word(at) === 'fmt ') {
      const encoding = ({ 1: 'linear16', 6: 'alaw', 7: 'mulaw' } as const)[view.getUint16(at + 8, true)];
      if (!encoding) return undefined;
      format = { encoding, channels: view.getUint16(at + 10, true), sampleRate: view.getUint32(at + 12, true) };
    }
    if (word(at) === 'data' && format) {
      const data = file.subarray(at + 8, Math.min(file.length, at + 8 + size));
      return { samples: new SampleReader(format.encoding, format.channels).read(data), sampleRate: format.sampleRate };
    }
    at += 8 + size + (size & 1);
  }
  return undefined;
}

/** One array of all the bytes. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
