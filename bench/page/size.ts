import { spawnSync } from 'node:child_process';
import type { Measured } from '../harness.ts';
import { buildOnce, root } from '../import/import.ts';

/** A figure of scripts/size.mjs. */
export interface Size {
  readonly name: string;
  readonly bytes: number;
  /** The row of bench/rows.ts that limits it, with its limits in bytes. */
  readonly row?: string;
  readonly gate?: number;
  readonly goal?: number;
}

/** The sizes of P19, P20, P21 and P28, of the built package. */
export function run(): Promise<Measured[]> {
  buildOnce();
  const args = ['--import', 'tsx', 'scripts/size.mjs', '--json', '--limited'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    // What is measured is dist.
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  // With 1 it says that a limit is missed: so does the benchmark.
  if (status !== 0 && status !== 1) throw new Error(`scripts/size.mjs ended with ${status}: ${stderr}`);
  const { rows, faults } = JSON.parse(stdout) as { readonly rows: readonly Size[]; readonly faults: readonly string[] };
  if (faults.length > 0) throw new Error(faults.join('; '));
  return Promise.resolve(largestOf(rows));
}

/** The largest of each row: when that one holds, all do. How many don't stands beside it. */
export function largestOf(sizes: readonly Size[]): Measured[] {
  const limited = [...new Set(sizes.flatMap(({ row }) => row ?? []))];
  return limited.map((row) => {
    const group = sizes.filter((each) => each.row === row);
    const largest = group.reduce((most, each) => (each.bytes > most.bytes ? each : most));
    const beyond = (limit: 'gate' | 'goal'): string => {
      const over = group.filter((each) => each.bytes > (each[limit] ?? Infinity));
      const names = over.map(({ name }) => name.replace(/,? (one more|alone).*/, ''));
      return over.length === 0 ? `all within the ${limit}` : `${over.length} beyond the ${limit}: ${names.join(', ')}`;
    };
    const several = group.length > 1 ? [`of ${group.length}`, beyond('gate'), beyond('goal')] : [];
    return { row, value: largest.bytes / 1000, detail: [largest.name, ...several].join('; ') };
  });
}
