/**
 * Compressed audio without an encoder: FLAC carries the modem's voice (its verbatim subframes need no compression),
 * MP3, AAC and Opus are as long as the text and silent (frames without any coefficient are a few constant bytes).
 */
import { concatBytes } from './pcm.ts';

type Bytes = Uint8Array<ArrayBuffer>;

const bytes = (...values: readonly number[]): Bytes => Uint8Array.from(values);
const ascii = (text: string): Bytes => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

function little(value: number, length: number): Bytes {
  return Uint8Array.from({ length }, (_, n) => Math.floor(value / 2 ** (8 * n)) & 0xff);
}

/** Audio of a text in `mp3`, `aac`, `opus` (in Ogg), `webm` (Opus) or `flac`. */
export function compressed(format: string, samples: Int16Array, sampleRate: number): Bytes {
  if (format === 'flac') return flac(samples, sampleRate);
  if (format === 'opus') return oggOpus(samples.length / sampleRate);
  if (format === 'webm') return webmOpus(samples.length / sampleRate);
  return format === 'aac' ? adts(samples.length, sampleRate) : mp3(samples.length, sampleRate);
}

/** MPEG-1, MPEG-2 or MPEG-2.5 Layer III, mono, 32 kbit/s: side information that is all zero means silence. */
function mp3(sampleCount: number, sampleRate: number): Bytes {
  const isFull = sampleRate >= 32000;
  const isQuarter = sampleRate < 16000;
  const rates = isFull ? [44100, 48000, 32000] : isQuarter ? [11025, 12000, 8000] : [22050, 24000, 16000];
  const rateIndex = rates.indexOf(sampleRate);
  if (rateIndex < 0) throw new Error(`the sandbox makes no MP3 at ${sampleRate} Hz`);
  const samplesPerFrame = isFull ? 1152 : 576;
  const frame = new Uint8Array(Math.floor((samplesPerFrame / 8) * (32000 / sampleRate)));
  frame.set([0xff, isFull ? 0xfb : isQuarter ? 0xe3 : 0xf3, ((isFull ? 1 : 4) << 4) | (rateIndex << 2), 0xc0]);
  return concatBytes(Array.from({ length: Math.ceil(sampleCount / samplesPerFrame) }, () => frame));
}

/** AAC-LC, mono, in ADTS frames. */
function adts(sampleCount: number, sampleRate: number): Bytes {
  const rateIndex = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000].indexOf(sampleRate);
  const silent = bytes(0x00, 0xc8, 0x00, 0x80, 0x23, 0x80);
  const length = 7 + silent.length;
  const header = bytes(
    0xff,
    0xf1,
    0x40 | (rateIndex << 2),
    0x40 | (length >> 11),
    (length >> 3) & 0xff,
    ((length & 7) << 5) | 0x1f,
    0xfc,
  );
  const frame = concatBytes([header, silent]);
  return concatBytes(Array.from({ length: Math.ceil(sampleCount / 1024) }, () => frame));
}

const oggCrc = crcTable(0x04c11db7, 32);

function oggPage(packets: readonly Bytes[], flags: number, granule: number, sequence: number): Bytes {
  const head = concatBytes([
    ...[ascii('OggS'), bytes(0, flags), little(granule, 8), little(1, 4), little(sequence, 4), little(0, 4)],
    ...[bytes(packets.length), Uint8Array.from(packets, (packet) => packet.length)],
  ]);
  const page = concatBytes([head, ...packets]);
  let crc = 0;
  for (const byte of page) crc = ((crc << 8) ^ (oggCrc[((crc >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0;
  page.set(little(crc, 4), 22);
  return page;
}

/** 20 ms of silence: a packet without a coefficient. */
const silentOpus = bytes(0xf8, 0xff, 0xfe);

function opusHead(): Bytes {
  return concatBytes([ascii('OpusHead'), bytes(1, 1), little(312, 2), little(48000, 4), bytes(0, 0, 0)]);
}

/** Opus, mono, 20 ms a packet, in an Ogg container (RFC 7845). */
function oggOpus(seconds: number): Bytes {
  const vendor = ascii('rxvoice sandbox');
  const head = opusHead();
  const tags = concatBytes([ascii('OpusTags'), little(vendor.length, 4), vendor, little(0, 4)]);
  const packets = Math.ceil(seconds * 50);
  const pages = [oggPage([head], 2, 0, 0), oggPage([tags], 0, 0, 1)];
  for (let done = 0; done < packets;) {
    const count = Math.min(50, packets - done);
    done += count;
    pages.push(
      oggPage(
        Array.from({ length: count }, () => silentOpus),
        done === packets ? 4 : 0,
        done * 960,
        pages.length,
      ),
    );
  }
  return concatBytes(pages);
}

/** An element of EBML: its id, its length in four bytes, its content. */
function ebml(id: readonly number[], ...content: readonly Bytes[]): Bytes {
  const body = concatBytes(content);
  return concatBytes([bytes(...id), bytes(0x10 | (body.length >> 24)), little(body.length, 3).reverse(), body]);
}

/** Opus, mono, 20 ms a packet, in a WebM container (RFC 9559). */
function webmOpus(seconds: number): Bytes {
  const double = new Uint8Array(8);
  new DataView(double.buffer).setFloat64(0, 48000);
  const track = ebml(
    [0xae],
    ...[ebml([0xd7], bytes(1)), ebml([0x73, 0xc5], bytes(1)), ebml([0x83], bytes(2))],
    ...[ebml([0x86], ascii('A_OPUS')), ebml([0x63, 0xa2], opusHead())],
    ebml([0xe1], ebml([0xb5], double), ebml([0x9f], bytes(1))),
  );
  const clusters = Array.from({ length: Math.ceil(seconds) }, (_, second) => {
    const packets = Math.min(50, Math.ceil((seconds - second) * 50));
    const blocks = Array.from({ length: packets }, (_, packet) =>
      ebml([0xa3], bytes(0x81), little(packet * 20, 2).reverse(), bytes(0x80), silentOpus),
    );
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
    for (let bit = 0; bit < 8; bit++) crc = crc >= top ? (((crc * 2) ^ polynomial) >>> 0) & mask : crc * 2;
    return crc >>> 0;
  });
}
