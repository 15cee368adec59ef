import { once } from 'node:events';
import fc from 'fast-check';
import { Mask } from '../../../samples/proxy/mask.ts';

const secret = 'sk-live/AbC+def=';

/** What comes out of the stream when a text is cut at these places. */
async function through(mask: Mask, data: Buffer, cuts: readonly number[]): Promise<Buffer> {
  const stream = mask.stream();
  const parts: Buffer[] = [];
  stream.on('data', (part: Buffer) => parts.push(part));
  const ends = [...new Set(cuts.map((cut) => cut % (data.length + 1)))].sort((a, b) => a - b);
  let at = 0;
  for (const end of [...ends, data.length]) {
    stream.write(data.subarray(at, end));
    at = end;
  }
  stream.end();
  await once(stream, 'end');
  return Buffer.concat(parts);
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
    const data = Buffer.from('nothing to hide');
    expect(new Mask([secret]).bytes(data)).toBe(data);
  });

  it('does not write into what it was given', () => {
    const data = Buffer.from(secret);
    new Mask([secret]).bytes(data);
    expect(data.toString()).toBe(secret);
  });

  it('leaves what is too short to be a secret alone', () => {
    expect(new Mask(['', 'abc']).text('abcabc')).toBe('abcabc');
  });

  it('finds one however the stream is cut, and changes nothing else', async () => {
    const mask = new Mask([secret, 'sk-live/other']);
    const piece = fc.constantFrom(secret, 'sk-live/', 's', 'sk-live/AbC+def', 'sk-live/other', 'x', 'é', '\n');
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (pieces, cuts) => {
          const data = Buffer.from(pieces.join(''));
          const masked = await through(mask, data, cuts);
          expect(masked.toString()).toBe(mask.text(data.toString()));
          expect(masked.toString()).not.toContain(secret);
        },
      ),
      { numRuns: 200 },
    );
  });
});
