import type { Measured } from '../../bench/harness.ts';
import { ids, rows } from '../../bench/rows.ts';
import { line, readFlags, runSets, sideBySide, summary, type BenchSet, type Outcome } from '../../bench/run.ts';
import { sets } from '../../bench/sets.ts';

const measured = (row: string, value: number): Measured => ({ row, value, detail: 'so many' });

const run = (sets: readonly BenchSet[], ...args: string[]): Promise<Outcome> =>
  runSets(sets, readFlags(args), { began: () => undefined, result: () => undefined });

const set = (...values: readonly Measured[]): BenchSet => ({
  ids: [...new Set(values.map(({ row }) => row.replace(/ .*/, '')))],
  run: () => Promise.resolve(values),
});

describe('the flags of npm run bench', () => {
  it('ask for every benchmark unless they name some', () => {
    expect(readFlags([]).only).toEqual(ids);
    expect(readFlags(['--only', 'P1,P17']).only).toEqual(['P1', 'P17']);
  });

  it('say what there is when they name a benchmark that there is not', () => {
    expect(() => readFlags(['--only', 'P1,P99'])).toThrow(`there is no P99. There are ${ids.join(', ')}`);
    expect(() => readFlags(['--only', ''])).toThrow('There are P1, P2, P4');
  });

  it('are refused when there is no such flag, or when two disturb each other', () => {
    expect(() => readFlags(['--fast'])).toThrow('--fast');
    expect(() => readFlags(['--profile', '--heap-profile'])).toThrow('one at a time');
    expect(() => readFlags(['--write', '--profile'])).toThrow('do not count');
  });
});

describe('a run of the benchmarks', () => {
  it('passes when every gate of what was asked for holds', async () => {
    const outcome = await run([set(measured('P1', 1.5)), set(measured('P17', 0))], '--only', 'P1,P17');
    expect(outcome.results.map(({ id, verdict }) => [id, verdict])).toEqual([
      ['P1', 'gate'],
      ['P17', 'goal'],
    ]);
    expect(summary(outcome)).toEqual({ lines: ['2 passed, 0 failed'], passes: true });
  });

  for (const [what, row, value] of [
    ['one that must be reached', 'P1', 1.49],
    ['one that must not be exceeded', 'P17', 1],
    ['one whose value is none', 'P22', NaN],
  ] as const) {
    it(`fails when a gate is missed: ${what}`, async () => {
      const outcome = await run([set(measured(row, value))], '--only', row);
      expect(summary(outcome)).toEqual({ lines: ['0 passed, 1 failed'], passes: false });
      expect(outcome.results.map(line)).toEqual([expect.stringContaining('MISSED')]);
    });
  }

  it('does not fail for a goal of a row without a gate, and does not call it reached', async () => {
    const outcome = await run([set(measured('P8 speech', 1), measured('P8 strict', 0.1))], '--only', 'P8');
    expect(outcome.results.map(({ verdict }) => verdict)).toEqual(['goal', 'below']);
    expect(summary(outcome).passes).toBe(true);
  });

  it('fails when the value of a row without a gate is none', async () => {
    const outcome = await run([set(measured('P8 speech', 1), measured('P8 strict', NaN))], '--only', 'P8');
    expect(summary(outcome).passes).toBe(false);
  });

  it('fails when a row that was asked for is not measured', async () => {
    const outcome = await run([set(measured('P24 heap', 1), measured('P24 handles', 0))], '--only', 'P24,P23');
    expect(outcome.unmeasured).toEqual(['P23: no benchmark brought it', 'P24 subscriptions: no benchmark brought it']);
    expect(summary(outcome).passes).toBe(false);
  });

  it('goes on after a benchmark that cannot run, and says why it could not', async () => {
    const broken: BenchSet = { ids: ['P1'], run: () => Promise.reject(new Error('no alawmulaw')) };
    const outcome = await run([broken, set(measured('P17', 0))], '--only', 'P1,P17');
    expect(outcome.results.map(({ id }) => id)).toEqual(['P17']);
    expect(summary(outcome)).toEqual({
      lines: ['NOT MEASURED P1: no alawmulaw', '1 passed, 1 failed'],
      passes: false,
    });
  });

  it('runs nothing, and shows nothing, that was not asked for', async () => {
    const never: BenchSet = { ids: ['P9'], run: () => Promise.reject(new Error('nobody asked')) };
    const outcome = await run([never, set(measured('P12 p50', 1), measured('P15 told p50', 9))], '--only', 'P12');
    expect(outcome.results.map(({ key }) => key)).toEqual(['P12 p50']);
    expect(outcome.unmeasured).toEqual(['P12 p99: no benchmark brought it']);
  });

  it('refuses a value of no row', async () => {
    const outcome = await run([{ ids: ['P1'], run: () => Promise.resolve([measured('P1b', 9)]) }], '--only', 'P1');
    expect(outcome.unmeasured).toEqual(['P1: P1b is measured, and no row of bench/rows.ts']);
  });

  it('shows floor, peer and library side by side', async () => {
    const figures = { floor: 1, peer: 1.8, rxvoice: 2.5 };
    const compared = { ...measured('P9', 2.5), figures, figuresUnit: 'CPU ms' };
    const { results } = await run([set(compared, measured('P1', 2))], '--only', 'P9,P1');
    const [head = '', ...lines] = sideBySide(results);
    expect(head.trim().split(/ +/)).toEqual(['floor', 'peer', 'rxvoice']);
    expect(lines.map((each) => each.trim())).toEqual([expect.stringMatching(/^P9 .* 1\.00 +1\.80 +2\.50 {2}CPU ms$/)]);
  });

  it('takes a value of every row', async () => {
    const all = rows.map(({ key, goal, gate }) => measured(key, goal ?? gate ?? NaN));
    expect(summary(await run([set(...all)]))).toEqual({ lines: [`${rows.length} passed, 0 failed`], passes: true });
  });

  it('has one set for each benchmark', () => {
    const brought = sets.flatMap((each) => each.ids);
    expect([...brought].sort()).toEqual([...ids].sort());
  });
});
