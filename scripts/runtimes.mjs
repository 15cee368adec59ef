/**
 * Runs the spec files that Jest runs on Node 20 under Bun, Deno and a newer Node, from the source, as many runtimes side
 * by side as there are cores. `npm run runtimes -- bun` runs one of them; a path after it runs that spec alone.
 */
import { availableParallelism } from 'node:os';
import { bin, filesBelow, run, sayWhatFailed } from './lib.mjs';

const cores = availableParallelism();

const condition = '--conditions=rxvoice-source';
const globals = './__tests__/runtimes/globals.ts';

/** Folders whose specs belong to one environment. */
const elsewhere = /^__tests__\/(bench|browser|package|sdk)\//;
/** Takes WebAssembly away, and Bun runs all specs in one process. */
const alone = '__tests__/audio/resampler-plain.spec.ts';
const runtimes = {
  bun: {
    command: (files) => [
      ...bin('bun', condition, 'test', '--timeout=30000'),
      ...files.filter((file) => file !== alone).map((file) => `./${file}`),
    ],
  },
  deno: { command: (files) => bin('deno', 'test', '-A', '--no-check', condition, '--preload', globals, ...files) },
  node24: {
    command: (files) => [
      ...['npm', 'exec', '--yes', '--package=node@24', '--', 'node', condition, '--import', globals],
      ...['--test', '--test-reporter=spec', `--test-concurrency=${cores}`, ...files],
    ],
  },
};

const args = process.argv.slice(2);
const named = args.filter((arg) => arg in runtimes);
const paths = args.filter((arg) => !(arg in runtimes));
const files = filesBelow('__tests__', '.spec.ts')
  .filter((file) => !elsewhere.test(file))
  .filter((file) => paths.length === 0 || paths.some((path) => file.includes(path)));

if (files.length === 0) {
  console.error(`No spec file matches ${paths.join(', ')}.`);
  process.exit(2);
}

/** The runner's own totals: Bun says `3 pass`, Deno `3 passed`, Node `pass 3`. */
function count(text) {
  const last = (word) =>
    [...text.matchAll(new RegExp(`(?:^|\\s)(?:(\\d+) ${word}(?:ed)?\\b|${word} (\\d+)$)`, 'gm'))].at(-1);
  const number = (match) => Number(match?.[1] ?? match?.[2] ?? 0);
  return { passed: number(last('pass')), failed: number(last('fail')) };
}

/** A runner's report of its failed tests: Bun prints it before the test's name, Deno and Node at the end. */
function failuresIn(text) {
  const lines = text.split('\n');
  const named = lines.flatMap((line, index) =>
    /^\(fail\)|^error: /.test(line) ? [lines.slice(Math.max(0, index - 25), index + 1).join('\n')] : [],
  );
  const summary = lines.findIndex((line) => /^ ERRORS $|^✖ failing tests:$/.test(line));
  if (summary >= 0) named.push(lines.slice(summary).join('\n'));
  return named.length > 0 ? named : [lines.slice(-30).join('\n')];
}

/** A handle that a test leaves open would keep some runners waiting for ever. */
const limitMs = 1_200_000;
const endsWithin = (ms) => (child) => {
  const timer = setTimeout(() => {
    console.error(`Not finished after ${ms / 1000} s: a test left a handle open, or hangs.`);
    child.kill('SIGKILL');
  }, ms);
  return () => clearTimeout(timer);
};

const wanted = named.length > 0 ? named : Object.keys(runtimes);
const isLive = wanted.length === 1;
const results = [];

async function perform(name) {
  console.log(`\n${name}: ${files.length} spec files`);
  const startedAt = performance.now();
  const { code, text } = await run(runtimes[name].command(files), {
    live: isLive,
    env: { NO_COLOR: '1' },
    watch: endsWithin(limitMs),
  });
  const { passed, failed } = count(text);
  const failedHere = code !== 0 || passed === 0 ? Math.max(1, failed) : failed;
  if (!isLive) console.log(`\n=== ${name}\n${text.trimEnd()}`);
  results.push({ name, text, passed, failed: failedHere, seconds: (performance.now() - startedAt) / 1000 });
}

// Each runs on one core, or little more.
const waiting = [...wanted];
const worker = async () => {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await perform(name);
};
await Promise.all(Array.from({ length: cores }, worker));

sayWhatFailed(
  results
    .filter(({ failed }) => failed > 0)
    .flatMap(({ name, text }) => failuresIn(text).map((failure) => ({ name, text: failure }))),
);
console.log();
for (const { name, passed, failed, seconds } of results)
  console.log(
    `${failed > 0 ? '✗' : '✓'} ${name.padEnd(8)} ${seconds.toFixed(1).padStart(6)} s  ${passed} passed, ${failed} failed`,
  );
const sum = (key) => results.reduce((total, result) => total + result[key], 0);
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') > 0 ? 1 : 0;
