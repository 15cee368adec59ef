/** Slow: thousands of texts, each split in many ways. */
import { markdown, MarkdownText, type MarkdownOptions } from '../../lib/text/markdown.ts';
import { pronunciations } from '../../lib/text/pronunciations.ts';
import { chained } from '../../lib/text/text-transform.ts';
import { visualRange, type SpokenPiece } from '../../lib/text/spoken-piece.ts';
import { corpus, someSplits, soups, splits } from './corpus.ts';

const convert = (parts: readonly string[], options?: MarkdownOptions): SpokenPiece[] => {
  const speech = new MarkdownText(options);
  return [...parts.flatMap((part) => speech.push(part)), ...speech.flush()];
};
const spoken = (text: string, options?: MarkdownOptions): string =>
  convert([text], options)
    .map((piece) => piece.spoken)
    .join('');
const announced: MarkdownOptions = { codeBlock: (language) => `${language} code` };

describe('markdown()', () => {
  const says: Readonly<Record<string, readonly (readonly [written: string, said: string, MarkdownOptions?])[]>> = {
    'leaves what is no mark': [
      ['3 * 4 = 12 and 3*4', '3 * 4 = 12 and 3*4'],
      ['看![图](x)', '看!图'],
      ['2 ** 3 and 2**3', '2 ** 3 and 2**3'],
      ['snake_case_name', 'snake_case_name'],
      ['2024.', '2024.'],
      ['2024. A year', '2024. A year'],
      ['#1 and C#', '#1 and C#'],
      ['5 > 3 and a < b', '5 > 3 and a < b'],
      ['I <3 you', 'I <3 you'],
      ['-5 degrees, ~5 km', '-5 degrees, ~5 km'],
      ['[0, 1) and a[0] and [sic]', '[0, 1) and a[0] and [sic]'],
      ['a | b', 'a | b'],
      ['[x] done', '[x] done'],
      ['a\n--\nb', 'a\n--\nb'],
      ['well – or not — at all', 'well – or not — at all'],
      ["it's `fine", "it's fine"],
      ['© 2024 Foo™', '© 2024 Foo™'],
      ['क्‍ष', 'क्‍ष'],
      ['C:\\Users', 'C:\\Users'],
    ],
    'drops emphasis': [
      ['a **bold** *word* and __two__ _more_ ***both*** ~~gone~~', 'a bold word and two more both gone'],
      ['これは**重要**です', 'これは重要です'],
      ['**bold**text', 'boldtext'],
      ['a 5* hotel', 'a 5 hotel'],
      ['ends **open', 'ends open'],
      ['ends open **', 'ends open '],
      ['\\*not\\* emphasis, 1\\. no list, \\$5', '*not* emphasis, 1. no list, $5'],
    ],
    'drops headings, lists, quotes and rules, and lets their ends be heard': [
      ['# Title\n\nText', 'Title.\nText'],
      ['### Is it?\nText', 'Is it?\nText'],
      ['- flour\n* sugar (brown)\n+ eggs.\n', 'flour.\nsugar (brown).\neggs.\n'],
      ['  - nested\n    - deeper:\n', 'nested.\ndeeper:\n'],
      ['- [ ] to do\n- [x] done\n', 'to do.\ndone.\n'],
      ['1. one\n2) two\n', '1. one.\n2) two.\n'],
      ['- りんご\n- バナナ\n', 'りんご。\nバナナ。\n'],
      ['> quoted\n> > twice\n', 'quoted\ntwice\n'],
      ['a\n---\nb\n* * *\nc\n=====\nd\n___', 'a\nb\nc\nd\n'],
      ['- [docs](http://x) now\n', 'docs now.\n'],
      ['- 🎉\n- a\n- eggs. \n', 'a.\neggs. '],
      ['# Title\nsome text\nmore', 'Title.\nsome text\nmore'],
      ['soft\nbreak\r\nand another', 'soft\nbreak\nand another'],
      ['- one\r\n- two', 'one.\ntwo'],
    ],
    'reads tables row by row': [
      ['| Name | Age |\n|------|:---:|\n| Bob | 42 |\n\nEnd', 'Name, Age.\nBob, 42.\nEnd'],
      ['|- a|# b|\nc | d', '- a,# b.\nc | d'],
      ['|a|b|\n|-|-|\n||c \\| d|\n', 'a,b.\nc | d.\n'],
    ],
    'keeps the text of links and code': [
      ['see [the **docs**](https://x.org/a_(b) "A title").', 'see the docs.'],
      ['![a cat](cat.png) and [ref][1] and [^2] note', 'a cat and ref and  note'.replace('  ', ' ')],
      ['[![a badge](badge.png) here](https://x.org) now', 'a badge here now'],
      ['[a \\] b](x) and [a `b](x) *c*', 'a ] b and a b c'],
      ['[cut off](https://exa', 'cut off'],
      ['[no link](at\nall)', '[no link](at\nall)'],
      ['`open\n*next*', 'open\nnext'],
      ['[never closed\nNext', '[never closed\nNext'],
      ['use `a*b*c` and ``x ` y``', 'use a*b*c and x ` y'],
    ],
    'says the host of an address': [
      ['See https://www.example.com/path?q=1#x.', 'See example.com.'],
      ['(http://user:secret@a.org:8080/b_(c))', '(a.org)'],
      ['go to www.example.com!', 'go to example.com!'],
      ['<https://example.com/x> or <me@example.com>', 'example.com or me@example.com'],
      ['**https://example.com** _https://a.org_', 'example.com a.org'],
      ['https://例え.jp, https:// and xhttps://a.b', 'https://例え.jp, https:// and xhttps://a.b'],
      ['詳細はhttps://example.com/aです', '詳細はexample.comです'],
    ],
    'drops HTML': [
      ['a <b class="x" id=y hidden>bold</b > word', 'a bold word'],
      ['one<br/>two<p>three</p>', 'one\ntwo\nthree\n'],
      ['a <!-- hidden\n --> b', 'a b'],
      ['a <unfinished', 'a <unfinished'],
    ],
    'drops emoji': [
      ['Great 👍🏽 job 👨‍👩‍👧‍👦 ❤️ 🇩🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿 now', 'Great job now'],
      ['1️⃣ first', '1 first'],
      ['🎉', ''],
    ],
    'skips blocks of code': [
      ['Here:\n```js\nconst x = "```";\n\nNot this one.\n```\nAfter.', 'Here:\nAfter.'],
      ['Here: ```py\nprint(1)\n```\nAfter.', 'Here: After.'],
      ['~~~\n```\nx\n~~~~\nAfter.', 'After.'],
      ['- item\n  ```\n  x\n  ```\n  more', 'item.\nmore'],
      ['one ```span``` here', 'one span here'],
      ['```span``` first', 'span first'],
      ['Now ```py\nx\n```\n- item\n', 'Now item.\n'],
      [`\`\`\`\n${'x = 1;\n'.repeat(900)}This is only a comment.\n${'x\n'.repeat(900)}\`\`\`\nAfter.`, 'After.'],
    ],
    'announces blocks of code': [
      ['Here:\n```js\nx\n```\nAfter.', 'Here:\nSome js code.\nAfter.', { codeBlock: (name) => `Some ${name} code.` }],
      ['Here:\n```\nx\n```\nAfter.', 'Here:\n(code)\nAfter.', { codeBlock: '(code)' }],
      ['```js\nx', 'js\n', { codeBlock: (name) => name }],
    ],
    'never mutes what follows a block that is not closed': [
      ['A:\n```js\nlet x = 1;\n\nThis comes after it.\nAnd so on', 'A:\nThis comes after it.\nAnd so on'],
      ['A:\n```js\nx\n\nThen the other file:\n```py\ny\n```\nEnd.', 'A:\nThen the other file:\nEnd.'],
      ['A:\n```js\n```py\ny\n```\nEnd.', 'A:\nEnd.'],
      ['```\nこれはコードの外の文章です。', 'これはコードの外の文章です。'],
      ['A:\n```\nClass Foo is\nif it is so:\nx', 'A:\n'],
      ['A:\n```js\nreturn this.value();\nDone(now) { it; }.', 'A:\n'],
    ],
    'announces code that stands alone': [
      ['```js\nlet x = 1;\n```', 'Here is some code.'],
      ['  \n🎉 ```js\nlet x = 1;\n```\n', 'Here is some code.'],
      ['```js\nlet x = 1;', 'Here is some code.'],
      ['```js\n1\n```\n\n```js\n2\n```\n', 'Here is some code.'],
      ['```js\n1\n```\nThat is it.', 'That is it.'],
      ['```js\n1\n```', '', { codeBlock: '' }],
      ['```js\n1\n```', 'js\n', { codeBlock: (language) => language }],
      ['🎉 ---\n', '---\n'],
    ],
    'collapses white space': [['  a \t b\n\n\n c\u00a0\u00a0d  ', 'a b\nc d ']],
  };
  for (const [rule, cases] of Object.entries(says)) {
    describe(rule, () => {
      for (const [written, said, options] of cases) {
        it(JSON.stringify(written), () => expect(spoken(written, options)).toBe(said));
      }
    });
  }

  it('gives one piece for each push', () => {
    const speech = new MarkdownText();
    expect(speech.push('A **bold** move. ')).toEqual([
      {
        spoken: 'A bold move. ',
        visual: 'A **bold** move. ',
        spans: [
          { spokenStart: 0, spokenEnd: 2, visualStart: 0, visualEnd: 2 },
          { spokenStart: 2, spokenEnd: 6, visualStart: 4, visualEnd: 8 },
          { spokenStart: 6, spokenEnd: 13, visualStart: 10, visualEnd: 17 },
        ],
      },
    ]);
    expect(speech.push('')).toEqual([]);
    expect(speech.flush()).toEqual([]);
  });

  it('joins a push that ends in the middle of something with the next', () => {
    const speech = new MarkdownText();
    expect(speech.push('Please see [the docs')).toEqual([]);
    expect(speech.push('](https://rxjs.dev) now. ').map((piece) => piece.spoken)).toEqual([
      'Please see the docs now. ',
    ]);
    expect(speech.push('Or https://rxjs.dev')).toEqual([]);
    expect(speech.flush().map((piece) => piece.spoken)).toEqual(['Or rxjs.dev']);
  });

  it('waits no longer than it must', () => {
    for (const text of [
      'a https://é. ',
      'a [b\nc. ',
      `[${'a '.repeat(200)}`,
      'a < b ',
      'a <b\n',
      '[a](b\nc ',
      '2 * ',
      '**重要。**',
      'fine.*',
      '好!',
    ]) {
      const speech = new MarkdownText();
      expect(speech.push(text).map((piece) => piece.visual)).toEqual([text]);
    }
  });

  it('says what stands before a block of code while the block is still coming', () => {
    const speech = new MarkdownText();
    expect(speech.push('Like this:\n```js\nlet x;\n').map((piece) => piece.spoken)).toEqual(['Like this:\n']);
    expect(speech.push('let y;\n')).toEqual([]);
    expect(speech.push('```\nGood. ')).toMatchObject([{ spoken: 'Good. ', visual: 'let x;\nlet y;\n```\nGood. ' }]);
  });

  it('keeps emphasis and lists apart over pushes', () => {
    const speech = new MarkdownText();
    const said = ['- **one', ' and two', '**\n', '* ', '*three*', ' \n'].flatMap((text) => speech.push(text));
    expect([...said, ...speech.flush()].map((piece) => piece.spoken).join('')).toBe('one and two.\nthree .\n');
  });

  it('holds back no more than 8,192 characters, whatever comes', () => {
    const hostile = ['<!-- ', '-', 'https://a', '`', '[a](', '```\n', '#', '*', '\\'];
    for (const start of hostile) {
      const speech = new MarkdownText();
      speech.push(start);
      let held = start.length;
      let most = 0;
      for (let i = 0; i < 1000; i += 1) {
        held += 10;
        for (const { visual } of speech.push(start === '```\n' ? '(code);   \n' : (start.at(-1) ?? '').repeat(10))) {
          held -= visual.length;
        }
        most = Math.max(most, held);
      }
      expect(most).toBeLessThan(8210);
    }
  });

  describe('any split of its text gives the same spoken text', () => {
    for (const [name, text] of Object.entries(corpus)) {
      for (const options of [{}, announced]) {
        it(`${name}${options === announced ? ', announced' : ''}`, () => {
          const expected = spoken(text, options);
          for (const parts of splits(text)) {
            const pieces = convert(parts, options);
            const said = pieces.map((piece) => piece.spoken).join('');
            const written = pieces.map((piece) => piece.visual).join('');
            if (said !== expected || written !== text) expect([parts, said, written]).toEqual([parts, expected, text]);
          }
        });
      }
    }
  });

  it('any split of any soup gives the same spoken text', () => {
    for (const text of soups(300)) {
      for (const options of [{}, announced]) {
        const expected = spoken(text, options);
        for (const parts of someSplits(text, 3)) {
          const pieces = convert(parts, options);
          const said = pieces.map((piece) => piece.spoken).join('');
          const written = pieces.map((piece) => piece.visual).join('');
          if (said !== expected || written !== text) expect([parts, said, written]).toEqual([parts, expected, text]);
        }
      }
    }
  });

  describe('each piece maps what is said to what is written', () => {
    for (const [name, text] of Object.entries(corpus)) {
      it(name, () => {
        for (const { spoken: said, visual, spans } of [...splits(text)].slice(-6).flatMap((parts) => convert(parts))) {
          let last = { spokenEnd: 0, visualEnd: 0 };
          for (const span of spans) {
            expect(span.spokenStart).toBeGreaterThanOrEqual(last.spokenEnd);
            expect(span.visualStart).toBeGreaterThanOrEqual(last.visualEnd);
            expect(span.spokenEnd).toBeGreaterThan(span.spokenStart);
            expect(span.visualEnd).toBeGreaterThan(span.visualStart);
            last = span;
          }
          expect(last.spokenEnd).toBeLessThanOrEqual(said.length);
          expect(last.visualEnd).toBeLessThanOrEqual(visual.length);
        }
      });
    }
  });
});

