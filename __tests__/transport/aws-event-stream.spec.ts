import { readFileSync } from 'node:fs';
import { VoiceError } from '../../lib/core/errors.ts';
import {
  crc32,
  decodeEventStream,
  encodeEventStream,
  type EventStreamValue,
} from '../../lib/transport/aws-event-stream.ts';

interface VectorHeader {
  readonly name: string;
  readonly type: EventStreamValue['type'];
  readonly value?: unknown;
  readonly valueHex?: string;
  readonly valueEpochMs?: string;
}
interface Vectors {
  readonly crc32: {
    readonly checks: readonly { readonly ascii?: string; readonly hex?: string; readonly crc: string }[];
  };
  readonly frames: readonly {
    readonly name: string;
    readonly headers: readonly VectorHeader[];
    readonly payloadHex?: string;
    readonly expected: { readonly totalLength: number; readonly frameHex?: string; readonly frameSha256?: string };
  }[];
  readonly rejected: readonly { readonly name: string; readonly hex: string; readonly error: string }[];
}
const file = new URL('./vectors/eventstream.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors;

const fromHex = (hex: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(hex, 'hex'));
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function valueOf({ type, value, valueHex, valueEpochMs }: VectorHeader): EventStreamValue {
  switch (type) {
    case 'binary':
      return { type, value: fromHex(valueHex ?? '') };
    case 'timestamp':
      return { type, value: BigInt(valueEpochMs ?? 0) };
    case 'long':
      return { type, value: BigInt(String(value)) };
    default:
      return { type, value } as EventStreamValue;
  }
}
const headersOf = (headers: readonly VectorHeader[]): Map<string, EventStreamValue> =>
  new Map(headers.map((header) => [header.name, valueOf(header)]));

function errorOf(action: () => unknown): VoiceError {
  try {
    action();
  } catch (error) {
    if (VoiceError.is(error)) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('event streams: the checksum', () => {
  for (const { ascii, hex, crc } of vectors.crc32.checks) {
    it(`of ${ascii ?? `0x${hex ?? ''}`}`, () => {
      const bytes = ascii === undefined ? fromHex(hex ?? '') : new TextEncoder().encode(ascii);
      expect(crc32(bytes).toString(16).padStart(8, '0')).toBe(crc);
    });
  }
});

describe('event streams: frames', () => {
  for (const { name, headers, payloadHex, expected } of vectors.frames) {
    const payload = payloadHex === undefined ? Uint8Array.from({ length: 3_200 }, (_, at) => at) : fromHex(payloadHex);
    it(name, async () => {
      const frame = encodeEventStream({ headers: headersOf(headers), payload });
      expect(frame.length).toBe(expected.totalLength);
      if (expected.frameHex !== undefined) expect(toHex(frame)).toBe(expected.frameHex);
      if (expected.frameSha256 !== undefined) {
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', frame));
        expect(toHex(digest)).toBe(expected.frameSha256);
      }
      const decoded = decodeEventStream(frame);
      expect([...decoded.headers]).toEqual([...headersOf(headers)]);
      expect(toHex(decoded.payload)).toBe(toHex(payload));
    });
  }

  it('reads a frame that lies in the middle of other bytes', () => {
    const frame = encodeEventStream({ headers: new Map(), payload: Uint8Array.of(1, 2) });
    const around = new Uint8Array(frame.length + 7).fill(9);
    around.set(frame, 3);
    expect(decodeEventStream(around.subarray(3, 3 + frame.length)).payload).toEqual(Uint8Array.of(1, 2));
  });
});

describe('event streams: what is refused', () => {
  /** What an error of the vectors is called here. */
  const words: Readonly<Record<string, RegExp>> = {
    'prelude checksum': /checksum of its prelude/,
    'message checksum': /its checksum/,
    'length mismatch': /bytes but claims/,
    'shorter than 16 bytes': /only 12 bytes/,
  };
  for (const { name, hex, error } of vectors.rejected) {
    it(name, () => {
      const thrown = errorOf(() => decodeEventStream(fromHex(hex)));
      expect(thrown).toMatchObject({ code: 'protocol', recoverable: true });
      expect(thrown.message).toMatch(words[error] ?? /never/);
    });
  }

  /** A frame with these bytes for its headers, its checksums right. */
  function framed(headers: readonly number[], headersLength: number = headers.length): Uint8Array<ArrayBuffer> {
    const frame = new Uint8Array(16 + headers.length);
    const view = new DataView(frame.buffer);
    view.setUint32(0, frame.length);
    view.setUint32(4, headersLength);
    view.setUint32(8, crc32(frame.subarray(0, 8)));
    frame.set(headers, 12);
    view.setUint32(frame.length - 4, crc32(frame.subarray(0, frame.length - 4)));
    return frame;
  }
  const broken: readonly (readonly [string, Uint8Array<ArrayBuffer>, RegExp])[] = [
    ['headers longer than the frame', framed([1, 97, 0], 4), /longer than itself/],
    ['an unknown type', framed([1, 97, 10]), /unknown type 10/],
    ['a name that is cut off', framed([9, 97]), /cut off/],
    ['a value that is cut off', framed([1, 97, 5, 0, 0]), /cut off/],
    ['a text that is cut off', framed([1, 97, 7, 0, 9, 97]), /cut off/],
    ['a length that is cut off', framed([1, 97, 6, 0]), /cut off/],
    ['a text that is not UTF-8', framed([1, 97, 7, 0, 1, 0xff]), /UTF-8/],
  ];
  for (const [what, frame, message] of broken) {
    it(what, () => {
      expect(errorOf(() => decodeEventStream(frame)).message).toMatch(message);
    });
  }

  it('every single changed bit of a frame', () => {
    const [vector] = vectors.frames;
    const frame = fromHex(vector?.expected.frameHex ?? '');
    const accepted = Array.from({ length: frame.length * 8 }, (_, bit) => bit).filter((bit) => {
      const changed = frame.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      try {
        decodeEventStream(changed);
        return true;
      } catch (error) {
        return !VoiceError.is(error);
      }
    });
    expect(accepted).toEqual([]);
  });

  const unwritable: readonly (readonly [string, string, EventStreamValue])[] = [
    ['a header without a name', '', { type: 'boolean', value: true }],
    ['a name of 256 bytes', 'x'.repeat(256), { type: 'boolean', value: true }],
    ['a text of 32 KiB', 'x', { type: 'string', value: 'x'.repeat(32_768) }],
    ['a UUID that is none', 'x', { type: 'uuid', value: '3f2504e0' }],
  ];
  for (const [what, name, value] of unwritable) {
    it(`writes no frame with ${what}`, () => {
      const headers = new Map([[name, value]]);
      expect(errorOf(() => encodeEventStream({ headers, payload: new Uint8Array(0) })).code).toBe('protocol');
    });
  }
});
