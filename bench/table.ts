import { reaches } from './harness.ts';
import { rows, type Row } from './rows.ts';

/** The column of docs/performance.md that a run changes. */
export const figureColumn = 'Last figure';

const columns = ['#', 'Benchmark', 'Against', 'Unit', 'Gate', 'Goal', figureColumn] as const;

/** A line of the table in docs/performance.md. */
export type DocRow = Readonly<Record<(typeof columns)[number], string>>;

/** What is not measured, or not limited. */
const none = '–';

const heading = new RegExp(`^\\| ${columns.join(' *\\| ')} *\\|$`, 'm');

/**
 * Reads the table of benchmarks out of docs/performance.md.
 *
 * @throws Error when the page has no such table.
 */
export function tableOf(page: string): DocRow[] {
  const [, ...lines] = tableLines(page);
  return lines.slice(1).map((line) => {
    const cells = line.split('|').slice(1, -1);
    return Object.fromEntries(columns.map((column, at) => [column, cells[at]?.trim() ?? ''])) as DocRow;
  });
}

/** The page with the figures of a run; of a row that is measured for several, the worst. Other figures stay. */
export function updated(page: string, results: readonly { readonly key: string; readonly value: number }[]): string {
  const before = tableLines(page);
  const figures = new Map(tableOf(page).map((row) => [nameOf(row['#'], row.Benchmark, row.Unit), row[figureColumn]]));
  const table = rows.map((row) => {
    const { id, name, against, unit, gate, goal } = row;
    const values = results.filter(({ key }) => key === row.key).map(({ value }) => value);
    const figure = values.length > 0 ? round(worstOf(row, values)) : (figures.get(nameOf(id, name, unit)) ?? none);
    return [id, name, against, unit, String(gate ?? none), String(goal ?? none), figure];
  });
  const widths = columns.map((column, at) =>
    Math.max(3, ...[[...columns], ...table].map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const after = [line(columns), line(widths.map((width) => '-'.repeat(width))), ...table.map(line)];
  return page.replace(before.join('\n'), after.join('\n'));
}

/** A benchmark may have a ratio and an absolute figure. */
const nameOf = (...parts: readonly string[]): string => parts.join(' ');

function tableLines(page: string): string[] {
  const start = page.search(heading);
  if (start < 0) throw new Error(`docs/performance.md has no table with ${columns.join(', ')}`);
  return page.slice(start).split('\n\n', 1)[0]?.split('\n') ?? [];
}

const worstOf = (row: Row, values: readonly number[]): number =>
  values.reduce((worst, value) => (reaches(row, value, worst) ? worst : value));

/** Three digits say enough of a figure that varies. */
const round = (value: number): string => {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
};
