import { decodeBase64, decodeBase64Within, encodeBase64 } from '../../lib/core/base64.ts';

const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Digits, padding, digits of URLs, and what is none of them. */
const characters = ['A', 'z', '/', '9', '=', '-', '_', ' ', '\n', 'é', '\u0141'];

function textsOf(length: number): string[] {
  if (length === 0) return [''];
  return textsOf(length - 1).flatMap((text) => characters.map((character) => text + character));
}

/** What stands in a message between its first byte and its last. */
const within = (message: Uint8Array): Uint8Array | undefined => decodeBase64Within(message, 1, message.length - 1);

describe('base64', () => {
  const texts = [0, 1, 2, 3, 4].flatMap(textsOf).concat(textsOf(4).map((text) => `ABCD${text}`));
  const decoders = {
    'a text': decodeBase64,
    'a Buffer of Node': (text: string) => within(Buffer.from(`"${text}"`)),
    'plain bytes': (text: string) => within(new TextEncoder().encode(`"${text}"`)),
  };

  for (const [kind, decode] of Object.entries(decoders)) {
    it(`takes exactly the standard digits and their padding, whatever ${kind} has`, () => {
      expect(texts.filter((text) => (decode(text) !== undefined) !== isBase64.test(text))).toEqual([]);
      const taken = texts.filter((text) => isBase64.test(text));
      expect(taken.length).toBeGreaterThan(500);
      const asNode = taken.map((text) => Buffer.from(text, 'base64').toString('hex'));
      expect(taken.map((text) => Buffer.from(decode(text) ?? []).toString('hex'))).toEqual(asNode);
    });
  }

  it('decodes what it encodes, of any length', () => {
    for (let length = 0; length < 400; length++) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 83 + length) & 0xff);
      expect([...(decodeBase64(encodeBase64(bytes)) ?? [])]).toEqual([...bytes]);
    }
  });
});
