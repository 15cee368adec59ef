import { concatBytes } from './concat.ts';

/** The header of a frame. */
export interface FrameHeader {
  /** Bytes of the whole frame. */
  readonly length: number;
  /** Equal in all frames of a stream. */
  readonly kind: number;
}

/** How to read a format whose frames begin with a sync word. */
export interface SyncFormat<H extends FrameHeader> {
  /** Bytes that {@link SyncFormat.parse} needs. */
  readonly headerLength: number;
  /** Reads the header at a position; `undefined` if there is none. */
  parse(bytes: Uint8Array, at: number): H | undefined;
  /** Bytes to skip of anything else that may precede the frames. Default: 0. */
  skip?(bytes: Uint8Array, at: number): number;
}

/**
 * Finds frames by their sync words. Bytes that merely look like one are not taken for a frame: the first counts only if
 * another follows it, later ones only if they match it.
 */
export class SyncFrames<H extends FrameHeader> {
  readonly #format: SyncFormat<H>;
  #held: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #left: number = 0;
  #kind: number | undefined;

  constructor(format: SyncFormat<H>) {
    this.#format = format;
  }

  /** Returns copies of the frames that these bytes complete. */
  read(
    bytes: Uint8Array<ArrayBuffer>,
    isEnd: boolean,
  ): { readonly header: H; readonly data: Uint8Array<ArrayBuffer> }[] {
    const format = this.#format;
    const { headerLength } = format;
    const all = concatBytes(this.#held, bytes);
    const frames = [];
    let at = 0;
    while (at + headerLength <= all.length) {
      this.#left ||= format.skip?.(all, at) ?? 0;
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, all.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const header = format.parse(all, at);
      if (!header || (this.#kind !== undefined && header.kind !== this.#kind)) {
        at += 1;
        continue;
      }
      const end = at + header.length;
      if (end > all.length) break;
      if (this.#kind === undefined) {
        const isLast = isEnd && end === all.length;
        if (end + headerLength > all.length && !isEnd) break;
        if (!isLast && format.parse(all, end)?.kind !== header.kind) {
          at += 1;
          continue;
        }
      }
      this.#kind = header.kind;
      frames.push({ header, data: all.slice(at, end) });
      at = end;
    }
    // Copied: the caller may reuse its buffer.
    this.#held = all.slice(at);
    return frames;
  }
}
