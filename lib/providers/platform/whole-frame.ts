import { bytesForMs, silenceByte, type PcmFormat } from '../../audio/formats.ts';

/** Pads a frame with silence to a whole multiple of so many milliseconds, for platforms that accept nothing shorter. */
export function wholeFrame(
  data: Uint8Array<ArrayBuffer>,
  metadata: PcmFormat,
  frameMs: number,
): Uint8Array<ArrayBuffer> {
  const length = bytesForMs(frameMs, metadata);
  if (data.length === length) return data;
  const frame = new Uint8Array(length).fill(silenceByte(metadata.encoding));
  frame.set(data);
  return frame;
}
