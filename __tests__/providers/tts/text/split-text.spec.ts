import fc from 'fast-check';
import { splitText, uncutParts, utf8Length } from '../../../../lib/text/split-text.ts';

const withoutSpace = (text: string): string => text.replace(/\s/g, '');

describe('splitText', () => {
  const cases: readonly (readonly [name: string, text: string, max: number, pieces: string[]])[] = [
    ['leaves alone what fits', 'Hello there.', 12, ['Hello there.']],
    ['takes outer white space off', '  Hello \n', 10, ['Hello']],
    ['gives nothing for a blank text', ' \n\t', 10, []],
    ['cuts at the last sentence end that fits', 'One. Two. Three is longer.', 12, ['One. Two.', 'Three is', 'longer.']],
    ['takes a closing quote along', 'He said "no." Then he left.', 16, ['He said "no."', 'Then he left.']],
    [
      'does not take a decimal point for an end',
      'It is 3.14 or so, they say',
      12,
      ['It is 3.14', 'or so,', 'they say'],
    ],
    ['cuts at a clause where no sentence ends', 'first part, second part', 14, ['first part,', 'second part']],
    ['cuts between words where no clause ends', 'alpha beta gamma', 11, ['alpha beta', 'gamma']],
    ['cuts a word that is too long', 'abcdefghij', 4, ['abcd', 'efgh', 'ij']],
    ['cuts Chinese at its own full stop', '你好。今天天气很好。', 5, ['你好。', '今天天气很', '好。']],
    ['counts characters, not code units', '😀😀😀😀', 2, ['😀😀', '😀😀']],
    ['sees a mark at the very limit', 'Ends. Here', 5, ['Ends.', 'Here']],
  ];
  for (const [name, text, max, pieces] of cases) {
    it(name, () => {
      expect(splitText(text, max)).toEqual(pieces);
    });
  }

  it('does not cut a family of emoji apart', () => {
    const family = '👨‍👩‍👧';
    expect(splitText(`${family}${family}`, 7)).toEqual([family, family]);
  });

  it('counts as the service counts', () => {
    const bytes = (character: string): number => new TextEncoder().encode(character).length;
    expect(splitText('Äpfel und Öl', 9, bytes)).toEqual(['Äpfel', 'und Öl']);
  });

  it('loses no character and keeps every limit, whatever the text', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 300 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 40 }), (text, max) => {
        const pieces = splitText(text, max);
        expect(withoutSpace(pieces.join(''))).toBe(withoutSpace(text));
        for (const piece of pieces) {
          expect([...piece].length).toBeLessThanOrEqual(max);
          expect(piece).toBe(piece.trim());
          expect(piece).not.toBe('');
        }
      }),
    );
  });

  it('never cuts a surrogate pair', () => {
    const text = fc.array(fc.constantFrom('a', ' ', '.', '😀', '\u200d', '𝄞', 'é'), { maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (characters, max) => {
        // encodeURIComponent throws for half a pair.
        for (const piece of splitText(characters.join(''), max)) expect(encodeURIComponent(piece)).not.toBe('');
      }),
    );
  });

  it('takes no longer for a long text without any mark', () => {
    const pieces = splitText('a'.repeat(200_000), 2000);
    expect(pieces.length).toBe(100);
  });
});

describe('utf8Length', () => {
  it('is what an encoder gives', () => {
    for (const character of ['a', '\x7f', '\x80', 'ß', '\u07ff', '\u0800', '語', '\uffff', '😀', '\u{10ffff}']) {
      expect([character, utf8Length(character)]).toEqual([character, new TextEncoder().encode(character).length]);
    }
  });
});

describe('uncutParts', () => {
  it('tells how well a cut after each part sounds', () => {
    expect(uncutParts(' One two, three. "Four!" 日本。五')).toEqual([
      { text: ' One', rank: 2 },
      { text: ' two,', rank: 1 },
      { text: ' three.', rank: 0 },
      { text: ' "Four!"', rank: 0 },
      { text: ' 日本。', rank: 0 },
      { text: '五', rank: 2 },
    ]);
  });

  it('loses nothing', () => {
    fc.assert(
      fc.property(
        fc.string(),
        (text) =>
          uncutParts(text)
            .map((part) => part.text)
            .join('') === text,
      ),
    );
  });
});
