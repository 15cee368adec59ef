import type { FrameCodec } from './codec.ts';

/** A frame of compressed audio: the least that a decoder takes. */
export interface CompressedFrame {
  readonly data: Uint8Array<ArrayBuffer>;
  /** Samples per channel that it decodes to. */
  readonly samples: number;
  /** The ones to be heard, from and up to: the rest is the encoder's delay, or its padding. */
  readonly from: number;
  readonly to: number;
}

/** What a decoder must know of a stream of frames. */
export interface FrameStream {
  readonly codec: FrameCodec;
  /** Samples per second that decoders produce, in Hz. */
  readonly sampleRate: number;
  readonly channels: number;
}

/** Cuts a compressed file into frames while it comes. Never throws; skips what is no frame. One per file. */
export interface FrameReader {
  /** Known with the first frame. */
  readonly stream: FrameStream | undefined;
  /** Takes bytes split anywhere; returns the frames that are complete: copies. */
  push(bytes: Uint8Array<ArrayBuffer>): CompressedFrame[];
  /** Returns the rest at the end of the file. */
  flush(): CompressedFrame[];
}
