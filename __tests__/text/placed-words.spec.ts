import { afterCharacters, countCharacters, placedWords } from '../../lib/text/placed-words.ts';

const placed = (text: string, words: readonly (string | readonly [string, number])[]): string[] =>
  [
    ...placedWords(
      text,
      words.map((word) => (typeof word === 'string' ? { text: word } : { text: word[0], resumesAt: word[1] })),
    ),
  ].map(({ from, to }) => `${from}:${text.slice(from, to)}`);

describe('placedWords', () => {
  it('finds each word after the one before', () => {
    expect(placed('No, no, a no.', ['No,', 'no,', 'a', 'no.'])).toEqual(['0:No,', '4:no,', '8:a', '10:no.']);
  });

  it('finds no word in the middle of another', () => {
    expect(placed('Than any ship.', ['a', 'any', 'hip', 'ship.'])).toEqual(['5:any', '9:ship.']);
  });

  it('finds the parts of a word', () => {
    expect(placed("I don't know", ['I', 'do', 'n', "'t", 'know'])).toEqual(['0:I', '2:do', '4:n', "5:'t", '8:know']);
  });

  it('finds words where no space divides them', () => {
    expect(placed('今天天气很好。', ['今天', '天气', '很', '好。'])).toEqual(['0:今天', '2:天气', '4:很', '5:好。']);
  });

  it('passes over markup, and digits that are spelled out', () => {
    const text = 'Pay <break time="500ms"/> 1,234,567,890,123,456,789 euros.';
    expect(placed(text, ['Pay', 'one', 'quintillion', 'two', 'hundred', 'euros.'])).toEqual(['0:Pay', '52:euros.']);
  });

  it('does not look for a word far away', () => {
    const text = `One two ${'three '.repeat(100)}four.`;
    expect(placed(text, ['One', 'four.', 'two'])).toEqual(['0:One', '4:two']);
  });

  it('finds words again where the voice began anew', () => {
    const text = 'Once upon a time. A ship.';
    expect(placed(text, ['Once', 'upon', ['Once', 0], 'upon', 'a', 'time.', ['A', 14], 'ship.'])).toEqual([
      '0:Once',
      '5:upon',
      '0:Once',
      '5:upon',
      '10:a',
      '12:time.',
      '18:A',
      '20:ship.',
    ]);
  });

  it('gives a word without letters no place', () => {
    expect(placed('One two', ['', 'One', '', 'two'])).toEqual(['0:One', '4:two']);
  });
});

describe('characters other than white space', () => {
  it('are counted, and found again', () => {
    const text = ' One\ttwo\n three';
    expect(countCharacters(text)).toBe(11);
    expect([0, 3, 4, 11, 12].map((count) => text.slice(0, afterCharacters(text, count)))).toEqual([
      ...['', ' One', ' One\tt', text, text],
    ]);
  });
});
