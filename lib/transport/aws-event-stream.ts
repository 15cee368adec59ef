import { VoiceError } from '../core/errors.ts';
import { decodeHex, encodeHex } from '../core/hex.ts';
import { textOf, utf8Of } from '../core/utf8.ts';

/** The value of a header. `long` and `timestamp` (milliseconds since 1970) are 64 bits wide. */
export type EventStreamValue =
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'byte' | 'short' | 'integer'; readonly value: number }
  | { readonly type: 'long' | 'timestamp'; readonly value: bigint }
  | { readonly type: 'binary'; readonly value: Uint8Array<ArrayBuffer> }
  | { readonly type: 'string' | 'uuid'; readonly value: string };

/** A message of AWS's event stream. */
export interface EventStreamMessage {
  readonly headers: ReadonlyMap<string, EventStreamValue>;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/** Lengths and checksum before the headers, and checksum after the payload, in bytes. */
const preludeBytes = 12;
const overheadBytes = preludeBytes + 4;
/** The services' limits, in bytes. */
const maxHeaderBytes = 128 * 1024;
const maxValueBytes = 32_767;

/**
 * Encodes a frame of `application/vnd.amazon.eventstream`.
 * See https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html.
 *
 * @throws VoiceError `protocol` when a header is too long or cannot be written.
 */
export function encodeEventStream({ headers, payload }: EventStreamMessage): Uint8Array<ArrayBuffer> {
  const parts = [...headers].flatMap(([name, value]) => headerParts(name, value));
  const headersLength = parts.reduce((length, part) => length + part.length, 0);
  if (headersLength > maxHeaderBytes) throw malformed('its headers are too long');
  const frame = new Uint8Array(overheadBytes + headersLength + payload.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, frame.length);
  view.setUint32(4, headersLength);
  view.setUint32(8, crc32(frame.subarray(0, 8)));
  let at = preludeBytes;
  for (const part of [...parts, payload]) {
    frame.set(part, at);
    at += part.length;
  }
  view.setUint32(at, crc32(frame.subarray(0, at)));
  return frame;
}

/**
 * Decodes one frame; the payload is a view.
 *
 * @throws VoiceError `protocol` when the frame does not match its stated length, or is damaged.
 */
export function decodeEventStream(frame: Uint8Array<ArrayBuffer>): EventStreamMessage {
  if (frame.length < overheadBytes) throw malformed(`it has only ${frame.length} bytes`);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const length = view.getUint32(0);
  const headersLength = view.getUint32(4);
  if (length !== frame.length) throw malformed(`it has ${frame.length} bytes but claims ${length}`);
  if (view.getUint32(8) !== crc32(frame.subarray(0, 8))) throw malformed('the checksum of its prelude is wrong');
  const end = length - 4;
  if (view.getUint32(end) !== crc32(frame.subarray(0, end))) throw malformed('its checksum is wrong');
  const body = preludeBytes + headersLength;
  if (body > end) throw malformed('its headers are longer than itself');
  return { headers: readHeaders(frame.subarray(preludeBytes, body)), payload: frame.subarray(body, end) };
}

/** The CRC-32 of gzip. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const crcTable: Uint32Array = Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** Type codes of numbers, and their length in bytes. */
const codes = { byte: [2, 1], short: [3, 2], integer: [4, 4], long: [5, 8], timestamp: [8, 8] } as const;

function headerParts(name: string, header: EventStreamValue): Uint8Array<ArrayBuffer>[] {
  const nameBytes = utf8Of(name);
  if (nameBytes.length < 1 || nameBytes.length > 255)
    throw malformed(`the name of a header has ${nameBytes.length} bytes`);
  return [Uint8Array.of(nameBytes.length), nameBytes, ...valueParts(header)];
}

function valueParts(header: EventStreamValue): Uint8Array<ArrayBuffer>[] {
  switch (header.type) {
    case 'boolean':
      return [Uint8Array.of(header.value ? 0 : 1)];
    case 'binary':
      return lengthened(6, header.value);
    case 'string':
      return lengthened(7, utf8Of(header.value));
    case 'uuid':
      return [Uint8Array.of(9), uuidBytes(header.value)];
    default: {
      const [code, size] = codes[header.type];
      const view = new DataView(new ArrayBuffer(8));
      view.setBigInt64(0, BigInt(header.value));
      return [Uint8Array.of(code), new Uint8Array(view.buffer, 8 - size)];
    }
  }
}

function lengthened(code: number, value: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  if (value.length > maxValueBytes) throw malformed(`a header has ${value.length} bytes`);
  return [Uint8Array.of(code, value.length >> 8, value.length & 0xff), value];
}

function uuidBytes(uuid: string): Uint8Array<ArrayBuffer> {
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(uuid)) throw malformed('a header is not a UUID');
  return decodeHex(uuid.replaceAll('-', '')) ?? new Uint8Array(16);
}

/** Reads headers one after another; throws when reading past their end. */
interface Cursor {
  readonly view: DataView;
  /** Advances by a number of bytes; returns where they start. */
  readonly take: (length: number) => number;
  /** The next bytes. */
  readonly bytes: (length: number) => Uint8Array<ArrayBuffer>;
}

/** Value readers by type code. */
const readers: readonly ((cursor: Cursor) => EventStreamValue)[] = [
  () => ({ type: 'boolean', value: true }),
  () => ({ type: 'boolean', value: false }),
  ({ view, take }) => ({ type: 'byte', value: view.getInt8(take(1)) }),
  ({ view, take }) => ({ type: 'short', value: view.getInt16(take(2)) }),
  ({ view, take }) => ({ type: 'integer', value: view.getInt32(take(4)) }),
  ({ view, take }) => ({ type: 'long', value: view.getBigInt64(take(8)) }),
  ({ view, take, bytes }) => ({ type: 'binary', value: bytes(view.getUint16(take(2))) }),
  ({ view, take, bytes }) => ({ type: 'string', value: textOf(bytes(view.getUint16(take(2)))) }),
  ({ view, take }) => ({ type: 'timestamp', value: view.getBigInt64(take(8)) }),
  ({ bytes }) => ({ type: 'uuid', value: uuidOf(bytes(16)) }),
];

function uuidOf(bytes: Uint8Array): string {
  return encodeHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function readHeaders(all: Uint8Array<ArrayBuffer>): Map<string, EventStreamValue> {
  const view = new DataView(all.buffer, all.byteOffset, all.byteLength);
  const headers = new Map<string, EventStreamValue>();
  let at = 0;
  const take = (length: number): number => {
    at += length;
    if (at > all.length) throw malformed('a header is cut off');
    return at - length;
  };
  const bytes = (length: number): Uint8Array<ArrayBuffer> => all.slice(take(length), at);
  try {
    while (at < all.length) {
      const name = textOf(bytes(view.getUint8(take(1))));
      const code = view.getUint8(take(1));
      const read = readers[code];
      if (!read) throw malformed(`a header has the unknown type ${code}`);
      headers.set(name, read({ view, take, bytes }));
    }
  } catch (cause) {
    throw VoiceError.is(cause) ? cause : malformed('a header is not UTF-8');
  }
  return headers;
}

function malformed(what: string): VoiceError {
  return new VoiceError(`a frame of the event stream is malformed: ${what}`, { code: 'protocol', recoverable: true });
}
