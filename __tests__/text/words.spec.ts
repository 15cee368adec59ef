import { countWords, foldText } from '../../lib/text/words.ts';

describe('foldText', () => {
  const same: readonly (readonly [string, string])[] = [
    ['Book the flight.', 'book the flight'],
    ['  Book   the\nflight ', 'book the flight'],
    ['¿Reservo el vuelo?', 'reservo el vuelo'],
    ['今日は晴れです。', '今日は晴れです'],
    ['नमस्ते, आप कैसे हैं।', 'नमस्ते आप कैसे हैं'],
    ['هل أنت بخير؟', 'هل أنت بخير'],
    ["Don't – stop!", 'dont stop'],
    ['ＡＢＣ １２３', 'abc 123'],
    ['STRASSE', 'straße'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['café', 'cafe\u0301'],
    ['Great 👍🏽 job ❤️', 'great job'],
    ['soft\u00adhyphen', 'softhyphen'],
    ['In 2024.', 'in 2024'],
    ['1.5 liters.', '１.５ liters'],
    ['1\u200b5', '15'],
  ];
  for (const [a, b] of same)
    it(`takes "${a}" and "${b}" for the same words`, () => expect(foldText(a)).toBe(foldText(b)));

  const different: readonly (readonly [string, string])[] = [
    ['book the flight', 'do not book the flight'],
    ['book the flight', 'book the flights'],
    ['sik', 'sık'],
    ['ano', 'año'],
    ['は', 'ば'],
    ['कल', 'काल'],
    ['an other', 'another'],
    ['1.5 liters', '15 liters'],
    ['at 5:30', 'at 530'],
    ['from 1–2', 'from 12'],
  ];
  for (const [a, b] of different) it(`keeps "${a}" and "${b}" apart`, () => expect(foldText(a)).not.toBe(foldText(b)));

  it('leaves nothing of a text without words', () => expect(foldText(' …?! ')).toBe(''));
});

describe('countWords', () => {
  const counts: readonly (readonly [string, number, string?])[] = [
    ['', 0],
    [' …, ', 0],
    ['stop', 1],
    ["Don't do that, please!", 4],
    ['水と火', 3, 'ja'],
    ['你好世界', 2, 'zh'],
    ['สวัสดีครับ', 2, 'th'],
    ['नमस्ते दुनिया', 2, 'hi'],
    ['مرحبا بالعالم', 2, 'ar'],
    ['two words', 2, 'not a locale'],
  ];
  for (const [text, count, locale] of counts) {
    it(`finds ${count} words in "${text}"`, () => expect(countWords(text, locale)).toBe(count));
  }

  it('counts no further than anyone needs: the time would grow with the square', () => {
    expect(countWords('word '.repeat(200_000))).toBe(205);
  });
});
