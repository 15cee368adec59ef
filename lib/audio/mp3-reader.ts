import type { CompressedFrame, FrameReader, FrameStream } from './frame-reader.ts';
import { SyncFrames, type FrameHeader, type SyncFormat } from './sync-frames.ts';

interface Mp3Header extends FrameHeader {
  readonly sampleRate: number;
  readonly channels: number;
  readonly samples: number;
  /** Bytes between the header and the main data. */
  readonly sideLength: number;
}

/** kbit/s by index, of MPEG-1 Layer III and of MPEG-2 and 2.5. */
const bitrates = {
  full: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  low: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const sampleRates = [44_100, 48_000, 32_000] as const;
/** Samples that every decoder adds before the encoder's own delay. */
const decoderDelay = 529;
const id3Length = 10;

/** ISO/IEC 11172-3 and 13818-3, Layer III; free-format frames have no known length. */
const format: SyncFormat<Mp3Header> = {
  headerLength: id3Length,
  parse(bytes, at) {
    if (bytes[at] !== 0xff) return undefined;
    const [second = 0, third = 0, fourth = 0] = bytes.subarray(at + 1, at + 4);
    const version = (second >> 3) & 3;
    if (second >> 5 !== 7 || version === 1 || ((second >> 1) & 3) !== 1) return undefined;
    const isFull = version === 3;
    const kbps = bitrates[isFull ? 'full' : 'low'][third >> 4] ?? 0;
    const fullRate = sampleRates[(third >> 2) & 3];
    if (kbps === 0 || fullRate === undefined) return undefined;
    const sampleRate = isFull ? fullRate : fullRate / (version === 2 ? 2 : 4);
    const samples = isFull ? 1152 : 576;
    const channels = fourth >> 6 === 3 ? 1 : 2;
    const checksum = second & 1 ? 0 : 2;
    const sideLength = checksum + (isFull ? (channels === 1 ? 17 : 32) : channels === 1 ? 9 : 17);
    const length = Math.floor((samples * kbps * 125) / sampleRate) + ((third >> 1) & 1);
    return { length, kind: (version << 4) | ((third >> 2) & 3), sampleRate, channels, samples, sideLength };
  },
  skip(bytes, at) {
    if (bytes[at] !== 0x49) return 0;
    // ID3v2: its length is written in 7 bits a byte.
    const [, d, three, , , , ...size] = bytes.subarray(at, at + id3Length);
    return d === 0x44 && three === 0x33 ? id3Length + size.reduce((sum, part) => sum * 128 + part, 0) : 0;
  },
};

/**
 * Frames of an MP3 file. The encoder's delay and padding are removed where the file states them, in the tag that LAME
 * and FFmpeg write into the first frame.
 */
export class Mp3Reader implements FrameReader {
  stream: FrameStream | undefined;
  readonly #frames = new SyncFrames<Mp3Header>(format);
  /** Samples so far; the first and the last to play. */
  #position: number = 0;
  #from: number = 0;
  #to: number = Infinity;

  push(bytes: Uint8Array<ArrayBuffer>): CompressedFrame[] {
    return this.#read(bytes, false);
  }

  flush(): CompressedFrame[] {
    return this.#read(new Uint8Array(0), true);
  }

  #read(bytes: Uint8Array<ArrayBuffer>, isEnd: boolean): CompressedFrame[] {
    return this.#frames.read(bytes, isEnd).flatMap(({ header, data }) => {
      const { samples, sampleRate, channels } = header;
      this.stream ??= { codec: 'mp3', sampleRate, channels };
      if (this.#isTag(header, data)) return [];
      const at = this.#position;
      this.#position += samples;
      const [from, to] = [this.#from, this.#to].map((limit) => Math.min(samples, Math.max(0, limit - at)));
      return { data, samples, from: from ?? 0, to: to ?? samples };
    });
  }

  /** Whether a frame holds a tag instead of audio; another file may follow the first. */
  #isTag({ samples, sideLength }: Mp3Header, data: Uint8Array<ArrayBuffer>): boolean {
    const at = 4 + sideLength;
    const name = String.fromCharCode(...data.subarray(at, at + 4));
    if (name !== 'Xing' && name !== 'Info') return false;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const flags = data[at + 7] ?? 0;
    const frames = flags & 1 && at + 12 <= data.length ? view.getUint32(at + 8) : 0;
    const lame = at + 8 + (flags & 1 ? 4 : 0) + (flags & 2 ? 4 : 0) + (flags & 4 ? 100 : 0) + (flags & 8 ? 4 : 0);
    const [first = 0, second = 0, third = 0] = data.subarray(lame + 21, lame + 24);
    const [delay, padding] = [(first << 4) | (second >> 4), ((second & 15) << 8) | third];
    // Without an encoder's name, no delay is stated either.
    if (!data[lame]) return true;
    this.#from = this.#position + delay + decoderDelay;
    this.#to = frames > 0 ? this.#position + frames * samples - padding + decoderDelay : Infinity;
    return true;
  }
}
