/**
 * Compressed audio that carries the modem's voice, made by the encoders that services use: LAME, libopus, and FFmpeg's
 * AAC. FLAC needs none: its verbatim subframes need no compression. Each encoder is loaded when it is needed: the packed
 * sandbox (`npx rxvoice sandbox`) has none of them.
 */
import type OpusScript from 'opusscript';
import type * as Lame from 'wasm-media-encoders';
import { concatBytes } from './pcm.ts';

type Bytes = Uint8Array<ArrayBuffer>;

const mp3Rates = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000] as const;
const opusRates = [8000, 12000, 16000, 24000, 48000] as const;

const bytes = (...values: readonly number[]): Bytes => Uint8Array.from(values);
const ascii = (text: string): Bytes => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

function little(value: number, length: number): Bytes {
  return Uint8Array.from({ length }, (_, n) => Math.floor(value / 2 ** (8 * n)) & 0xff);
}

/** Audio of a text in `mp3`, `aac`, `opus` (in Ogg), `webm` (Opus) or `flac`. */
export async function compressed(format: string, samples: Int16Array, sampleRate: number): Promise<Bytes> {
  if (format === 'flac') return flac(samples, sampleRate);
  try {
    return await encoded(format, samples, sampleRate);
  } catch (cause) {
    const packages = 'wasm-media-encoders opusscript mediabunny @mediabunny/aac-encoder';
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new Error(`the sandbox needs encoders for ${format}: npm install --save-dev ${packages}`, { cause });
  }
}

async function encoded(format: string, samples: Int16Array, sampleRate: number): Promise<Bytes> {
  if (format === 'opus') return oggOpus(await opusPackets(samples, sampleRate));
  if (format === 'webm') return webmOpus(await opusPackets(samples, sampleRate));
  return format === 'aac' ? adts(samples, sampleRate) : mp3(samples, sampleRate);
}

const lame = new Map<number, ReturnType<typeof Lame.createMp3Encoder>>();

/** MPEG-1, MPEG-2 or MPEG-2.5 Layer III, mono, at a constant bitrate. */
async function mp3(samples: Int16Array, sampleRate: number): Promise<Bytes> {
  const rate = mp3Rates.find((each) => each === sampleRate);
  if (!rate) throw new Error(`the sandbox makes no MP3 at ${sampleRate} Hz`);
  const { createMp3Encoder } = await import('wasm-media-encoders');
  const starting = lame.get(rate) ?? createMp3Encoder();
  lame.set(rate, starting);
  const encoder = await starting;
  encoder.configure({ sampleRate: rate, channels: 1, bitrate: rate < 32_000 ? 64 : 128 });
  // The next call overwrites what this one returns.
  const frames = encoder.encode([Float32Array.from(samples, (sample) => sample / 32768)]).slice();
  return concatBytes([frames, encoder.finalize()]);
}

/** Whether this runtime makes AAC: the encoder waits in Bun for a worker that never answers. */
export const makesAac: boolean = !('Bun' in globalThis);

/** AAC-LC, mono, in ADTS frames. */
async function adts(samples: Int16Array, sampleRate: number): Promise<Bytes> {
  const { AdtsOutputFormat, AudioSample, AudioSampleSource, BufferTarget, Output, Quality } =
    await import('mediabunny');
  // One after the other: Jest's module loader fails on two imports at once that share a module.
  const { registerAacEncoder } = await import('@mediabunny/aac-encoder');
  registerAacEncoder();
  const target = new BufferTarget();
  const output = new Output({ format: new AdtsOutputFormat(), target });
  const source = new AudioSampleSource({ codec: 'aac', quality: new Quality('high') });
  output.addAudioTrack(source);
  await output.start();
  const format = { format: 's16', numberOfChannels: 1, timestamp: 0 } as const;
  const sample = new AudioSample({ ...format, sampleRate, data: samples.slice() });
  await source.add(sample);
  sample.close();
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer(0));
}

