import { opusSamples } from './codec.ts';
import type { CompressedFrame, FrameReader, FrameStream } from './frame-reader.ts';
import { concatBytes, joinBytes } from './concat.ts';

const headerLength = 27;
const sampleRate = 48_000;
/** More than the longest packet (RFC 6716: 120 ms) can be. */
const maxPacketBytes = 128 * 1024;

/** Packets of one or more Opus files in Ogg (RFC 7845), one after the other. */
export class OggOpusReader implements FrameReader {
  stream: FrameStream | undefined;
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** A packet that continues on the next page. */
  #open: Uint8Array<ArrayBuffer>[] = [];
  /** Samples of the file so far, and how many to skip at its start. */
  #position: number = 0;
  #preSkip: number = 0;

  push(bytes: Uint8Array<ArrayBuffer>): CompressedFrame[] {
    const all = concatBytes(this.#held, bytes);
    const frames: CompressedFrame[] = [];
    let at = 0;
    while (at + headerLength <= all.length) {
      if (!isPage(all, at)) {
        at += 1;
        continue;
      }
      const lacing = all.subarray(at + headerLength, at + headerLength + (all[at + 26] ?? 0));
      const end = at + headerLength + lacing.length + lacing.reduce((sum, length) => sum + length, 0);
      if (lacing.length < (all[at + 26] ?? 0) || end > all.length) break;
      frames.push(...this.#page(all.slice(at, end), lacing));
      at = end;
    }
    this.#held = all.slice(at);
    return frames;
  }

  flush(): CompressedFrame[] {
    return [];
  }

  #page(page: Uint8Array<ArrayBuffer>, lacing: Uint8Array): CompressedFrame[] {
    const flags = page[5] ?? 0;
    // A packet without its beginning or its end is lost.
    if (!(flags & 1)) this.#open = [];
    const frames: CompressedFrame[] = [];
    let at = headerLength + lacing.length;
    for (const length of lacing) {
      this.#open.push(page.subarray(at, at + length));
      at += length;
      if (length === 255) continue;
      frames.push(...this.#packet(joinBytes(this.#open)));
      this.#open = [];
    }
    if (this.#open.length * 255 > maxPacketBytes) this.#open = [];
    const last = frames.pop();
    if (!last) return [];
    // The last page states how many samples there are.
    const total = new DataView(page.buffer).getBigInt64(6, true);
    const excess = flags & 4 && total >= 0n ? Math.max(0, this.#position - Number(total)) : 0;
    return [...frames, { ...last, to: Math.max(last.from, last.to - excess) }];
  }

  #packet(data: Uint8Array<ArrayBuffer>): CompressedFrame[] {
    const name = String.fromCharCode(...data.subarray(0, 8));
    if (name === 'OpusHead') {
      this.stream ??= { codec: 'opus', sampleRate, channels: data[9] ?? 1 };
      this.#preSkip = (data[10] ?? 0) + 256 * (data[11] ?? 0);
      this.#position = 0;
    }
    if (name === 'OpusHead' || name === 'OpusTags' || !this.stream || data.length === 0) return [];
    const samples = opusSamples(data);
    const from = Math.min(samples, Math.max(0, this.#preSkip - this.#position));
    this.#position += samples;
    return [{ data, samples, from, to: samples }];
  }
}

function isPage(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x4f && bytes[at + 1] === 0x67 && bytes[at + 2] === 0x67 && bytes[at + 3] === 0x53;
}
