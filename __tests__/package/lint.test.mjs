import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, capture } from '../../scripts/lib.mjs';
import { consumer, tarball } from './consumer.mjs';

test('publint finds nothing to improve in the tarball', () => {
  capture(bin('publint', '--strict', tarball));
});

test('types resolve the same way as code, from ES modules, CommonJS and bundlers (attw)', () => {
  // Into a file: attw exits before a pipe has taken a long report.
  const report = join(consumer, 'attw.json');
  const [command, ...args] = bin(
    'attw',
    tarball,
    '--profile',
    'node16',
    '--exclude-entrypoints',
    './worklets.js',
    '--format',
    'json',
  );
  spawnSync(command, args, { stdio: ['ignore', openSync(report, 'w'), 'inherit'] });
  const { problems } = JSON.parse(readFileSync(report, 'utf8')).analysis;
  // The profile leaves node10 out, attw's exit code does not: its resolution knows no import conditions.
  const counted = problems.filter(
    ({ resolutionKind, resolutionOption }) => (resolutionKind ?? resolutionOption) !== 'node10',
  );
  assert.deepEqual(counted, []);
});
