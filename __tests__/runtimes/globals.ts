/**
 * Lets the spec files that Jest runs also run under `node --test` and `deno test`: the test functions of `node:test` and
 * Jest's own `expect` become globals.
 */
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { format } from 'node:util';
import { expect } from 'expect';

/** Jest's `it.each`: one test a row, whose values fill the `%s`, `%d` and `%j` of the title. */
const each =
  (rows: readonly unknown[]) =>
  (title: string, test: (...values: unknown[]) => unknown): void => {
    const places = title.match(/%[sdj]/g)?.length ?? 0;
    for (const row of rows) {
      const values: unknown[] = Array.isArray(row) ? row : [row];
      void it(format(title, ...values.slice(0, places)), async () => {
        await test(...values);
      });
    }
  };

Object.assign(it, { each });
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
