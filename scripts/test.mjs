/**
 * `npm test`: everything. Runs each step, shows what failed, ends with the sum of all checks and
 * the exit code of the first step that failed. `npm test -- lint types` runs only the steps named.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bringChromium } from './chromium.mjs';
import { bin, node, root, run } from './lib.mjs';

const jestReport = join(root, '.cache/jest.json');
const jest = (...args) =>
  node(
    ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'],
    ...['--json', `--outputFile=${jestReport}`, ...args],
  );

const steps = [
  { name: 'install', command: node('scripts/install.mjs', '__tests__/sdk', '__tests__/package') },
  { name: 'lint', command: bin('eslint', '.') },
  { name: 'format', command: bin('prettier', '--check', '.') },
  { name: 'types', command: bin('tsc', '--noEmit') },
  { name: 'links', command: node('scripts/check-links.mjs') },
  { name: 'examples', command: node('scripts/check-examples.mjs') },
  { name: 'docs', command: node('scripts/check-docs.mjs') },
  { name: 'jest', command: jest(), again: true, live: true, watch: endsByItself, count: countJest },
  {
    name: 'browser',
    again: true,
    command: jest('--maxWorkers=1', '__tests__/browser'),
    env: chromiumEnv,
    live: true,
    watch: endsByItself,
    count: countJest,
  },
  { name: 'build', command: bin('rollup', '-c', 'rollup.config.mjs') },
  { name: 'size', command: node('scripts/size.mjs'), needs: 'build', count: countRows },
  { name: 'package', command: node('scripts/package.mjs'), needs: 'build', live: true, count: countNodeTest },
];

/** Where the browser is; a string says why there is none. */
function chromiumEnv() {
  const path = bringChromium();
  if (path !== undefined) return { RXVOICE_BROWSER: '1', RXVOICE_CHROMIUM: path };
  return 'there is no Chromium: apt-get install chromium (or set RXVOICE_CHROMIUM), then npm test -- browser';
}

/** Jest waits for ever for a socket or timer that a test left behind: such a run is a failure, not a pass. */
function endsByItself(child) {
  const graceMs = 5000;
  rmSync(jestReport, { force: true });
  let kill;
  const poll = setInterval(() => {
    if (!existsSync(jestReport)) return;
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

function countJest({ text }) {
  if (!existsSync(jestReport)) return { passed: 0, failed: 1 };
  const report = JSON.parse(readFileSync(jestReport, 'utf8'));
  const leaks = text.includes('A worker process has failed to exit gracefully') ? 1 : 0;
  // The tests' credentials begin so: none may show in anything that they print (RELIABILITY.md, F50).
  const shown = text.includes('canary-') ? 1 : 0;
  if (shown) console.error('A credential of the tests stands in their output: search it for "canary-".');
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + report.numRuntimeErrorTestSuites + leaks + shown,
  };
}

function countRows({ text }) {
  const [, passed = 0, failed = 0] = /^(\d+) passed, (\d+) failed$/m.exec(text) ?? [];
  return { passed: Number(passed), failed: Number(failed) };
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
for (const step of steps.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  if (results.some(({ name, ok }) => name === step.needs && !ok)) {
    console.log(`- ${step.name} waits for ${step.needs}`);
    continue;
  }
  const env = step.env?.() ?? {};
  // What cannot run here is said and left out; in CI it is a failure.
  if (typeof env === 'string' && !process.env.CI) {
    console.log(`- ${step.name} is left out: ${env}`);
    continue;
  }
  if (step.live) console.log(`… ${step.name}`);
  const startedAt = performance.now();
  const attempt = async (command) => {
    const result = typeof env === 'string' ? { code: 1, text: `${env}\n` } : await run(command, { ...step, env });
    const counts = step.count?.(result) ?? { passed: result.code === 0 ? 1 : 0, failed: 0 };
    return { result, counts, ok: result.code === 0 && counts.failed === 0 };
  };
  let { result, counts, ok } = await attempt(step.command);
  if (counts.failed > 0 && step.again && process.env.CI) {
    console.log(`✗ ${step.name}: ${counts.failed} failed; once more, for real time on a busy machine`);
    const second = await attempt([...step.command, '--onlyFailures']);
    const { failed } = second.counts;
    counts = { passed: counts.passed + counts.failed - failed, failed };
    ({ result, ok } = second);
  }
  // A runner that fails without a failed test (it crashed, it hung) counts as one.
  if (!ok && counts.failed === 0) counts.failed = 1;
  if (!ok && !step.live) process.stderr.write(result.text);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  results.push({ name: step.name, ok, code: result.code || 1, seconds, ...counts });
  console.log(`${ok ? '✓' : '✗'} ${step.name} (${seconds} s)`);
}

console.log();
for (const { ok, name, seconds, passed, failed } of results) {
  console.log(`${ok ? '✓' : '✗'} ${name.padEnd(10)} ${seconds.padStart(6)} s  ${passed} passed, ${failed} failed`);
}
const sum = (key) => results.reduce((total, result) => total + result[key], 0);
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = results.find(({ ok }) => !ok)?.code ?? 0;
