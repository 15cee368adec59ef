import { readdir } from 'node:fs/promises';
import { startSandbox } from '../sandbox/index.ts';
import { Kit } from './kit.ts';

/** A recipe: one file of this folder. */
interface Recipe {
  readonly recipe: (kit: Kit) => Promise<void>;
}

const files = await readdir(new URL('.', import.meta.url));
const names = files.flatMap((file) => /^\d+-(.+)\.ts$/.exec(file)?.[0].slice(0, -3) ?? []).sort();
const [wanted = ''] = process.argv.slice(2);
const name = names.find(
  (each) => each === wanted || each.replace(/^\d+-/, '') === wanted || each.startsWith(`${wanted}-`),
);

if (wanted === '' || name === undefined) {
  process.stdout.write(`npm run recipe -- NAME, one of:\n${names.map((each) => `  ${each}\n`).join('')}`);
  process.exitCode = wanted === '' ? 0 : 1;
} else {
  const { recipe } = (await import(`./${name}.ts`)) as Recipe;
  await using sandbox = await startSandbox();
  using kit = new Kit(sandbox, (line) => void process.stdout.write(`${line}\n`));
  await recipe(kit);
}