/** What libopus holds back at the beginning, at 48 kHz. */
const preSkip = 312;

interface OpusAudio {
  /** Of 20 ms each. */
  readonly packets: readonly Bytes[];
  /** Samples at 48 kHz, without what is skipped. */
  readonly length: number;
}

async function opusPackets(samples: Int16Array, sampleRate: number): Promise<OpusAudio> {
  const { default: Opus } = await import('opusscript');
  const rate = opusRates.find((each) => each === sampleRate) ?? 48_000;
  const encoder: OpusScript = new Opus(rate, 1, Opus.Application.AUDIO);
  encoder.setBitrate(64_000);
  const step = sampleRate / rate;
  const all =
    step === 1 ? samples : Int16Array.from({ length: samples.length / step }, (_, n) => between(samples, n * step));
  const frame = rate / 50;
  const packets: Bytes[] = [];
  const skipped = (preSkip * rate) / 48_000;
  for (let from = 0; from < all.length + skipped; from += frame) {
    const piece = new Int16Array(frame);
    piece.set(all.subarray(from, from + frame));
    packets.push(Uint8Array.from(encoder.encode(Buffer.from(piece.buffer), frame)));
  }
  encoder.delete();
  return { packets, length: Math.round((all.length * 48_000) / rate) };
}

/** A sample between two. */
function between(samples: Int16Array, position: number): number {
  const index = Math.floor(position);
  const [before = 0, after = before] = samples.subarray(index, index + 2);
  return before + (after - before) * (position - index);
}

const oggCrc = crcTable(0x04c11db7, 32);

