/** Slow: one example answers on the real clock. */
import { writeFences } from '../../scripts/fences.mjs';

/** Tests in the documents that need what a reader has and we do not. */
const needed: Readonly<Record<string, string>> = { 'session.ndjson': 'a recorded call' };

// The tests that README and docs show are run as they stand there, each under its own name.
const { fences } = writeFences('example-specs');
const tests = fences.filter(({ file, code }) => file.endsWith('.md') && /^(it\(|for \(.*\bit\()/m.test(code));
const runnable = tests.filter(({ code }) => !Object.keys(needed).some((name) => code.includes(`'${name}'`)));
for (const { module } of runnable) await import(new URL(`../../${module}`, import.meta.url).href);

it('finds the tests that README and docs show', () => {
  const counted = (name: string): number => runnable.filter(({ file }) => file === name).length;
  expect([counted('README.md'), counted('docs/testing.md'), counted('docs/voice-detectors.md')]).toEqual([1, 6, 1]);
  expect(counted('docs/custom-providers.md')).toBe(1);
  expect([counted('docs/tutorial/4-provider.md'), counted('docs/tutorial/5-interpreter.md')]).toEqual([1, 1]);
  expect(tests.length - runnable.length).toBe(Object.keys(needed).length);
});
