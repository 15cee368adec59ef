import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { bin, capture, run } from '../../scripts/lib.mjs';
import { tarball } from './consumer.mjs';

test('publint finds nothing to improve in the tarball', () => {
  capture(bin('publint', '--strict', tarball));
});

test('types resolve the same way as code, from ES modules, CommonJS and bundlers (attw)', async () => {
  const { text } = await run(bin('attw', tarball, '--profile', 'node16', '--format', 'json'));
  const { problems } = JSON.parse(text).analysis;
  // The profile leaves node10 out, attw's exit code does not: its resolution knows no import conditions.
  const counted = problems.filter(
    ({ resolutionKind, resolutionOption }) => (resolutionKind ?? resolutionOption) !== 'node10',
  );
  assert.deepEqual(counted, []);
});
