/** Too short to be told from other data. */
const shortest = 8;
const star = '*'.charCodeAt(0);

type Bytes = Uint8Array;

/** Masks a body that comes in pieces: a secret that is cut in two is found too. */
export interface MaskedStream {
  /** What of a piece, and of those before, can go out; may be empty. */
  push(piece: Bytes): Bytes;
  /** The rest. */
  end(): Bytes;
}

/**
 * Hides secrets in what a service sends back, should it quote them: each becomes as many stars, so that lengths and
 * frames stay as they are.
 */
export class Mask {
  readonly #needles: readonly Bytes[];

  constructor(secrets: readonly string[]) {
    const forms = secrets
      .filter((secret) => secret.length >= shortest)
      .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
    this.#needles = [...new Set(forms)].map((form) => new TextEncoder().encode(form));
  }

  text(text: string): string {
    return new TextDecoder().decode(this.bytes(new TextEncoder().encode(text)));
  }

  /** The same bytes, or a copy with stars. */
  bytes(data: Bytes): Bytes {
    let masked = data;
    for (const needle of this.#needles) {
      for (let at = find(masked, needle, 0); at >= 0; at = find(masked, needle, at + needle.length)) {
        // Of a Buffer, slice() would be a view.
        if (masked === data) masked = new Uint8Array(data);
        masked.fill(star, at, at + needle.length);
      }
    }
    return masked;
  }

  stream(): MaskedStream {
    let held: Bytes = new Uint8Array(0);
    return {
      push: (piece) => {
        const data = this.bytes(held.length > 0 ? concat(held, piece) : piece);
        const keep = this.#beginning(data);
        held = new Uint8Array(data.subarray(data.length - keep));
        return data.subarray(0, data.length - keep);
      },
      end: () => held,
    };
  }

  /** How many bytes at the end may be the beginning of a secret. */
  #beginning(data: Bytes): number {
    let longest = 0;
    for (const needle of this.#needles) {
      for (let length = Math.min(needle.length - 1, data.length); length > longest; length -= 1) {
        if (isAt(data, needle.subarray(0, length), data.length - length)) longest = length;
      }
    }
    return longest;
  }
}

function find(data: Bytes, needle: Bytes, from: number): number {
  const [first = 0] = needle;
  const last = data.length - needle.length;
  for (let at = data.indexOf(first, from); at >= 0 && at <= last; at = data.indexOf(first, at + 1)) {
    if (isAt(data, needle, at)) return at;
  }
  return -1;
}

function isAt(data: Bytes, needle: Bytes, at: number): boolean {
  for (let index = 0; index < needle.length; index += 1) if (data[at + index] !== needle[index]) return false;
  return true;
}

function concat(first: Bytes, second: Bytes): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
