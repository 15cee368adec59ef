import { parseArgs } from 'node:util';
import { reaches, type BenchOptions, type Contender, type Figures, type Measured } from './harness.ts';
import { ids, rows, type Row } from './rows.ts';

/** Benchmarks that are measured together. */
export interface BenchSet {
  /** Those that it brings. */
  readonly ids: readonly string[];
  readonly run: (options: BenchOptions) => Promise<readonly Measured[]>;
}

/** What the command line asks for. */
export interface BenchFlags extends BenchOptions {
  readonly json: boolean;
  readonly gates: boolean;
  /** The benchmarks that are asked for. */
  readonly only: readonly string[];
  /** Writes the figures into docs/performance.md. */
  readonly write: boolean;
  readonly profile: boolean;
  readonly heapProfile: boolean;
}

/** A row with what was measured: what `--json` prints. */
export interface Result extends Row, Omit<Measured, 'row' | 'of'> {
  /** The goal is reached; the gate holds; it does not; or there is no gate, and the goal is not reached. */
  readonly verdict: 'goal' | 'gate' | 'missed' | 'below';
}

/** What a run came to. */
export interface Outcome {
  readonly results: readonly Result[];
  /** Rows that were asked for and not measured, and why. */
  readonly unmeasured: readonly string[];
}

/**
 * Reads the command line.
 *
 * @throws Error that says what there is, for a flag or a benchmark that there is not.
 */
export function readFlags(args: readonly string[]): BenchFlags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      gates: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      'heap-profile': { type: 'boolean', default: false },
      only: { type: 'string' },
      peer: { type: 'string' },
    },
  });
  const only = values.only?.split(',').map((id) => id.trim()) ?? ids;
  const unknown = only.filter((id) => !ids.includes(id));
  if (unknown.length > 0) throw new Error(`--only: there is no ${unknown.join(', ')}. There are ${ids.join(', ')}`);
  const { json, gates, quick, write, profile, 'heap-profile': heapProfile, peer } = values;
  if (profile && heapProfile) throw new Error('--profile and --heap-profile disturb each other: one at a time');
  if (write && (profile || heapProfile)) throw new Error('--write: recording costs time, its figures do not count');
  return { json, gates, quick, write, profile, heapProfile, only, peer };
}

/** Runs the sets that bring what is asked for, and tells each result as it comes. */
export async function runSets(
  sets: readonly BenchSet[],
  flags: Pick<BenchFlags, 'only' | 'quick' | 'peer'>,
  tell: { readonly began: (set: BenchSet) => void; readonly result: (result: Result) => void },
): Promise<Outcome> {
  const results: Result[] = [];
  const reasons = new Map<string, string>();
  for (const set of sets.filter((each) => each.ids.some((id) => flags.only.includes(id)))) {
    tell.began(set);
    try {
      for (const measured of await set.run(flags)) {
        const result = resultOf(measured);
        if (!flags.only.includes(result.id)) continue;
        results.push(result);
        tell.result(result);
      }
    } catch (error) {
      // The others are still worth their figures.
      for (const id of set.ids) reasons.set(id, error instanceof Error ? error.message : String(error));
    }
  }
  const missing = rows.filter(({ id, key }) => flags.only.includes(id) && !results.some((each) => each.key === key));
  return {
    results,
    unmeasured: missing.map(({ id, key }) => `${key}: ${reasons.get(id) ?? 'no benchmark brought it'}`),
  };
}

function resultOf({ row: key, of, value, ...rest }: Measured): Result {
  const row = rows.find((each) => each.key === key);
  if (!row) throw new Error(`${key} is measured, and no row of bench/rows.ts`);
  const { gate, goal, name } = row;
  // No limit holds a value that is none.
  const gateHolds = !Number.isNaN(value) && reaches(row, value, gate);
  const verdict = (): Result['verdict'] => {
    if (!gateHolds) return 'missed';
    if (reaches(row, value, goal)) return 'goal';
    return gate === undefined ? 'below' : 'gate';
  };
  return { ...row, ...rest, name: of === undefined ? name : `${of}: ${name}`, value, verdict: verdict() };
}

/** The lines at the end of a run, and whether it passes: every gate holds, and every row that was asked for is measured. */
export function summary({ results, unmeasured }: Outcome): { readonly lines: string[]; readonly passes: boolean } {
  const missed = results.filter(({ verdict }) => verdict === 'missed');
  const failed = missed.length + unmeasured.length;
  return {
    lines: [
      ...unmeasured.map((each) => `NOT MEASURED ${each}`),
      `${results.length - missed.length} passed, ${failed} failed`,
    ],
    passes: failed === 0,
  };
}

/** One result as a line. */
export function line(result: Result): string {
  const { id, name, against, verdict, detail } = result;
  const figure = `${result.value.toFixed(2)} ${result.unit}`;
  const word = verdict === 'missed' ? 'MISSED' : verdict;
  const limits = `gate ${result.gate ?? 'none'}, goal ${result.goal ?? 'none'}`;
  const what = against === 'absolute' ? limits : `to ${against}: ${limits}`;
  return `${id.padEnd(5)} ${name.padEnd(52)} ${figure.padEnd(28)} ${word.padEnd(6)} ${what}  (${detail})`;
}

const contenders: readonly Contender[] = ['floor', 'peer', 'rxvoice'];

/** Floor, peer and library side by side, for the rows that have absolute figures of more than one. */
export function sideBySide(results: readonly Result[]): string[] {
  const compared = results.filter(({ figures = {} }) => Object.keys(figures).length > 1);
  if (compared.length === 0) return [];
  const cells = (figures: Figures): string => contenders.map((name) => cell(figures[name])).join('');
  return [
    `${''.padEnd(58)} ${contenders.map((name) => name.padStart(12)).join('')}`,
    ...compared.map(
      ({ id, name, figures = {}, figuresUnit = '' }) =>
        `${id.padEnd(5)} ${name.padEnd(52)} ${cells(figures)}  ${figuresUnit}`,
    ),
  ];
}

const cell = (value: number | undefined): string => (value === undefined ? '–' : value.toFixed(2)).padStart(12);
