/**
 * Compiles every `ts` and `tsx` fence of README, docs and TSDoc with the project's own settings. Those that are tests are run by
 * `__tests__/docs/examples.spec.ts`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFences } from './fences.mjs';
import { bin, root, run } from './lib.mjs';

const { fences, refused } = writeFences('examples');
if (refused.length > 0) {
  console.error(refused.join('\n'));
  process.exit(1);
}
// Groq has withdrawn the default model: who copies an example without another one gets a 404.
const modelless = fences.filter(({ code }) => /new (NuLLM|GroqLLM)\(\{(?![^}]*\bmodel\b)/.test(code));
if (modelless.length > 0) {
  console.error(modelless.map(({ file }) => `${file}: name a model that Groq still serves`).join('\n'));
  process.exit(1);
}
const origins = new Map(fences.map(({ module, file }) => [module, file]));
const config = {
  extends: '../tsconfig.json',
  compilerOptions: { rootDir: '..' },
  include: ['examples-*/*.ts', 'examples-*/*.tsx'],
  exclude: [],
};
const project = '.cache/tsconfig.examples.json';
writeFileSync(join(root, project), JSON.stringify(config));
const { code, text } = await run(bin('tsc', '--noEmit', '--pretty', 'false', '-p', project));
// What is wrong elsewhere is told by the step that checks the types of everything.
const faults = text.split(/\n(?=\S)/).filter((fault) => fault.startsWith('.cache/examples-'));
if (code !== 0 && (faults.length > 0 || !text.trim())) {
  console.error(faults.map((fault) => fault.replace(/^[^(]+/, (path) => origins.get(path) ?? path)).join('\n'));
  process.exit(code);
}
console.log(`${origins.size} examples`);
