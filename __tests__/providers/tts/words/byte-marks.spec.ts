import fc from 'fast-check';
import { marksIn, wordsAt, type ByteMark } from '../../../../lib/providers/tts/words/speech-marks.ts';

const bytes = (text: string): number => new TextEncoder().encode(text).length;
/** Marks of words that stand in a text, 100 ms apart. */
function marksOf(text: string, words: readonly string[]): ByteMark[] {
  let at = 0;
  return words.map((word, index) => {
    const start = text.indexOf(word, at);
    at = start + word.length;
    return { text: word, startMs: index * 100, start: bytes(text.slice(0, start)), end: bytes(text.slice(0, at)) };
  });
}

describe('wordsAt', () => {
  const cases: readonly (readonly [text: string, marked: readonly string[], told: readonly string[]])[] = [
    ['Mary had a little lamb.', ['Mary', 'had', 'a', 'little', 'lamb'], ['Mary', 'had', 'a', 'little', 'lamb.']],
    ['"Hello", world!', ['Hello', 'world'], ['"Hello",', 'world!']],
    ['text-to-speech', ['text', 'to', 'speech'], ['text-', 'to-', 'speech']],
    ['Grüße, Ödön?', ['Grüße', 'Ödön'], ['Grüße,', 'Ödön?']],
    ['日本語。話す', ['日本語', '話す'], ['日本語。', '話す']],
    ['a (b) c', ['a', 'b', 'c'], ['a', '(b)', 'c']],
  ];
  for (const [text, marked, told] of cases) {
    it(`of ${text}`, () => {
      expect(wordsAt(marksOf(text, marked), text, 1000).map((word) => word.text)).toEqual(told);
    });
  }

  it('lets each word last until the next, the last one to the end', () => {
    expect(wordsAt(marksOf('a b', ['a', 'b']), 'a b', 350)).toEqual([
      { text: 'a', startMs: 0, endMs: 100 },
      { text: 'b', startMs: 100, endMs: 350 },
    ]);
    expect(wordsAt(marksOf('a', ['a']), 'a', -5)).toEqual([{ text: 'a', startMs: 0, endMs: 0 }]);
  });

  it('leaves words as they are marked where there is no text, or no place in it', () => {
    const marks = [{ text: 'lamb', startMs: 5, start: 3, end: 7 }];
    expect(wordsAt(marks, '', 10)).toEqual([{ text: 'lamb', startMs: 5, endMs: 10 }]);
    expect(wordsAt([{ text: 'x', startMs: 0, start: undefined, end: undefined }], 'a.', 1)[0]?.text).toBe('x');
  });

  it('never emits more than the text, whatever the offsets', () => {
    const offset = fc.option(fc.integer({ min: -5, max: 20 }), { nil: undefined });
    const mark = fc.record({ text: fc.constant('w'), startMs: fc.integer(), start: offset, end: offset });
    fc.assert(
      fc.property(fc.array(mark), fc.string({ maxLength: 15 }), (marks, text) => {
        const words = wordsAt(marks, text, 5);
        expect(words).toHaveLength(marks.length);
        expect(words.filter(({ text: word }) => word === '')).toEqual([]);
        expect(words.every(({ startMs, endMs }) => endMs >= startMs)).toBe(true);
      }),
    );
  });
});

describe('marksIn', () => {
  it('reads the words of its lines, and leaves out all else', () => {
    const lines = [
      '{"time":0,"type":"sentence","start":0,"end":23,"value":"Mary had a little lamb."}',
      '{"time":6,"type":"word","start":0,"end":4,"value":"Mary"}',
      '{"time":373,"type":"word","value":"had"}\r',
      ...[
        '',
        'null',
        '[]',
        '{',
        '{"type":"word"}',
        '{"type":"word","value":"x","time":"6"}',
        '{"type":"word","time":1}',
      ],
    ];
    expect(marksIn(lines.join('\n'))).toEqual([
      { text: 'Mary', startMs: 6, start: 0, end: 4 },
      { text: 'had', startMs: 373, start: undefined, end: undefined },
    ]);
  });
});
