/**
 * Lets the spec files that Jest runs also run under `node --test` and `deno test`: the test functions of `node:test` and
 * Jest's own `expect` become globals.
 */
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { format } from 'node:util';
import { expect } from 'expect';

/** Jest's `it.each` and `describe.each`: one a row, whose values fill the `%s`, `%d`, `%i` and `%j` of the title. */
const each =
  (define: (title: string, body: () => unknown) => unknown) =>
  (rows: readonly unknown[]) =>
  (title: string, body: (...values: unknown[]) => unknown): void => {
    const places = title.match(/%[sdij]/g)?.length ?? 0;
    for (const row of rows) {
      const values: unknown[] = Array.isArray(row) ? row : [row];
      void define(format(title, ...values.slice(0, places)), () => body(...values));
    }
  };

Object.assign(it, {
  each: each((title, test) =>
    it(title, async () => {
      await test();
    }),
  ),
});
Object.assign(describe, { each: each((title, body) => describe(title, () => void body())) });
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
