// npm run soak -- [--minutes 1] [--calls 16] [--seed 1]
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    calls: { type: 'string', default: String(8 * availableParallelism()) },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
});
const [minutes, calls, seed] = [Number(values.minutes), Number(values.calls), Number(values.seed)];
if (!(minutes > 0 && calls >= 1 && Number.isInteger(seed))) {
  console.error('npm run soak -- [--minutes N] [--calls N] [--seed N]');
  process.exit(2);
}
console.log(`${calls} calls at once for ${minutes} min; again with --seed ${seed}`);

const checks = await soak({ seconds: minutes * 60, calls, seed, log: (line) => console.log(line) });
console.log();
for (const { name, ok, detail, problems } of checks) {
  console.log(`${ok ? '✓' : '✗'} ${name.padEnd(54)} ${detail}`);
  for (const problem of problems) console.log(`    ${problem}`);
}
const trails = checks.flatMap((check) => [...(check.trails ?? [])]);
for (const [call, trail] of trails) {
  mkdirSync('.cache/soak', { recursive: true });
  writeFileSync(`.cache/soak/${seed}-${call}.txt`, `${trail.join('\n')}\n`);
}
if (trails.length > 0) console.log(`\nWhat happened in these calls stands in .cache/soak/${seed}-*.txt`);

const failed = checks.filter(({ ok }) => !ok).length;
console.log(`\n${checks.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
