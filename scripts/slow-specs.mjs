/**
 * A spec file that takes over five seconds says why, in a line `Slow: …` of its first comment. Prints the slowest files of
 * a Jest report. A file's time varies with its neighbours': one that is silent is named, and fails at twice the limit.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { relative } from 'node:path';
import { root } from './lib.mjs';

const limitMs = 5_000;

/** How many spec files take twice that without a reason; 0 where others keep the machine busy, which is said. */
export function slowSpecs({ testResults }, { load = loadavg()[0] ?? 0, cores = availableParallelism() } = {}) {
  const files = testResults
    .map(({ name, startTime, endTime }) => ({ name, ms: endTime - startTime }))
    .sort((a, b) => b.ms - a.ms);
  const slow = files.filter(({ ms }) => ms > limitMs);
  const hasReason = ({ name }) => /\bSlow: \S/.test(readFileSync(name, 'utf8'));
  const silent = slow.filter((file) => !hasReason(file));
  const line = ({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${relative(root, name)}`;
  if (files.length > 1) console.log(`\nThe slowest specs:\n${files.slice(0, 10).map(line).join('\n')}`);
  if (silent.length === 0) return 0;
  // Jest itself keeps each core busy: more than that is somebody else.
  const isBusy = load > cores + 1;
  console.error(
    `\nOver ${limitMs / 1000} s without a comment \`Slow: <why>\`${isBusy ? ` (load ${load.toFixed(1)}: a warning only)` : ''}:\n` +
      silent.map(line).join('\n'),
  );
  return isBusy ? 0 : silent.filter(({ ms }) => ms > 2 * limitMs).length;
}
