/** Concatenates bytes; returns the array itself when the others are empty, else a copy. */
export function concatBytes(...parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  return joinBytes(parts);
}

/** {@link concatBytes} for any number of arrays: a function's arguments are limited. */
export function joinBytes(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const filled = parts.filter((part) => part.length > 0);
  const [first = new Uint8Array(0)] = filled;
  if (filled.length <= 1) return first;
  const joined = new Uint8Array(filled.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of filled) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
