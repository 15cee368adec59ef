/** Diagrams that are written in text are drawn as they are written; text that is none stays text. */
import { readFileSync } from 'node:fs';
import { drawMarbles, drawSeconds } from '../../../samples/marbles/picture.ts';

const count = (svg: string | undefined, part: string): number => (svg ?? '').split(part).length - 1;

describe('Marbles that are drawn', () => {
  it('have a marble for each letter at its frame, an end, an error, and what is said of them', () => {
    const svg = drawMarbles('source      -a-b--|      a: one\nresult()    ---(cd)-#');
    expect(count(svg, 'class="marble"')).toBe(4);
    expect(count(svg, 'class="end"')).toBe(1);
    expect(count(svg, 'class="error"')).toBe(1);
    expect(svg).toContain('>a: one</text>');
    const [a = 0, b = 0, c = 0] = [...(svg ?? '').matchAll(/cx="([\d.]+)"/g)].map(([, x]) => Number(x));
    // "a" stands in frame 1, "b" and "c" in frame 3, each 11 pixels wide.
    expect([b - a, c - a]).toEqual([22, 22]);
  });

  it('show a subscription from where it begins to where it ends', () => {
    const svg = drawMarbles('source    --a--b--|\nasked     --^----!');
    expect(count(svg, 'class="sign"')).toBe(2);
    expect(count(svg, 'class="marble"')).toBe(2);
  });

  it('take markup of the text for text', () => {
    expect(drawMarbles('a    -b-|    <script>\nc    -d-|')).not.toContain('<script');
  });

  it('are no code, no table and no tree', () => {
    for (const text of ['npm install rxvoice', 'a -> b\nb -> c', 'proxy mode    browser ── key ──▶ service', '']) {
      expect([drawMarbles(text), drawSeconds(text)]).toEqual([undefined, undefined]);
    }
  });

  it('are all of those on the page of the operators', () => {
    const page = readFileSync(new URL('../../../docs/operators.md', import.meta.url), 'utf8');
    const [, text = ''] = /## In pictures\s+```text\n([\s\S]+?)```/.exec(page) ?? [];
    const blocks = text.split(/\n\s*\n/).filter((block) => block.trim() !== '');
    expect(blocks.length).toBeGreaterThan(5);
    expect(blocks.filter((block) => drawMarbles(block) === undefined)).toEqual([]);
  });
});

describe('A conversation over seconds', () => {
  it('has what happens below its time, and arrows to what was decided', () => {
    const text = 'seconds 0         1\nstt     voice     final Hi.\n                  ^ turn';
    const svg = drawSeconds(text);
    expect(count(svg, '<rect')).toBe(2);
    expect(count(svg, 'class="sign"')).toBe(1);
    const left = (what: RegExp): number => Number(what.exec(svg ?? '')?.[1]);
    expect(left(/x="([\d.]+)"[^>]*>final Hi\./)).toBeCloseTo(left(/x="([\d.]+)" y="15">1 s/), -1);
  });
});
