/**
 * README, docs and samples recommend models that live: whoever copies an example must not be told with its first run that
 * its model retires.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { retirementOf } from '../../lib/core/retirement.ts';
import * as table from '../../lib/providers/retiring.ts';
import { writeFences } from '../../scripts/fences.mjs';

const root = new URL('../..', import.meta.url).pathname;
const retiring = Object.values(table).flat();

/** Quoted words of code that are models which retire, but for those of comments. */
function goneIn(code: string): string[] {
  const text = code.replace(/^\s*(\/\/|\*|\/\*).*$/gm, '');
  return [...text.matchAll(/(['"`])([\w./:-]+)\1/g)]
    .map(([, , word = '']) => word)
    .filter((word) => retirementOf(word.replace(/^\w+\//, ''), retiring) !== undefined);
}

it('knows a model that retires where it reads one', () => {
  expect(goneIn(`new ThetaLLM({ model: 'gpt-5-mini' }); write('openai/gpt-5');\n// 'gpt-5'`)).toEqual([
    'gpt-5-mini',
    'openai/gpt-5',
  ]);
  expect(goneIn(`new ThetaLLM({ model: 'gpt-5.4-mini' })`)).toEqual([]);
});

it('Models retire: the examples of README, docs and TSDoc use none of those', () => {
  const { fences } = writeFences('living-models');
  expect(fences.length).toBeGreaterThan(100);
  const gone = fences.flatMap(({ file, line, code }) => goneIn(code).map((model) => `${file}:${line} ${model}`));
  expect(gone).toEqual([]);
});

it('Models retire: the samples, and what npm create makes, use none of those', () => {
  const files = ['samples', 'create-rxvoice'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|tsx|mjs|js|html)$/.test(name) && !/node_modules|sandbox|dist/.test(name))
      .map((name) => join(folder, name)),
  );
  expect(files.length).toBeGreaterThan(20);
  const gone = files.flatMap((file) =>
    goneIn(readFileSync(join(root, file), 'utf8')).map((model) => `${file} ${model}`),
  );
  expect(gone).toEqual([]);
});
