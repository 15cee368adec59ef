import { SentenceSplitter, type SentenceOptions } from '../../lib/text/sentence-splitter.ts';
import { corpus, someSplits, soups, splits } from './corpus.ts';

const split = (parts: readonly string[], options?: SentenceOptions): string[] => {
  const splitter = new SentenceSplitter(options);
  return [...parts.flatMap((part) => splitter.push(part)), ...splitter.flush()];
};
/** Cuts at each end of a clause or sentence, however short. */
const everyEnd: SentenceOptions = { firstMinChars: 1, minChars: 1 };

describe('SentenceSplitter', () => {
  const pieces: Readonly<Record<string, readonly string[]>> = {
    'a first clause, then sentences': [
      'Well, of course, ',
      'I can help you with that, gladly. ',
      'It takes a minute, or perhaps two. ',
      'OK?',
    ],
    English: [
      'I do think so. ',
      'Or rather, nobody knows! ',
      '"Does anyone know it?" ',
      '(They do not know it.) ',
      'Right.',
    ],
    'a first clause of four short words': ['So I do it, ', 'and so do you, every day.'],
    Japanese: [
      'そうですね、',
      '今日はとてもいい天気ですね。',
      'これから散歩に行きましょうか？',
      '「はい、行きましょう。」と彼は言った。',
    ],
    Chinese: ['你好！今天我们来聊聊天气。', '他说：“今天不去。”我同意了。', '真的吗？'],
    Korean: ['네, 안녕하세요, ', '오늘은 날씨가 아주 좋네요. ', '같이 산책을 나갈까요? ', '좋아요.'],
    Hindi: ['नमस्ते, आप कैसे हैं? ', 'मैं आज बहुत अच्छा हूँ। ', 'क्या आप कल आ सकते हैं।'],
    Thai: ['สวัสดีครับทุกคน ', 'วันนี้อากาศดีมากเลยนะครับ ', 'เราไปเดินเล่นกันเร็วๆ นี้ดีไหม ', 'ขอบคุณมากค่ะ'],
    Arabic: ['مرحباً، كيف حالك؟ ', 'أنا بخير اليوم، شكراً. ', 'هل تريد الخروج معي الآن؟ ', 'نعم!'],
    Greek: ['Τι κάνεις σήμερα; ', 'Είμαι πολύ καλά, ευχαριστώ. ', 'Εσύ τι κάνεις εκεί σήμερα; ', 'Φεύγω αύριο.'],
    Armenian: ['Բարև ձեզ, ինչպե՞ս եք։ ', 'Ես լավ եմ, շնորհակալություն: ', 'Ցտեսություն։'],
    Amharic: ['ሰላም፣ እንዴት ነህ? ', 'ዛሬ አየሩ በጣም ጥሩ ነው እኮ። ', 'እንሂድ፤ ና።'],
    Burmese: ['ဆရာ မင်္ဂလာပါ၊ ', 'ကျွန်တော် နေကောင်းပါတယ်။ ', 'ကျေးဇူးတင်ပါတယ်။'],
    'Georgian, which has small letters only': ['გამარჯობა, როგორ ხარ? ', 'მე დღეს ძალიან კარგად ვარ. ', 'წავიდეთ!'],
    'lines and lists': [
      'Here is the list:\n',
      '1. Apples and peaches\n',
      '2. Bananas, which are good for you\n\n',
      'Is that all?',
    ],
    'Markdown around the end': ['**This is bold.** ', '*This one is not, or less.* ', 'Done.'],
    'a French question mark after a space': ['Comment allez-vous ? ', '« Oui, très bien, merci. » ', 'Voilà.'],
    'German quotes that point inwards': [
      'Er sagte nichts mehr. ',
      '»Ja, natürlich geht das«, sagte sie dann. ',
      'Gut.',
    ],
    'short sentences joined': ['Yes. No. Maybe so. ', 'I will. You will. They will. ', 'Good.'],
  };
  for (const [name, expected] of Object.entries(pieces)) {
    it(`cuts ${name}`, () => expect(split([expected.join('')])).toEqual(expected));
  }

  const whole = [
    'about 3.14 or so',
    'ask Dr. Smith or Prof. Jones',
    'ask Mr. J. R. Smith, Jr. or so',
    'do it, e.g. this, i.e. that',
    'in the U.S. Navy',
    'at 5 p.m. Eastern',
    'use v2.0 of Node.js now',
    'Yahoo! is here',
    'see No. 5, Fig. 3 and p. 7',
    'on Jan. 5',
    'about approx. 5 or etc. and so on',
    'wait... What',
    'wait… What',
    'a... b',
    'see https://example.com/a.b?c=d! now',
    'at 10:30 for 1,000',
    '"Really?" he asked',
    'say (hm!) to me',
    'das ist z.B. Hr. Meier, d.h. er',
    'Mme. Curie et M. Dupont',
    'la Sra. García en EE.UU. Hoy',
    'на ул. Ленина и т.д. или',
    'कि डॉ. शर्मा',
    'قال د. أحمد',
    '３．１４です',
    '「はい。」と言った',
    'はい……えっと',
    'เร็วๆ นี้',
    'ราคา 500 บาท',
    '2024.',
    '1. One',
    'end . , then',
  ];
  for (const text of whole) {
    it(`never cuts "${text}"`, () => {
      const first = 'This comes first.\n';
      expect(split([first, text], everyEnd)).toEqual([first, text]);
    });
  }

  it('ends a sentence after "I", but not after an initial', () => {
    expect(split(['So do I. Then J. Smith came.'], everyEnd)).toEqual(['So do I. ', 'Then J. Smith came.']);
  });

  const abbreviated = [
    ['es', 'vino el Sr. García con los Sres. Pérez'],
    ['es-MX', 'vive en EE. UU. hoy'],
    ['pt-BR', 'veio o Sr. Silva com os Srs. Costa'],
    ['fr', 'voici le Pr. Martin'],
    ['de', 'sie wohnt in der Bahnhofstr. Berlin'],
    ['de-CH', 'die Kurze Str. Mitte'],
  ] as const;
  for (const [locale, text] of abbreviated) {
    it(`never cuts "${text}" in ${locale}`, () => expect(split([text], { ...everyEnd, locale })).toEqual([text]));
  }

  it('ends a sentence after those abbreviations where they are none', () => {
    for (const locale of ['en', 'en-US', undefined]) {
      const sentences = ['He is John Smith Sr. ', 'She works in P.R. as pr. ', 'Then came mstr. ', 'It is so.'];
      expect(split([sentences.join('')], { ...everyEnd, ...(locale && { locale }) })).toEqual(sentences);
    }
    expect(split(['Me gusta el pr. Y a ti.'], { ...everyEnd, locale: 'es' })).toEqual(['Me gusta el pr. ', 'Y a ti.']);
  });

  it('takes "3. Oktober" for a date where the language writes dates so', () => {
    const text = 'It is 3. Oktober is near.';
    expect(split([text], { ...everyEnd, locale: 'de-AT' })).toEqual([text]);
    expect(split([text], { ...everyEnd, locale: 'en' })).toEqual(['It is 3. ', 'Oktober is near.']);
  });

  it('cuts text without punctuation at about 100 characters, between two words, before it is all there', () => {
    const text = 'and then we went on to the next place where '.repeat(12);
    const pieces = split([text]);
    expect(pieces.join('')).toBe(text);
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(100);
    for (const piece of pieces.slice(0, -1)) expect(piece).toMatch(/[a-z] $/);
    for (const piece of pieces.slice(0, -1)) expect(piece.length).toBeGreaterThan(85);
    const splitter = new SentenceSplitter();
    expect(splitter.push(text.slice(0, 103))).toHaveLength(1);
  });

  it('leaves long text with punctuation whole, whatever its marks', () => {
    const text = `It is so. ${'one of those which, like many others, has its commas, '.repeat(4).trim()} too. `;
    expect(split([text])).toEqual(['It is so. one of those which, ', text.slice(30)]);
  });

  it('cuts unmarked text in the same places however it arrives', () => {
    const texts = [
      'word '.repeat(60),
      `a, ${'x'.repeat(120)} then more and so on${' again'.repeat(40)}, b`,
      '字'.repeat(160),
    ];
    for (const text of texts) {
      for (const maxChars of [60, 99, 101, 2000]) {
        const expected = split([text], { maxChars });
        for (const size of [1, 2, 3, 7, 50, 99, 100, 101, 102]) {
          expect(split(text.match(new RegExp(`.{1,${size}}`, 'gsu')) ?? [], { maxChars })).toEqual(expected);
        }
      }
    }
  });

  it('cuts Japanese without punctuation at about 50 characters, between two words', () => {
    const text = '今日はとても天気がいいので私たちは公園へ行って一緒に昼ご飯を食べることにしました'.repeat(3);
    const pieces = split([text], { locale: 'ja' });
    expect(pieces.join('')).toBe(text);
    expect(pieces.map(({ length }) => length <= 50)).not.toContain(false);
    expect(pieces.length).toBeLessThan(5);
  });

  it('gives a piece as soon as the next character shows that it is one', () => {
    const splitter = new SentenceSplitter();
    expect(splitter.push('Hello there, my friend')).toEqual(['Hello there, ']);
    expect(splitter.push(', how is it in 2024.')).toEqual([]);
    expect(splitter.push(' ')).toEqual([]);
    expect(splitter.push('T')).toEqual(['my friend, how is it in 2024. ']);
    expect(splitter.push('his is 3.')).toEqual([]);
    expect(splitter.push('14 and no more、')).toEqual([]);
    expect(splitter.flush()).toEqual(['This is 3.14 and no more、']);
    expect(splitter.flush()).toEqual([]);
  });

  it('needs no space after the full stops of scripts that write none', () => {
    const splitter = new SentenceSplitter();
    expect(splitter.push('今日はいい天気ですね。')).toEqual([]);
    expect(splitter.push('散')).toEqual(['今日はいい天気ですね。']);
  });

  it('takes a number for a list item only at the start of a line', () => {
    expect(split(['The answer is known. 42. It is so.'], everyEnd)).toEqual([
      'The answer is known. ',
      '42. ',
      'It is so.',
    ]);
    expect(split(['It is known.\n42. It is so.'], everyEnd)).toEqual(['It is known.\n', '42. It is so.']);
  });

  it('takes a number after a common word for the next sentence', () => {
    expect(split(['He is in the house. 5 came.'], everyEnd)).toEqual(['He is in the house. ', '5 came.']);
  });

  it('cuts no time and no number at its mark', () => {
    expect(split(['The train leaves at 10:30 for 1,000 people, they say.'])).toEqual([
      'The train leaves at 10:30 for 1,000 people, ',
      'they say.',
    ]);
  });

  it('starts over after a flush', () => {
    const splitter = new SentenceSplitter(everyEnd);
    expect(splitter.push('This is the first sentence. S')).toHaveLength(1);
    splitter.push('o it goes on and on without an end');
    splitter.flush();
    expect(splitter.push('1. Surely, there comes')).toEqual(['1. Surely, ']);
  });

  it('waits for longer pieces where it is told to', () => {
    const text = 'Well, yes. I see. It is so. And so on. ';
    expect(split([text.repeat(2)], { firstMinChars: 5, minChars: 30 })).toEqual([
      'Well, ',
      'yes. I see. It is so. And so on. ',
      'Well, yes. I see. It is so. And so on. ',
    ]);
  });

  describe('text without an end in reach', () => {
    it('is cut after a clause, or else a word', () => {
      const text = 'one two three, four five six seven eight nine ten eleven';
      expect(split([text], { firstMinChars: 99, firstMinWords: 99, maxChars: 20 })).toEqual([
        'one two three, ',
        'four five six seven ',
        'eight nine ten ',
        'eleven',
      ]);
    });

    it('is cut between words in scripts that write no spaces', () => {
      for (const [locale, words] of [
        ['th', 'ภาษาไทยเป็นภาษา'],
        ['zh', '今天天气很好'],
      ] as const) {
        const boundaries = new Set(
          [...new Intl.Segmenter(locale, { granularity: 'word' }).segment(words)].map((s) => s.index),
        );
        let at = 0;
        for (const piece of split([words], { maxChars: 8, locale })) {
          expect(boundaries.has(at)).toBe(true);
          expect(piece.length).toBeLessThanOrEqual(8);
          at += piece.length;
        }
        expect(at).toBe(words.length);
      }
    });

    it('is never cut within a character', () => {
      const family = '👨‍👩‍👧‍👦';
      expect(split([family.repeat(3)], { maxChars: family.length })).toEqual([family, family, family]);
      expect(split([`a${'👍🏽'.repeat(4)}`], { maxChars: 10 })).toEqual(['a👍🏽👍🏽', '👍🏽👍🏽']);
      expect(split(['a', 'a', ...'👍🏽b'.split('')], { maxChars: 4 })).toEqual(['aa', '👍🏽', 'b']);
      expect(split(['e\u0301'.repeat(5)], { maxChars: 3 })).toEqual(Array.from({ length: 5 }, () => 'e\u0301'));
      expect(split(['𝟙𝟚𝟛'], { maxChars: 1 })).toEqual(['𝟙', '𝟚', '𝟛']);
    });

    it('is whole when it just fits', () => {
      expect(split(['abcd efgh'], { maxChars: 9 })).toEqual(['abcd efgh']);
    });

    it('is refused no limit but one below a character', () => {
      expect(() => new SentenceSplitter({ maxChars: 0 })).toThrow(RangeError);
      expect(() => new SentenceSplitter({ maxChars: Number.NaN })).toThrow(RangeError);
    });
  });

  describe('any split of its text gives the same pieces, which add up to it', () => {
    for (const [name, text] of Object.entries(corpus)) {
      for (const options of [{}, everyEnd, { maxChars: 17 }]) {
        it(`${name} ${JSON.stringify(options)}`, () => {
          const expected = split([text], options);
          expect(expected.join('')).toBe(text);
          for (const parts of splits(text)) {
            const actual = split(parts, options);
            if (actual.join('|') !== expected.join('|')) expect([parts, actual]).toEqual([parts, expected]);
          }
        });
      }
    }
  });

  it('any split of any soup gives the same pieces, which add up to it', () => {
    for (const text of soups(300)) {
      for (const options of [{}, everyEnd, { maxChars: 9 }]) {
        const expected = split([text], options);
        expect(expected.join('')).toBe(text);
        for (const parts of someSplits(text, 3)) {
          const actual = split(parts, options);
          if (actual.join('|') !== expected.join('|')) expect([parts, actual]).toEqual([parts, expected]);
        }
      }
    }
  });

  it('takes time in proportion to the text', () => {
    const splitter = new SentenceSplitter({ maxChars: 1_000_000 });
    let count = 0;
    for (let i = 0; i < 20_000; i += 1) count += splitter.push('word, ').length;
    expect(count).toBe(1);
    expect(splitter.flush().join('')).toHaveLength(20_000 * 6 - 'word, word, word, '.length);
  });
});
