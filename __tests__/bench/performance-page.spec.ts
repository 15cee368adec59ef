import { readFileSync } from 'node:fs';
import { reaches } from '../../bench/harness.ts';
import { rows } from '../../bench/rows.ts';
import { figureColumn, tableOf, updated, type DocRow } from '../../bench/table.ts';

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');

describe('docs/performance.md', () => {
  const documented = tableOf(page);

  it('says what bench/rows.ts says: every row, in its order, with its limits', () => {
    expect(documented.map(({ [figureColumn]: _, ...row }) => row)).toEqual(
      rows.map(({ id, name, against, unit, gate, goal }) => ({
        ...{ '#': id, Benchmark: name, Against: against, Unit: unit },
        ...{ Gate: limit(gate), Goal: limit(goal) },
      })),
    );
  });

  it('shows what stands in the way of each goal that its figure misses', () => {
    const missed = rows.filter((row, at) => !reaches(row, figureOf(documented[at]), row.goal)).map(({ id }) => id);
    const [, reasons = ''] = page.split('\n## What stands in the way\n');
    const explained = [...reasons.matchAll(/^### (.+)$/gm)].flatMap(
      ([, title = '']) => title.match(/P\d+|calls|scale/g) ?? [],
    );
    expect([...new Set(missed)].filter((id) => !explained.includes(id))).toEqual([]);
  });

  it('takes the figures of a run, and leaves the others', () => {
    const text = updated(page, [{ key: 'P17', value: 3 }]);
    const changed = tableOf(text).filter((row, at) => row[figureColumn] !== documented[at]?.[figureColumn]);
    expect(changed.map(({ '#': id, [figureColumn]: figure }) => [id, figure])).toEqual([['P17', '3']]);
  });

  it('keeps each figure beside its row when there is a new one', () => {
    const [first, ...others] = documented;
    const old = page.replace(new RegExp(`^.*${first?.Benchmark}.*\n`, 'm'), '');
    const figures = tableOf(updated(old, [])).map((row) => row[figureColumn]);
    expect(figures).toEqual(['–', ...others.map((row) => row[figureColumn])]);
  });

  it('takes the worst figure of a row that is measured for several', () => {
    const text = updated(page, [
      { key: 'P27', value: 0.11 },
      { key: 'P27', value: 0.29 },
      { key: 'P27', value: 0.2 },
    ]);
    expect(tableOf(text).find(({ '#': id }) => id === 'P27')?.[figureColumn]).toBe('0.29');
  });
});

const limit = (value: number | undefined): string => (value === undefined ? '–' : String(value));

/** Not a number is not measured, and that reaches no goal. */
const figureOf = (row: DocRow | undefined): number => Number.parseFloat(row?.[figureColumn] ?? '');
