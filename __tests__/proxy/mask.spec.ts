import fc from 'fast-check';
import { Mask } from '../../lib/proxy/mask.ts';

const secret = 'sk-live/AbC+def=';

/** What comes out of the stream when a text is cut at these places. */
function through(mask: Mask, data: Buffer, cuts: readonly number[]): Buffer {
  const stream = mask.stream();
  const parts: Uint8Array[] = [];
  const ends = [...new Set(cuts.map((cut) => cut % (data.length + 1)))].sort((a, b) => a - b);
  let at = 0;
  for (const end of [...ends, data.length]) {
    parts.push(stream.push(new Uint8Array(data.subarray(at, end))));
    at = end;
  }
  return Buffer.concat([...parts, stream.end()]);
}

describe('the mask of secrets', () => {
  const forms = {
    plain: secret,
    'in an address': encodeURIComponent(secret),
    'in JSON': JSON.stringify({ a: secret }),
  };
  for (const [name, form] of Object.entries(forms)) {
    it(`hides one ${name}, without a change of length`, () => {
      const text = `before ${form} between ${form} after`;
      const masked = new Mask([secret]).text(text);
      expect(masked).toHaveLength(text.length);
      expect(masked).toMatch(/^before .* between .* after$/);
      expect(masked).not.toContain(secret);
      expect(masked).not.toContain(encodeURIComponent(secret));
    });
  }

  it('leaves everything else as it is, the memory too', () => {
    const data = new TextEncoder().encode('nothing to hide');
    expect(new Mask([secret]).bytes(data)).toBe(data);
  });

  it('does not write into what it was given', () => {
    const data = new TextEncoder().encode(secret);
    new Mask([secret]).bytes(data);
    expect(Buffer.from(data).toString()).toBe(secret);
  });

  it('leaves what is too short to be a secret alone', () => {
    expect(new Mask(['', 'abc']).text('abcabc')).toBe('abcabc');
  });

  it('finds one however the stream is cut, and changes nothing else', () => {
    const mask = new Mask([secret, 'sk-live/other']);
    const piece = fc.constantFrom(secret, 'sk-live/', 's', 'sk-live/AbC+def', 'sk-live/other', 'x', 'é', '\n');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 8 }), (pieces, cuts) => {
        const data = Buffer.from(pieces.join(''));
        const masked = through(mask, data, cuts);
        expect(masked.toString()).toBe(mask.text(data.toString()));
        expect(masked.toString()).not.toContain(secret);
      }),
      { numRuns: 200 },
    );
  });
});
