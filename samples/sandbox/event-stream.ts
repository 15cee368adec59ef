import { concatBytes } from './pcm.ts';

/** A message of AWS's event streams, all of whose headers are texts. */
export interface StreamMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Uint8Array<ArrayBuffer>;
}

function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}

function uint32(value: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value);
  return new Uint8Array(view.buffer);
}

/** One frame of `application/vnd.amazon.eventstream`. */
export function writeStreamMessage(headers: Readonly<Record<string, string>>, body: unknown): Uint8Array<ArrayBuffer> {
  const utf8 = new TextEncoder();
  const lines = Object.entries(headers).map(([name, value]) => {
    const [key, text] = [utf8.encode(name), utf8.encode(value)];
    return concatBytes([Uint8Array.of(key.length), key, Uint8Array.of(7, text.length >> 8, text.length & 255), text]);
  });
  const head = concatBytes(lines);
  const payload = body === undefined ? new Uint8Array(0) : utf8.encode(JSON.stringify(body));
  const lengths = concatBytes([uint32(16 + head.length + payload.length), uint32(head.length)]);
  const frame = concatBytes([lengths, uint32(crc32(lengths)), head, payload]);
  return concatBytes([frame, uint32(crc32(frame))]);
}

/** The message of a frame, or what is wrong with it. */
export function readStreamMessage(frame: Uint8Array<ArrayBuffer>): StreamMessage | string {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length < 16 || view.getUint32(0) !== frame.length) return 'a frame has another length than it says';
  if (view.getUint32(8) !== crc32(frame.subarray(0, 8))) return 'the checksum of a prelude is wrong';
  if (view.getUint32(frame.length - 4) !== crc32(frame.subarray(0, -4))) return 'the checksum of a frame is wrong';
  const end = 12 + view.getUint32(4);
  const headers: Record<string, string> = {};
  const text = new TextDecoder();
  for (let at = 12; at < end;) {
    const name = text.decode(frame.subarray(at + 1, (at += 1 + view.getUint8(at))));
    if (view.getUint8(at) !== 7) return `the header ${name} is no text`;
    const length = view.getUint16(at + 1);
    headers[name] = text.decode(frame.subarray(at + 3, (at += 3 + length)));
  }
  return { headers, payload: frame.slice(end, -4) };
}
