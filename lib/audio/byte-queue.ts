/** The longest piece that is copied into a shared block, in bytes: on its own it would take half a kilobyte. */
const smallest = 128;

/** Length of the blocks that small pieces are copied into, in bytes. */
const blockLength = 4_096;

/** A stream's bytes in order of arrival, read at absolute offsets: views if contiguous, else copies. */
export class ByteQueue {
  /** Offset after the last byte. */
  end: number = 0;
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  /** The first chunk still kept, and the offset of its first byte. */
  #head = 0;
  #headOffset = 0;
  /** The used part of a block of small pieces. */
  #block: Uint8Array<ArrayBuffer> | undefined;

  push(bytes: Uint8Array<ArrayBuffer>): void {
    if (!bytes.length) return;
    if (bytes.length > smallest) this.#pieces.push(bytes);
    else this.#pack(bytes);
    this.end += bytes.length;
  }

  /** Removes everything from `end` on, which must not have been released. */
  truncate(end: number): void {
    while (this.end > end) {
      const last = this.#pieces.pop();
      if (!last) return;
      this.end -= last.length;
      if (this.end < end) this.push(last.subarray(0, end - this.end));
    }
  }

  /** Reads `length` bytes from `offset` on, which must have arrived and not been released. */
  read(offset: number, length: number): Uint8Array<ArrayBuffer> {
    let index = this.#head;
    let at = offset - this.#headOffset;
    let piece = this.#pieces[index];
    while (piece && at >= piece.length) {
      at -= piece.length;
      piece = this.#pieces[++index];
    }
    if (piece && at + length <= piece.length) return piece.subarray(at, at + length);
    const copy = new Uint8Array(length);
    let filled = 0;
    while (piece && filled < length) {
      const part = piece.subarray(at, at + length - filled);
      copy.set(part, filled);
      filled += part.length;
      at = 0;
      piece = this.#pieces[++index];
    }
    return copy;
  }

  /** Drops everything before `offset`. */
  release(offset: number): void {
    let piece = this.#pieces[this.#head];
    while (piece && this.#headOffset + piece.length <= offset) {
      this.#headOffset += piece.length;
      piece = this.#pieces[++this.#head];
    }
    if (this.#head * 2 < this.#pieces.length) return;
    this.#pieces = this.#pieces.slice(this.#head);
    this.#head = 0;
  }

  /** Copies a small piece into the last block if it has room, else into a new one. */
  #pack(bytes: Uint8Array<ArrayBuffer>): void {
    const block = this.#block;
    if (block && block === this.#pieces.at(-1) && block.length + bytes.length <= blockLength) {
      this.#pieces.pop();
      this.#block = new Uint8Array(block.buffer, 0, block.length + bytes.length);
    } else {
      this.#block = new Uint8Array(new ArrayBuffer(blockLength), 0, bytes.length);
    }
    this.#block.set(bytes, this.#block.length - bytes.length);
    this.#pieces.push(this.#block);
  }
}
