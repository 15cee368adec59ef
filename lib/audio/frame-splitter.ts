import { bytesForMs, frameBytes, silenceByte, type PcmFormat } from './formats.ts';

/** Splits a byte stream of any chunk sizes into frames of one size. */
export class FrameSplitter {
  /** Bytes of each frame. */
  readonly frameLength: number;
  readonly #silence: number;
  readonly #sampleLength: number;
  #frame: Uint8Array<ArrayBuffer>;
  #filled: number = 0;

  /**
   * @param metadata - The format; not compressed.
   * @param frameMs - Length of a frame in milliseconds, rounded down to whole samples. Telephony uses 20.
   * @throws RangeError when the format is compressed or a frame has no sample.
   */
  constructor(metadata: PcmFormat, frameMs: number) {
    const length = bytesForMs(frameMs, metadata);
    if (!(length > 0)) throw new RangeError(`a frame of ${frameMs} ms contains no sample at ${metadata.sampleRate} Hz`);
    this.frameLength = length;
    this.#silence = silenceByte(metadata.encoding);
    this.#sampleLength = frameBytes(metadata);
    this.#frame = new Uint8Array(length);
  }

  /** Bytes of an incomplete frame. */
  get pending(): number {
    return this.#filled;
  }

  /** The frames now complete: views of `bytes` where possible, else copies. */
  push(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
    const frames: Uint8Array<ArrayBuffer>[] = [];
    let at = 0;
    if (this.#filled > 0) {
      at = Math.min(this.frameLength - this.#filled, bytes.length);
      this.#keep(bytes.subarray(0, at));
      if (this.#filled < this.frameLength) return frames;
      frames.push(this.#frame);
      this.#frame = new Uint8Array(this.frameLength);
      this.#filled = 0;
    }
    for (; at + this.frameLength <= bytes.length; at += this.frameLength) {
      frames.push(bytes.subarray(at, at + this.frameLength));
    }
    this.#keep(bytes.subarray(at));
    return frames;
  }

  /**
   * The remaining whole samples, less than a frame; `undefined` when there are none.
   *
   * @param pad - Pads the frame with silence. Default: false.
   */
  flush(pad: boolean = false): Uint8Array<ArrayBuffer> | undefined {
    const length = this.#filled - (this.#filled % this.#sampleLength);
    this.#filled = 0;
    if (length === 0) return undefined;
    const frame = this.#frame;
    this.#frame = new Uint8Array(this.frameLength);
    return pad ? frame.fill(this.#silence, length) : frame.subarray(0, length);
  }

  /** Drops what remains, for example when playback was cut. */
  reset(): void {
    this.#filled = 0;
  }

  #keep(bytes: Uint8Array<ArrayBuffer>): void {
    this.#frame.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }
}
