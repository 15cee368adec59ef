import { decodeHex } from '../../lib/core/hex.ts';

describe('decodeHex', () => {
  const cases: readonly (readonly [string, readonly number[] | undefined])[] = [
    ['', []],
    ['00ff7F', [0, 255, 127]],
    ['0', undefined],
    ['0g', undefined],
    ['00 1', undefined],
    ['0x12', undefined],
  ];
  for (const [text, bytes] of cases) {
    it(`of ${JSON.stringify(text)}`, () => {
      const decoded = decodeHex(text);
      expect(decoded && [...decoded]).toEqual(bytes);
    });
  }

  it('gives every byte', () => {
    const bytes = Array.from({ length: 256 }, (_, byte) => byte);
    const text = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
    expect([...(decodeHex(text) ?? [])]).toEqual(bytes);
    expect([...(decodeHex(text.toUpperCase()) ?? [])]).toEqual(bytes);
  });
});
