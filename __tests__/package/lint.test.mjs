import { test } from 'node:test';
import { bin, capture } from '../../scripts/lib.mjs';
import { tarball } from './consumer.mjs';

test('publint finds nothing to improve in the tarball', () => {
  capture(bin('publint', '--strict', tarball));
});

test('types resolve the same way as code, from ES modules, CommonJS and bundlers (attw)', () => {
  capture(bin('attw', tarball, '--profile', 'node16'));
});
