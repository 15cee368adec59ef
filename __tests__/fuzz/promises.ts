/** What the targets share. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Throws if a parser breaks its promises. */
export type Target = (bytes: Bytes) => void | Promise<void>;

const utf8 = new TextDecoder();

export function textOf(bytes: Bytes): string {
  return utf8.decode(bytes);
}

export function assert(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`broken: ${promise}`);
}

export function assertSame(one: unknown, other: unknown, promise: string): void {
  const [a, b] = [one, other].map((each) => JSON.stringify(each));
  assert(a === b, `${promise}: ${a} is not ${b}`);
}

/** The bytes in pieces of different lengths, which they determine themselves. */
export function cut(bytes: Bytes): Bytes[] {
  const pieces: Bytes[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = 1 + ((bytes[at] ?? 0) % 7);
    pieces.push(bytes.slice(at, at + length));
    at += length;
  }
  return pieces;
}
