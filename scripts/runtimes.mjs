/**
 * Runs the spec files that Jest runs on Node 20 under Bun, Deno and a newer Node, from the source, side by side.
 * `npm run runtimes -- bun` runs one of them; a path after it runs that spec alone.
 *
 * A runtime runs the specs in two processes: to load the library for each would take longer than the specs, and while one
 * waits for a socket or a timer, the other goes on.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bin, capture, filesBelow, root, run, sayWhatFailed } from './lib.mjs';

const condition = '--conditions=rxvoice-source';
const globals = './__tests__/runtimes/globals.ts';

/** Folders whose specs belong to one environment, and a spec about Jest's own timers. */
const elsewhere = /^__tests__\/(?:(?:bench|browser|package|sdk)\/|testing\/fake-timers\.)/;
/** Takes WebAssembly away: it has a process of its own. */
const alone = '__tests__/audio/resampler-plain.spec.ts';

/** Brings each runtime, and gives its command for some files. */
const runtimes = {
  bun: () => (files) => bin('bun', condition, 'test', '--timeout=30000', ...files.map((file) => `./${file}`)),
  deno: () => (files) => bin('deno', 'test', '-A', '--no-check', condition, '--preload', globals, together(files)),
  node24: () => {
    const path = capture(['npm', 'exec', '--yes', '--package=node@24', '--', 'node', '-p', 'process.execPath']).trim();
    const options = [condition, '--import', globals, '--test', '--test-isolation=none', '--test-reporter=spec'];
    return (files) => [path, ...options, ...files];
  },
};

/**
 * A file that imports all of them: Deno has a process for each file that it is given. It runs the tests that there are by
 * the time an import fails, and calls that a success: a test of its own notices.
 */
function together(files) {
  const folder = join(root, '.cache/runtimes');
  const path = join(folder, `${files.length}-from-${basename(files[0])}`);
  mkdirSync(folder, { recursive: true });
  const lines = [
    'let loaded = 0;',
    `Deno.test('all spec files are loaded', () => {`,
    `  if (loaded !== ${files.length}) throw new Error(\`only \${loaded} of ${files.length} are\`);`,
    '});',
    ...files.map((file) => `await import(${JSON.stringify(join(root, file))});\nloaded++;`),
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

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
  const whole = { name, text: '', passed: 0, failed: 0, seconds: 0 };
  const commandOf = runtimes[name]();
  const others = files.filter((file) => file !== alone);
  const groups = [
    ...[0, 1].map((half) => others.filter((_, at) => at % 2 === half)),
    files.filter((file) => file === alone),
  ];
  const performGroup = async (group) => {
    const options = { live: isLive, env: { NO_COLOR: '1' }, watch: endsWithin(limitMs) };
    const { code, text } = await run(commandOf(group), options);
    const { passed, failed } = count(text);
    whole.text += text;
    whole.passed += passed;
    whole.failed += code !== 0 || passed === 0 ? Math.max(1, failed) : failed;
  };
  await Promise.all(groups.filter(({ length }) => length > 0).map(performGroup));
  if (!isLive) console.log(`\n=== ${name}\n${whole.text.trimEnd()}`);
  results.push({ ...whole, seconds: (performance.now() - startedAt) / 1000 });
}

await Promise.all(wanted.map(perform));

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
