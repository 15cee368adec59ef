const sliceLength = 0x8000 - (0x8000 % 3);

interface NativeBase64 {
  toBase64?(): string;
}
interface NativeBase64Constructor {
  fromBase64?(this: void, text: string): Uint8Array<ArrayBuffer>;
}
interface NodeBytes extends Uint8Array<ArrayBuffer> {
  toString(encoding?: 'base64' | 'latin1', start?: number, end?: number): string;
}
interface BufferLike {
  from(data: ArrayBufferLike | string, offsetOrEncoding: number | 'base64', length?: number): NodeBytes;
  isBuffer(bytes: Uint8Array): bytes is NodeBytes;
}

// Node's Buffer is several times faster than atob; pages and workers lack it.
const nodeBuffer = (globalThis as { Buffer?: BufferLike }).Buffer;

/** Standard base64 with padding (RFC 4648, section 4). */
export function encodeBase64(bytes: Uint8Array): string {
  if (nodeBuffer) return nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  const native = bytes as NativeBase64;
  if (native.toBase64) return native.toBase64();
  let text = '';
  for (let at = 0; at < bytes.length; at += sliceLength) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + sliceLength)));
  }
  return text;
}

/** Decodes standard base64; `undefined` when the text is not base64. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  if (nodeBuffer) return nodeBuffer.from(text, 'base64');
  try {
    const { fromBase64 } = Uint8Array as NativeBase64Constructor;
    return fromBase64 ? fromBase64(text) : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Decodes the standard base64 between two positions of a message; `undefined` when it is not base64. */
export function decodeBase64Within(
  message: Uint8Array,
  start: number,
  end: number,
): Uint8Array<ArrayBuffer> | undefined {
  if (!nodeBuffer?.isBuffer(message)) return decodeBase64(new TextDecoder().decode(message.subarray(start, end)));
  const text = message.toString('latin1', start, end);
  const digits = text.length - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
  // One digit too many makes no byte, wrong or not.
  if (digits % 4 === 1) return decodeBase64(text);
  const bytes = nodeBuffer.from(text, 'base64');
  // Node leaves out what is no digit, and takes the digits of URLs: to see that is much faster than to test the text.
  const isWhole = bytes.length === Math.floor((digits * 3) / 4);
  return isWhole && !text.includes('-') && !text.includes('_') ? bytes : undefined;
}
