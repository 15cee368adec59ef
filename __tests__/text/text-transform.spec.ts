import { markdown } from '../../lib/text/markdown.ts';
import { pronunciations } from '../../lib/text/pronunciations.ts';
import { verbatim, visualRange, type SpokenPiece } from '../../lib/text/spoken-piece.ts';
import { chained, type TextStage, type TextTransform } from '../../lib/text/text-transform.ts';
import { corpus, someSplits, soups } from './corpus.ts';

const run = (stage: TextStage, parts: readonly string[]): SpokenPiece[] => [
  ...parts.flatMap((part) => [...stage.push(part)]),
  ...stage.flush(),
];
const spoken = (pieces: readonly SpokenPiece[]): string => pieces.map((piece) => piece.spoken).join('');
const visual = (pieces: readonly SpokenPiece[]): string => pieces.map((piece) => piece.visual).join('');
const say = (transforms: readonly TextTransform[], ...parts: string[]): string =>
  spoken(run(chained(transforms, {}), parts));

const words = pronunciations({
  SQL: 'sequel',
  'C++': 'see plus plus',
  東京: 'とうきょう',
  the: 'ze',
  'New York': 'NYC',
  who: 'hoo',
  http: 'aitch',
  ดี: 'dee',
  dev: 'dee ee vee',
});
/** Cuts its text where no other transform does, and says every word twice. */
const stutter: TextTransform = {
  name: 'stutter',
  start: () => {
    let held = '';
    const whole = (text: string): SpokenPiece => {
      const said = text.replace(/\p{L}+/gu, '$& $&');
      const span = { spokenStart: 0, spokenEnd: said.length, visualStart: 0, visualEnd: text.length };
      return { spoken: said, visual: text, spans: said ? [span] : [] };
    };
    return {
      push: (text) => {
        held += text;
        const end = held.search(/[^\p{L}][\p{L}]*$/u) + 1;
        const ready = held.slice(0, end);
        held = held.slice(end);
        return ready ? [whole(ready)] : [];
      },
      flush: () => [whole(held)],
    };
  },
};
const lists: Readonly<Record<string, readonly TextTransform[]>> = {
  none: [],
  markdown: [markdown()],
  'markdown, pronunciations': [markdown(), words],
  'pronunciations, markdown': [words, markdown()],
  'markdown, pronunciations, an own one': [markdown(), words, stutter],
};

describe('pronunciations()', () => {
  it.each([
    ['SQL, MySQL, SQLite and SQL_x', 'sequel, MySQL, SQLite and SQL_x'],
    ['**SQL** in `SQL`', 'sequel in sequel'],
    ['C++ and C', 'see plus plus and C'],
    ['the theme, then New York', 'ze theme, then NYC'],
    ['New Yorkers in New', 'New Yorkers in New'],
    ['東京は東京都', 'とうきょうはとうきょう都'],
    ['これはSQLです', 'これはsequelです'],
    ['_SQL_ and x_SQL', 'sequel and x_SQL'],
    ['who knows http', 'hoo knows aitch'],
    ['วันนี้ดีมาก', 'วันนี้deeมาก'],
    ['[see the docs](https://rxjs.dev)', 'see ze docs'],
    ['at https://rxjs.dev/a now', 'at rxjs.dee ee vee now'],
  ])('%s', (written, said) => expect(say([markdown(), words], written)).toBe(said));

  it('waits no longer than it must', () => {
    const stage = chained([words], {});
    expect(spoken([...stage.push('I like SQL')])).toBe('I like ');
    expect(spoken([...stage.push('. Who, ')])).toBe('sequel. Who, ');
    expect(spoken([...stage.push('New ')])).toBe('');
    expect(spoken([...stage.push('Delhi ')])).toBe('New Delhi ');
    expect([...stage.flush()]).toEqual([]);
  });
});

describe('a list of transforms', () => {
  it('speaks text as it is written when it is empty', () => {
    expect(run(chained([], {}), ['**a** ', '', '`b`'])).toEqual([verbatim('**a** '), verbatim('`b`')]);
  });

  it('announces code in the language of the conversation', () => {
    expect(spoken(run(chained([markdown()], { codeNotice: 'Voici le code.' }), ['```\n1\n```']))).toBe(
      'Voici le code.',
    );
  });

  it('maps what the last one says to what is written', () => {
    const [piece] = run(chained([markdown(), words], {}), ['See **SQL** at https://rxjs.dev/a now']);
    if (!piece) throw new Error('no piece');
    const written = (said: string): string => {
      const start = piece.spoken.indexOf(said);
      return piece.visual.slice(...visualRange(piece, start, start + said.length));
    };
    expect(piece.spoken).toBe('See sequel at rxjs.dee ee vee now');
    expect(['See', 'sequel', 'rxjs.dee ee vee', 'now'].map(written)).toEqual([
      'See',
      'SQL',
      'https://rxjs.dev/a',
      'now',
    ]);
    // What stands for one thing as a whole counts once it was said whole.
    expect(piece.visual.slice(0, visualRange(piece, 0, piece.spoken.indexOf(' vee'))[1])).toBe('See **SQL** at ');
  });

  for (const [list, transforms] of Object.entries(lists)) {
    it(`says the same however the text arrives: ${list}`, () => {
      for (const text of [...Object.values(corpus), ...soups(30)]) {
        const expected = say(transforms, text);
        for (const parts of someSplits(text, 4)) {
          const pieces = run(chained(transforms, {}), parts);
          if (spoken(pieces) !== expected || visual(pieces) !== text) {
            expect([parts, spoken(pieces), visual(pieces)]).toEqual([parts, expected, text]);
          }
        }
      }
    });

    it(`has a map that is monotone and total: ${list}`, () => {
      for (const text of [...Object.values(corpus), ...soups(30)]) {
        for (const parts of someSplits(text, 2)) {
          for (const piece of run(chained(transforms, {}), parts)) expectWhole(piece);
        }
      }
    });
  }
});

/** Each offset of what is said has its place in what is written, and none lies before that of the one before. */
function expectWhole(piece: SpokenPiece): void {
  const { spoken: said, visual: written, spans } = piece;
  const bounds = spans.flatMap(({ spokenStart, spokenEnd, visualStart, visualEnd }) => [
    [spokenStart, visualStart],
    [spokenEnd, visualEnd],
  ]);
  const ends = Array.from({ length: said.length + 1 }, (_, at) => visualRange(piece, 0, at)[1]);
  const isMonotone = (values: readonly (number | undefined)[]): boolean =>
    values.every((value = 0, at) => value >= (values[at - 1] ?? 0));
  const isWhole =
    [0, 1].every((side) => isMonotone(bounds.map((bound) => bound[side]))) &&
    spans.every((span) => span.spokenEnd > span.spokenStart && span.visualEnd > span.visualStart) &&
    (bounds.at(-1)?.[0] ?? 0) <= said.length &&
    (bounds.at(-1)?.[1] ?? 0) <= written.length &&
    isMonotone(ends) &&
    ends.at(-1) === written.length;
  if (!isWhole) expect([piece, ends]).toBe('monotone and total');
}
