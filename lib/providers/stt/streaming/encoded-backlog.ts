/** Most bytes of a stream that are kept: a quarter of an hour of FLAC, more than an hour of Opus. */
const maxBytes = 16 * 1024 * 1024;

/** Compressed speech has more bytes a millisecond, so that a recording is never taken for shorter than it is. */
const leastBytesPerMs = 2;

/**
 * Compressed audio that a service may still need. Such a stream can be heard from its start only, so another connection
 * hears all of it; of a stream that is longer than what is kept, its first chunk, which says what it is, and the newest.
 */
export class EncodedBacklog {
  #chunks: Uint8Array<ArrayBuffer>[] = [];
  #bytes: number = 0;
  #isWhole: boolean = true;
  #finalMs: number = 0;

  /** Position of what another connection hears first, in milliseconds of all audio; of a part, a guess. */
  get startMs(): number {
    return this.#isWhole ? 0 : this.#finalMs;
  }

  /** At most the position of the end of all audio so far, in milliseconds. */
  get endMs(): number {
    return this.startMs + this.#bytes / leastBytesPerMs;
  }

  /** Adds a chunk, and returns it. */
  push(data: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
    this.#chunks.push(data);
    this.#bytes += data.length;
    return [data];
  }

  /** Notes that the audio before a position is final; none of it can be left out. */
  release(ms: number): void {
    this.#finalMs = ms;
  }

  /** Keeps as many bytes as there may be; returns whether any had to go. */
  trim(_maxMs: number): boolean {
    if (this.#bytes <= maxBytes) return false;
    let count = 0;
    for (const { length } of this.#chunks.slice(1)) {
      if (this.#bytes <= maxBytes) break;
      this.#bytes -= length;
      count++;
    }
    this.#chunks.splice(1, count);
    this.#isWhole = false;
    return true;
  }

  /** All that is kept. */
  from(_ms?: number): readonly Uint8Array<ArrayBuffer>[] {
    return [...this.#chunks];
  }
}
