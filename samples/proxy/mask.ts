import { Transform } from 'node:stream';

/** Too short to be told from other data. */
const shortest = 8;
const star = '*'.charCodeAt(0);

/**
 * Hides secrets in what a service sends back, should it quote them: each becomes as many stars, so that lengths and
 * frames stay as they are.
 */
export class Mask {
  readonly #needles: readonly Buffer[];

  constructor(secrets: readonly string[]) {
    const forms = secrets
      .filter((secret) => secret.length >= shortest)
      .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
    this.#needles = [...new Set(forms)].map((form) => Buffer.from(form));
  }

  text(text: string): string {
    return this.bytes(Buffer.from(text)).toString();
  }

  /** The same bytes, or a copy with stars. */
  bytes(data: Buffer): Buffer {
    let masked = data;
    for (const needle of this.#needles) {
      for (let at = masked.indexOf(needle); at >= 0; at = masked.indexOf(needle, at + needle.length)) {
        if (masked === data) masked = Buffer.from(data);
        masked.fill(star, at, at + needle.length);
      }
    }
    return masked;
  }

  /**
   * For a body that comes in pieces: a secret that is cut in two is found too.
   *
   * @param onPiece Called for each piece.
   */
  stream(onPiece: () => void = () => undefined): Transform {
    let held = Buffer.alloc(0);
    return new Transform({
      transform: (chunk: Buffer, _encoding, callback) => {
        onPiece();
        const data = this.bytes(held.length > 0 ? Buffer.concat([held, chunk]) : chunk);
        const keep = this.#beginning(data);
        held = Buffer.from(data.subarray(data.length - keep));
        callback(null, data.subarray(0, data.length - keep));
      },
      flush: (callback) => callback(null, held),
    });
  }

  /** How many bytes at the end may be the beginning of a secret. */
  #beginning(data: Buffer): number {
    let longest = 0;
    for (const needle of this.#needles) {
      for (let length = Math.min(needle.length - 1, data.length); length > longest; length -= 1) {
        const at = data.length - length;
        if (data[at] === needle[0] && data.subarray(at).equals(needle.subarray(0, length))) longest = length;
      }
    }
    return longest;
  }
}