function oggPage(packets: readonly Bytes[], flags: number, granule: number, sequence: number): Bytes {
  const lacing = packets.flatMap(({ length }) => [
    ...Array.from({ length: Math.floor(length / 255) }, () => 255),
    length % 255,
  ]);
  const head = concatBytes([
    ...[ascii('OggS'), bytes(0, flags), little(granule, 8), little(1, 4), little(sequence, 4), little(0, 4)],
    ...[bytes(lacing.length), Uint8Array.from(lacing)],
  ]);
  const page = concatBytes([head, ...packets]);
  let crc = 0;
  for (const byte of page) crc = ((crc << 8) ^ (oggCrc[((crc >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0;
  page.set(little(crc, 4), 22);
  return page;
}

function opusHead(): Bytes {
  return concatBytes([ascii('OpusHead'), bytes(1, 1), little(preSkip, 2), little(48000, 4), bytes(0, 0, 0)]);
}

/** Short pages, as of a service that streams: a player waits for the end of each. */
const packetsPerPage = 10;

/** Opus, mono, 20 ms a packet, in an Ogg container (RFC 7845). */
function oggOpus({ packets, length }: OpusAudio): Bytes {
  const vendor = ascii('rxvoice sandbox');
  const head = opusHead();
  const tags = concatBytes([ascii('OpusTags'), little(vendor.length, 4), vendor, little(0, 4)]);
  const pages = [oggPage([head], 2, 0, 0), oggPage([tags], 0, 0, 1)];
  for (let from = 0; from < packets.length; from += packetsPerPage) {
    const page = packets.slice(from, from + packetsPerPage);
    const done = from + page.length;
    const isLast = done === packets.length;
    // The last page tells where the audio ends, inside its last packet.
    pages.push(oggPage(page, isLast ? 4 : 0, isLast ? preSkip + length : done * 960, pages.length));
  }
  return concatBytes(pages);
}

/** An element of EBML: its id, its length in four bytes, its content. */
function ebml(id: readonly number[], ...content: readonly Bytes[]): Bytes {
  const body = concatBytes(content);
  return concatBytes([bytes(...id), bytes(0x10 | (body.length >> 24)), little(body.length, 3).reverse(), body]);
}

/** Opus, mono, 20 ms a packet, in a WebM container (RFC 9559). */
function webmOpus({ packets }: OpusAudio): Bytes {
  const double = new Uint8Array(8);
  new DataView(double.buffer).setFloat64(0, 48000);
  const track = ebml(
    [0xae],
    ...[ebml([0xd7], bytes(1)), ebml([0x73, 0xc5], bytes(1)), ebml([0x83], bytes(2))],
    ...[ebml([0x86], ascii('A_OPUS')), ebml([0x63, 0xa2], opusHead())],
    ebml([0xe1], ebml([0xb5], double), ebml([0x9f], bytes(1))),
  );
  const clusters = Array.from({ length: Math.ceil(packets.length / 50) }, (_, second) => {
    const blocks = packets
      .slice(second * 50, second * 50 + 50)
      .map((packet, index) => ebml([0xa3], bytes(0x81), little(index * 20, 2).reverse(), bytes(0x80), packet));
    return ebml([0x1f, 0x43, 0xb6, 0x75], ebml([0xe7], little(second * 1000, 4).reverse()), ...blocks);
  });
  const app = ascii('rxvoice sandbox');
  return concatBytes([
    ebml([0x1a, 0x45, 0xdf, 0xa3], ebml([0x42, 0x82], ascii('webm'))),
    ebml(
      [0x18, 0x53, 0x80, 0x67],
      ebml([0x15, 0x49, 0xa9, 0x66], ebml([0x4d, 0x80], app), ebml([0x57, 0x41], app)),
      ebml([0x16, 0x54, 0xae, 0x6b], track),
      ...clusters,
    ),
  ]);
}

const flacCrc8 = crcTable(0x07, 8);
const flacCrc16 = crcTable(0x8005, 16);

/** FLAC, mono, 16 bit, every subframe verbatim (RFC 9639). */
function flac(samples: Int16Array, sampleRate: number): Bytes {
  const blockSize = 4096;
  const info = new DataView(new ArrayBuffer(38));
  info.setUint32(0, 0x80000022);
  info.setUint16(4, blockSize);
  info.setUint16(6, blockSize);
  info.setUint32(14, (sampleRate << 12) | (15 << 4));
  info.setUint32(18, samples.length);
  const parts: Bytes[] = [ascii('fLaC'), new Uint8Array(info.buffer)];
  for (let at = 0, number = 0; at < samples.length; at += blockSize, number++) {
    const block = samples.subarray(at, at + blockSize);
    const coded = new TextEncoder().encode(String.fromCodePoint(number));
    const header = concatBytes([
      bytes(0xff, 0xf8, 0x70, 0x08),
      coded,
      bytes((block.length - 1) >> 8, (block.length - 1) & 0xff),
    ]);
    let crc8 = 0;
    for (const byte of header) crc8 = flacCrc8[crc8 ^ byte] ?? 0;
    const body = new DataView(new ArrayBuffer(block.length * 2));
    block.forEach((sample, index) => body.setInt16(index * 2, sample));
    const frame = concatBytes([header, bytes(crc8, 0x02), new Uint8Array(body.buffer)]);
    let crc16 = 0;
    for (const byte of frame) crc16 = ((crc16 << 8) ^ (flacCrc16[((crc16 >> 8) ^ byte) & 0xff] ?? 0)) & 0xffff;
    parts.push(frame, bytes(crc16 >> 8, crc16 & 0xff));
  }
  return concatBytes(parts);
}

/** The table of a CRC that begins with the highest bit. */
function crcTable(polynomial: number, width: 8 | 16 | 32): readonly number[] {
  const top = 2 ** (width - 1);
  const mask = 2 ** width - 1;
  return Array.from({ length: 256 }, (_, byte) => {
    let crc = byte * 2 ** (width - 8);
    for (let bit = 0; bit < 8; bit++) crc = crc >= top ? (((crc * 2) ^ polynomial) & mask) >>> 0 : crc * 2;
    return crc >>> 0;
  });
}
