/** Texts in many scripts and styles, for tests over every way to split them. */
export const corpus: Readonly<Record<string, string>> = {
  english:
    'Well, of course. Pi is about 3.14, said Dr. Smith; e.g. this week, in the U.S. Navy. It began in 2024. Then came v2.0, and... well, "That is all." Now what?! See https://example.com/a.b?c=d. OK.',
  german:
    'Hier ist z.B. Hr. Dr. Müller. Er kam am 3. Oktober 2024, d.h. vor langer Zeit. Straße Nr. 5 „ist hier“. Gut!',
  french: 'Bonjour, comment allez-vous ? Très bien, merci ! « C’est vrai. » dit M. Dupont. Voilà : tout est prêt.',
  spanish: '¿Cómo está usted, Sra. García? ¡Muy bien, gracias! Mañana voy a EE.UU. con el Dr. López. ¿Y tú?',
  russian: 'Здравствуйте, г. Иванов, и т.д. Но это ещё не всё. Он живёт на ул. Ленина, д. 5. Вы придёте? Да!',
  greek: 'Γειά σου, τι κάνεις σήμερα; Είμαι πολύ καλά, ευχαριστώ. Ο κ. Παπαδόπουλος ήρθε· φεύγει αύριο.',
  japanese:
    '今日はいい天気ですね。散歩に行きましょうか？「はい、行きましょう。」と彼は言った。円周率は3.14です。そして、公園へ！',
  chinese: '你好！今天我们来聊聊天气。他说：“今天不去。”我同意了。最高气温是３．１４度，最低……我不知道。真的吗？',
  korean: '안녕하세요, 오늘 날씨가 좋네요. 산책을 갈까요? 네. 좋아요! 원주율은 3.14입니다. 그럼 공원에서 만나요.',
  hindi: 'नमस्ते, आप कैसे हैं? मैं ठीक हूँ। डॉ. शर्मा आज नहीं आएंगे। क्या आप कल आ सकते हैं? पाई ३.१४ है॥',
  thai: 'สวัสดีครับ วันนี้อากาศดีมากเลยนะครับ เราไปเดินเล่นกันเร็วๆ นี้ดีไหม ราคา 500 บาท ขอบคุณมากค่ะ',
  arabic: 'مرحباً، كيف حالك؟ أنا بخير، شكراً. قال د. أحمد إن الجو جميل اليوم؛ درجة الحرارة 3.14. هل تريد الخروج؟ نعم!',
  hebrew: 'שלום, מה שלומך היום? אני בסדר גמור, תודה. ד"ר כהן אמר שפאי הוא 3.14. נתראה מחר!',
  armenian: 'Բարև ձեզ, ինչպե՞ս եք։ Ես լավ եմ, շնորհակալություն։ Իսկ դո՞ւք: Ցտեսություն։',
  amharic: 'ሰላም፣ እንዴት ነህ? ደህና ነኝ። ዛሬ አየሩ ጥሩ ነው። እንሂድ፤ ና።',
  burmese: 'မင်္ဂလာပါ၊ နေကောင်းလား။ ကျွန်တော် နေကောင်းပါတယ်။ ကျေးဇူးတင်ပါတယ်။',
  georgian: 'გამარჯობა, როგორ ხარ დღეს? მე კარგად ვარ. დღეს კარგი ამინდია. წავიდეთ!',
  markdown:
    '# Title\n\nSome **bold**, *it* and __both__ ~~old~~ `co_de*x*` text.\n- one\n  - two (x) \n* [ ] three.\n1. four\n\n> quoted **text**\n---\n![cat](c.png "A. B") See [the **docs**](https://x.com/a_(b)). 3 * 4 > 5 \\* 6\r\nEnd **',
  table: '| Name | Age |\n|------|:---:|\n| Bob  | 42 |\n| | x \\| y |\nAfter the table, all goes on. It does.\n',
  code: 'Here:\n```js\nconst x = 1; // *no*\n\nThis is not spoken.\n```\nAfter it. Inline ```code``` and `a`. Now ```py\nprint(1)\n```\nEnd.',
  unterminated:
    'Never closed:\n```js\nconst x = 1;\n\nNow this explains it.\nAnd more [here\n```python\nx = 1\n\nThe end is near.',
  html: 'A <b class="x">bold</b> move<br/>next <!-- not this --> a < b > c <me@x.com> <42c@d.e> <b class="x > y"> <https://u@www.a.b:80/c> <3 www.x.org/y. <unfinished',
  emoji: 'Great 👍🏽 job 👨‍👩‍👧‍👦! ❤️ 1️⃣ first 🇩🇪🇫🇷 क्‍ष ©️ ™ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 done 🎉',
  spaces: '  \n\n Leading.\t\tTabs \u00a0 and\u3000wide.  \r\n\r\n  Trailing and more text here.   ',
  marks: 'b __x ____y **_`~[]()!<>|\\#-+.,;:?" \n*** _ ~~ ` [a](b [c] ![ <d \\',
};

const atoms = [
  ...[
    'a',
    'Dr',
    'U.S',
    'SQL',
    '1',
    '3.14',
    '.',
    '?',
    '!',
    '...',
    '…',
    ',',
    ':',
    ' ',
    '\n',
    '\r\n',
    '*',
    '**',
    '_',
    '__',
    '~~',
  ],
  ...[
    '`',
    '```',
    '```js\n',
    '\n```\n',
    '[',
    '](',
    '](http://x.y/z)',
    ')',
    '![',
    '<',
    '<b>',
    '<br>',
    '<!--',
    '-->',
    '>',
    '#',
  ],
  ...[
    '- ',
    '1. ',
    '|',
    '|-|-|\n',
    '\\',
    'https://a.b/c',
    'www.',
    'h',
    '👍🏽',
    '\u200d',
    '1️⃣',
    '。',
    '！',
    '「',
    '」',
    '東京',
  ],
  ...[
    'ครับ',
    ' ๆ',
    '।',
    '؟',
    '»',
    '«',
    ' »',
    '”',
    '"',
    '—',
    ' – ',
    'Ω;',
    '-',
    '[x] ',
    '[^1]',
    'c@d.e',
    'New York',
    'New',
  ],
  ...['Then it is so.', 'So we go on, and on. '],
];

/** Texts that nobody writes, the same each time. */
export function* soups(count: number): Generator<string> {
  for (let seed = 1; seed <= count; seed += 1) {
    let text = '';
    for (const size of randomSizes(90, seed * 7919))
      text += atoms[(size * 31 + text.length * 17 + seed) % atoms.length] ?? '';
    yield text;
  }
}

/** Sizes of random pieces that add up to a length, the same for the same seed. */
export function* randomSizes(length: number, seed: number): Generator<number> {
  let state = seed * 2654435761 + 1;
  for (let left = length; left > 0;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const size = Math.min(left, 1 + ((state >>> 8) % 12));
    left -= size;
    yield size;
  }
}

/** Every way to cut a text in two, into single UTF-16 units, and some random ways. */
export function* splits(text: string): Generator<readonly string[]> {
  for (let at = 1; at < text.length; at += 1) yield [text.slice(0, at), text.slice(at)];
  yield* someSplits(text, 50);
}

/** A text in single UTF-16 units, and in some random ways. */
export function* someSplits(text: string, count: number): Generator<readonly string[]> {
  yield text.split('');
  for (let seed = 1; seed <= count; seed += 1) {
    let at = 0;
    yield [...randomSizes(text.length, seed)].map((size) => text.slice(at, (at += size)));
  }
}