describe('visualRange', () => {
  const stage = chained([markdown(), pronunciations({ SQL: 'sequel' })], {});
  const [piece] = [...stage.push('- **Use** SQL, see https://rxjs.dev/a now\n'), ...stage.flush()];
  if (!piece) throw new Error('no piece');
  const found = (said: string): string => {
    const start = piece.spoken.indexOf(said);
    return piece.visual.slice(...visualRange(piece, start, start + said.length));
  };

  it('finds words in the text as it is written', () => {
    expect(piece.spoken).toBe('Use sequel, see rxjs.dev now.\n');
    expect(['se', 'sequel', 'see', 'rxjs.dev', 'now'].map(found)).toEqual([
      'se',
      'SQL',
      'see',
      'https://rxjs.dev/a',
      'now',
    ]);
  });

  it('counts a word that is said otherwise only once it is said whole', () => {
    const heard = (said: string): string => piece.visual.slice(0, visualRange(piece, 0, said.length)[1]);
    expect(heard('')).toBe('');
    expect(heard('U')).toBe('- **U');
    expect(heard('Use')).toBe('- **Use');
    expect(heard('Use ')).toBe('- **Use** ');
    expect(heard('Use seque')).toBe('- **Use** ');
    expect(heard('Use sequel')).toBe('- **Use** SQL');
    expect(heard('Use sequel, see rxjs')).toBe('- **Use** SQL, see ');
    expect(heard('Use sequel, see rxjs.dev now')).toBe('- **Use** SQL, see https://rxjs.dev/a now');
    expect(heard('Use sequel, see rxjs.dev now.')).toBe('- **Use** SQL, see https://rxjs.dev/a now');
    expect(heard(piece.spoken)).toBe(piece.visual);
  });

  it('finds nothing for what is written nowhere', () => {
    const [start, end] = visualRange(piece, piece.spoken.indexOf('.\n'), piece.spoken.indexOf('.\n') + 1);
    expect(start).toBe(end);
    const [silent] = convert(['***\n']);
    expect(silent && visualRange(silent, 0, 0)).toEqual([0, 4]);
  });
});
