/**
 * Lets the spec files that Jest runs also run under `node --test` and `deno test`: the test functions of `node:test` and
 * Jest's own `expect` become globals.
 */
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { expect } from 'expect';

Object.assign(globalThis, {
  describe,
  it,
  test: it,
  beforeAll: before,
  afterAll: after,
  beforeEach,
  afterEach,
  expect,
});
