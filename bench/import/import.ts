import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { median, type BenchOptions, type Measured } from '../harness.ts';

/** Figures of P22: medians of whole processes, in milliseconds. */
interface ImportTimes {
  readonly emptyMs: number;
  readonly rxjsMs: number;
  readonly rxvoiceMs: number;
  /** What `import 'rxvoice'` takes beyond `import 'rxjs'`, which it includes. */
  readonly overRxjsMs: number;
}

export const root: string = fileURLToPath(new URL('../..', import.meta.url));
const programs = { empty: '', rxjs: "import 'rxjs';", rxvoice: "import 'rxvoice';" };

/** P22. */
export function run({ quick = false }: BenchOptions = {}): Promise<Measured[]> {
  const { rxjsMs, rxvoiceMs, overRxjsMs } = measureImport(quick ? 7 : 15);
  const detail = `rxvoice ${rxvoiceMs.toFixed(0)} ms, rxjs ${rxjsMs.toFixed(0)} ms`;
  return Promise.resolve([{ row: 'P22', value: overRxjsMs, detail }]);
}

/**
 * Starts Node with nothing, with `import 'rxjs'` and with `import 'rxvoice'` (the built package) in turns:
 * benchmark P22. Builds the package unless it is there.
 *
 * @param rounds - How often each is started; the first start of each is not counted.
 */
function measureImport(rounds: number): ImportTimes {
  buildOnce();
  const times: Record<keyof typeof programs, number[]> = { empty: [], rxjs: [], rxvoice: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of ['empty', 'rxjs', 'rxvoice'] as const) {
      const startedAt = performance.now();
      const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', programs[name]], {
        cwd: root,
        encoding: 'utf8',
        // The bench itself runs on the source; what users import is dist.
        env: { ...process.env, NODE_OPTIONS: '' },
      });
      if (status !== 0) throw new Error(`import of ${name} failed: ${stderr}`);
      if (round > 0) times[name].push(performance.now() - startedAt);
    }
  }
  const [emptyMs, rxjsMs, rxvoiceMs] = [median(times.empty), median(times.rxjs), median(times.rxvoice)];
  return { emptyMs, rxjsMs, rxvoiceMs, overRxjsMs: rxvoiceMs - rxjsMs };
}

/** A fresh clone has no built package. What this prints is progress: figures alone go to standard output. */
export function buildOnce(): void {
  if (existsSync(`${root}/dist/index.js`)) return;
  console.error('… npm run build: there is no built package yet');
  const env = { ...process.env, NODE_OPTIONS: '' };
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: root, env, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('npm run build failed');
}
