import { spreadWords } from '../../../../lib/providers/tts/words/spread-words.ts';

describe('spreadWords', () => {
  it('gives each word its share of the audio by its characters, spaces included', () => {
    expect(spreadWords('Hi there.', 100, 1000)).toEqual([
      { text: 'Hi', startMs: 100, endMs: 300 },
      { text: 'there.', startMs: 400, endMs: 1000 },
    ]);
  });

  it('lets the last word end with the audio, whatever white space follows it', () => {
    expect(spreadWords(' one two \n', 0, 700).at(-1)).toEqual({ text: 'two', startMs: 400, endMs: 700 });
  });

  it('finds the words of scripts that write no spaces, each with its punctuation', () => {
    expect(spreadWords('「今日」は晴れ。', 0, 800).map(({ text }) => text)).toEqual(['「今日」', 'は', '晴れ。']);
  });

  it('keeps every word a part of the text, in order', () => {
    const text = 'It costs 3.14 €, "really" — well-known, 今日は now.';
    let at = 0;
    for (const word of spreadWords(text, 0, 1000)) {
      at = text.indexOf(word.text, at);
      expect(at).toBeGreaterThanOrEqual(0);
      expect(word.startMs).toBeCloseTo((at * 1000) / text.length);
      at += word.text.length;
    }
  });

  it('has no words for a blank text, and none for no audio', () => {
    expect(spreadWords('  ', 0, 100)).toEqual([]);
    expect(spreadWords('word', 100, 100)).toEqual([]);
  });
});
