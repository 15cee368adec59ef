import type { CompressedFrame, FrameReader, FrameStream } from './frame-reader.ts';
import { SyncFrames, type FrameHeader, type SyncFormat } from './sync-frames.ts';

interface AdtsHeader extends FrameHeader {
  readonly sampleRate: number;
  readonly channels: number;
  readonly samples: number;
}

const sampleRates = [96, 88.2, 64, 48, 44.1, 32, 24, 22.05, 16, 12, 11.025, 8, 7.35] as const;

/** ISO/IEC 13818-7 and 14496-3. */
const format: SyncFormat<AdtsHeader> = {
  headerLength: 7,
  parse(bytes, at) {
    if (bytes[at] !== 0xff) return undefined;
    const [second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0] = bytes.subarray(at + 1, at + 7);
    const kiloHertz = sampleRates[(third >> 2) & 15];
    const length = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
    const channels = ((third & 1) << 2) | (fourth >> 6);
    if ((second & 0xf6) !== 0xf0 || kiloHertz === undefined || length < 7) return undefined;
    if (channels === 0) return undefined;
    const samples = 1024 * ((seventh & 3) + 1);
    return { length, kind: (third << 8) | (fourth & 0xc0), sampleRate: kiloHertz * 1000, channels, samples };
  },
};

/** Frames of an AAC file in ADTS. */
export class AdtsReader implements FrameReader {
  stream: FrameStream | undefined;
  readonly #frames = new SyncFrames<AdtsHeader>(format);

  push(bytes: Uint8Array<ArrayBuffer>): CompressedFrame[] {
    return this.#read(bytes, false);
  }

  flush(): CompressedFrame[] {
    return this.#read(new Uint8Array(0), true);
  }

  #read(bytes: Uint8Array<ArrayBuffer>, isEnd: boolean): CompressedFrame[] {
    return this.#frames.read(bytes, isEnd).map(({ header: { sampleRate, channels, samples }, data }) => {
      this.stream ??= { codec: 'aac', sampleRate, channels };
      return { data, samples, from: 0, to: samples };
    });
  }
}
