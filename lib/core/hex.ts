interface BufferLike {
  from(text: string, encoding: 'hex'): Uint8Array<ArrayBuffer>;
}

// Node's Buffer is many times faster; pages and workers lack it.
const nodeBuffer = (globalThis as { Buffer?: BufferLike }).Buffer;

/** Decodes hexadecimal text, two digits per byte; `undefined` when invalid. */
export function decodeHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 !== 0 || !/^[\da-f]*$/i.test(text)) return undefined;
  if (nodeBuffer) return nodeBuffer.from(text, 'hex');
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => parseInt(text.slice(at * 2, at * 2 + 2), 16));
}

/** Encodes bytes as lower-case hexadecimal text. */
export function encodeHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A random UUID as 32 hexadecimal digits; `crypto.randomUUID` is missing in pages without TLS. */
export function hexUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return encodeHex(bytes);
}
