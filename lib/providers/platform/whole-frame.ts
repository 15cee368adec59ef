import { bytesForMs, silenceByte, type PcmFormat } from '../../audio/formats.ts';

/** A frame of just so many milliseconds, for platforms that take no shorter ones: what is missing at its end is silence. */
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
