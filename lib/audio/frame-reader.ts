import type { FrameCodec } from './codec.ts';

/** A frame of compressed audio: the smallest unit a decoder takes. */
export interface CompressedFrame {
  readonly data: Uint8Array<ArrayBuffer>;
  /** Samples per channel that it decodes into. */
  readonly samples: number;
  /** The range of samples to play: the rest is the encoder's delay or padding. */
  readonly from: number;
  readonly to: number;
}

/** What a decoder must know about a stream of frames. */
export interface FrameStream {
  readonly codec: FrameCodec;
  /** Samples per second that decoders produce, in Hz. */
  readonly sampleRate: number;
  readonly channels: number;
}

/** Cuts a compressed file into frames as it arrives. Never throws; skips anything that is not a frame. One per file. */
export interface FrameReader {
  /** Known from the first frame on. */
  readonly stream: FrameStream | undefined;
  /** Takes bytes split anywhere; returns copies of the frames that are now complete. */
  push(bytes: Uint8Array<ArrayBuffer>): CompressedFrame[];
  /** Returns the rest at the end of the file. */
  flush(): CompressedFrame[];
}
