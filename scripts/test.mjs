/**
 * `npm test`: everything. Steps that do not need the whole machine run side by side, one for each core; each failed test
 * is a failure. Ends with the sum of all checks and the exit code of the first step that failed. `npm test -- lint types`
 * runs only the steps named.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { bringChromium, bringEngines } from './browsers.mjs';
import { bin, node, root, run, sayWhatFailed } from './lib.mjs';
import { bringNats } from './nats.mjs';

const cores = availableParallelism();
const reportOf = (name) => join(root, `.cache/${name}.json`);
/** What makes much garbage spends less time on it with room for young objects: a compiler a fifth of its time. */
const compiler = (file, ...args) => node('--max-semi-space-size=64', `node_modules/${file}`, ...args);
/** Its workers take the flags over. More room than this takes memory, and saves no more. */
const jest = (name, ...args) =>
  node(
    ...['--max-semi-space-size=32', '--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    ...['node_modules/jest/bin/jest.js', '--json', `--outputFile=${reportOf(name)}`, ...args],
  );

/** The steps, in the order in which they begin; those that `need` others wait. `alone`: the whole machine is its own. */
const steps = [
  { name: 'install', command: node('scripts/install.mjs', '__tests__/sdk', '__tests__/package') },
  // It waits for downloads: a core more is free.
  { name: 'tools', command: node('scripts/tools.mjs'), waits: true },
  { name: 'build', command: compiler('rollup/dist/bin/rollup', '-c', 'rollup.config.mjs') },
  { name: 'lint', command: compiler('eslint/bin/eslint.js', '.'), needs: ['install'] },
  { name: 'package', command: node('scripts/package.mjs'), needs: ['install', 'tools', 'build'], count: countNodeTest },
  { name: 'types', command: compiler('typescript/bin/tsc', '--noEmit'), needs: ['install'] },
  { name: 'format', command: bin('prettier', '--check', '.') },
  { name: 'docs', command: node('scripts/check-docs.mjs') },
  { name: 'examples', command: node('scripts/check-examples.mjs'), needs: ['install'] },
  {
    name: 'tables',
    command: node('--conditions=rxvoice-source', '--import', 'tsx', 'scripts/config-tables.mjs', '--check'),
  },
  { name: 'faults', command: node('scripts/faults.mjs', '--check') },
  { name: 'links', command: node('scripts/check-links.mjs') },
  // More than half of what specs take is waiting for sockets and for sound: two files share a core.
  {
    name: 'jest',
    command: jest('jest', `--maxWorkers=${2 * cores}`),
    // Specs that need it say so where there is none.
    env: () => void bringNats(),
    alone: true,
    watch: endsByItself,
    count: countJest,
  },
  {
    name: 'browser',
    command: jest('browser', `--maxWorkers=${Math.min(2, cores)}`, '__tests__/browser'),
    env: browserEnv,
    alone: true,
    watch: endsByItself,
    count: countJest,
  },
];

/** Where the browser is; a string says why there is none. */
function browserEnv() {
  const path = bringChromium();
  bringEngines();
  if (path !== undefined) return { RXVOICE_BROWSER: '1', RXVOICE_CHROMIUM: path };
  return 'there is no Chromium: apt-get install chromium (or set RXVOICE_CHROMIUM), then npm test -- browser';
}

/** Jest waits for ever for a socket or timer that a test left behind: such a run is a failure, not a pass. */
function endsByItself(child, { name }) {
  const graceMs = 5000;
  rmSync(reportOf(name), { force: true });
  let kill;
  const poll = setInterval(() => {
    if (!existsSync(reportOf(name))) return;
    clearInterval(poll);
    kill = setTimeout(() => {
      console.error(
        `Jest did not exit within ${graceMs} ms: a test left a handle open. npm run unit -- --detectOpenHandles`,
      );
      child.kill('SIGKILL');
    }, graceMs);
  }, 200);
  return () => {
    clearInterval(poll);
    clearTimeout(kill);
  };
}

function countJest({ text }, { name }) {
  if (!existsSync(reportOf(name))) return { passed: 0, failed: 1 };
  const report = JSON.parse(readFileSync(reportOf(name), 'utf8'));
  // The tests' credentials begin so: none may show in anything that they print (docs/faults.md, F50).
  const shown = text.includes('canary-') ? 1 : 0;
  if (shown) console.error('A credential of the tests stands in their output: search it for "canary-".');
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + report.numRuntimeErrorTestSuites + shown,
    failures: [
      ...report.testResults.flatMap(({ message }) => (message ? [message] : [])),
      ...text.split(/^(?=Over \d+ s without a line)/m).slice(1),
    ],
  };
}

