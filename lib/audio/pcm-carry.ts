import { concatBytes } from './concat.ts';

/**
 * Assembles whole sample frames from a byte stream split anywhere: an incomplete one waits for the next chunk. Use one
 * per utterance, or call {@link PcmCarry.reset} in between.
 */
export class PcmCarry {
  readonly #frameBytes: number;
  readonly #rest: Uint8Array<ArrayBuffer>;
  #pending: number = 0;

  /** @param frameBytes - Bytes of one sample of all channels, as `frameBytes(metadata)` gives them. */
  constructor(frameBytes: number) {
    if (!Number.isInteger(frameBytes) || frameBytes < 1) {
      throw new RangeError(`a sample frame has a whole number of bytes, not ${frameBytes}`);
    }
    this.#frameBytes = frameBytes;
    this.#rest = new Uint8Array(frameBytes);
  }

  /** Bytes of an incomplete sample frame. */
  get pending(): number {
    return this.#pending;
  }

  /** The whole sample frames so far: a view of `bytes` if nothing was left over before, else a copy. */
  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const total = this.#pending + bytes.length;
    const whole = total - (total % this.#frameBytes);
    if (whole === bytes.length && this.#pending === 0) return bytes;
    if (whole === 0) {
      this.#rest.set(bytes, this.#pending);
      this.#pending = total;
      return bytes.subarray(0, 0);
    }
    const taken = whole - this.#pending;
    const frames = concatBytes(this.#rest.subarray(0, this.#pending), bytes.subarray(0, taken));
    this.#rest.set(bytes.subarray(taken));
    this.#pending = total - whole;
    return frames;
  }

  /** Drops an incomplete sample frame, as at the end of an utterance; returns its size in bytes. */
  reset(): number {
    const dropped = this.#pending;
    this.#pending = 0;
    return dropped;
  }
}