function countNodeTest({ text }) {
  const last = (word) => Number([...text.matchAll(new RegExp(`^\\S+ ${word} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0);
  return { passed: last('pass'), failed: last('fail') + last('cancelled') };
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`No step ${unknown.join(', ')}; there are ${steps.map((step) => step.name).join(', ')}.`);
  process.exit(2);
}

mkdirSync(join(root, '.cache'), { recursive: true });
const results = [];
const waiting = steps.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const running = new Set();

/** The next step that may begin now: its turn has come, and what it needs is there. */
function nextStep() {
  if ([...running].some(({ alone }) => alone)) return undefined;
  const isBusy = ({ name }) => [...running, ...waiting].some((step) => step.name === name);
  const step = waiting.find(({ needs = [] }) => !needs.some((name) => isBusy({ name })));
  const busy = [...running].filter(({ waits }) => !waits).length;
  const isFree = step?.alone ? running.size === 0 : step?.waits || busy < cores;
  return isFree ? step : undefined;
}

async function perform(step) {
  const { name, needs = [], watch } = step;
  const missing = results.find((result) => needs.includes(result.name) && !result.ok);
  if (missing) {
    console.log(`- ${name} needs ${missing.name}`);
    return;
  }
  const env = step.env?.() ?? {};
  // What cannot run here is said and left out; in CI it is a failure.
  if (typeof env === 'string' && !process.env.CI) {
    console.log(`- ${name} is left out: ${env}`);
    return;
  }
  if (step.alone) console.log(`… ${name}`);
  const startedAt = performance.now();
  const options = { live: step.alone, env, ...(watch && { watch: (child) => watch(child, step) }) };
  const result = typeof env === 'string' ? { code: 1, text: `${env}\n` } : await run(step.command, options);
  const counts = step.count?.(result, step) ?? { passed: result.code === 0 ? 1 : 0, failed: 0 };
  const ok = result.code === 0 && counts.failed === 0;
  // A runner that fails without a failed test (it crashed, it hung) counts as one.
  if (!ok && counts.failed === 0) counts.failed = 1;
  if (!ok && !step.alone) process.stderr.write(result.text);
  // Every step says at the end of its output what went wrong.
  if (!ok && !counts.failures?.length) counts.failures = [result.text.trimEnd().split('\n').slice(-30).join('\n')];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  results.push({ name, ok, code: result.code || 1, seconds, ...counts });
  console.log(`${ok ? '✓' : '✗'} ${name} (${seconds} s)`);
}

/** Begins what may begin, until nothing waits and nothing runs. */
async function performAll() {
  const begun = [];
  for (let step = nextStep(); step; step = nextStep()) {
    const current = step;
    waiting.splice(waiting.indexOf(current), 1);
    running.add(current);
    begun.push(
      perform(current).then(() => {
        running.delete(current);
        return performAll();
      }),
    );
  }
  await Promise.all(begun);
}

const startedAt = performance.now();
await performAll();
results.sort((a, b) => steps.findIndex(({ name }) => name === a.name) - steps.findIndex(({ name }) => name === b.name));

sayWhatFailed(results.flatMap(({ name, failures = [] }) => failures.map((text) => ({ name, text }))));

console.log();
for (const { ok, name, seconds, passed, failed } of results) {
  console.log(`${ok ? '✓' : '✗'} ${name.padEnd(10)} ${seconds.padStart(6)} s  ${passed} passed, ${failed} failed`);
}
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
console.log(`  ${'all'.padEnd(10)} ${minutes.padStart(6)} min`);
const sum = (key) => results.reduce((total, result) => total + result[key], 0);
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = results.find(({ ok }) => !ok)?.code ?? 0;
