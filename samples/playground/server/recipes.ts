import { readdir, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { Kit } from '../../recipes/kit.ts';
import { startSandbox } from '../../sandbox/index.ts';

const folder = new URL('../../recipes/', import.meta.url);
const guides = 'https://github.com/rxvoice/rxvoice/blob/main/docs/';

/** A feature that the page can have run. */
export interface RecipeEntry {
  /** Its file, without the ending: `03-guardrails`. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** The guide. */
  readonly docs: string;
  readonly source: string;
}

/** The recipes, as the README of their folder has them. */
export async function recipeList(): Promise<RecipeEntry[]> {
  const files = (await readdir(folder)).filter((file) => /^\d.*\.ts$/.test(file)).sort();
  const readme = await readFile(new URL('README.md', folder), 'utf8');
  return Promise.all(
    files.map(async (file) => {
      const row = readme.split('\n').find((line) => line.startsWith(`| \`${file}\``)) ?? '';
      const [, title = file, path = '', rest = ''] = /\[(.*?)\]\(\.\.\/\.\.\/docs\/(.*?)\)(.*?)\s*\|$/.exec(row) ?? [];
      return {
        name: file.slice(0, -3),
        title,
        about: rest.replace(/^:\s*/, '').trim(),
        docs: guides + path,
        source: await readFile(new URL(file, folder), 'utf8'),
      };
    }),
  );
}

let isRunning = false;

/** Runs a recipe on a sandbox of its own, and writes its lines as they come; one at a time. */
export async function runRecipe(name: string, response: ServerResponse): Promise<void> {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
  const names = (await recipeList()).map((entry) => entry.name);
  if (!names.includes(name)) {
    response.writeHead(404, headers).end('There is no such recipe\n');
    return;
  }
  if (isRunning) {
    response.writeHead(409, headers).end('Another one is running: wait for its end\n');
    return;
  }
  isRunning = true;
  response.writeHead(200, headers);
  response.flushHeaders();
  try {
    const { recipe } = (await import(new URL(`${name}.ts`, folder).href)) as { recipe: (kit: Kit) => Promise<void> };
    await using sandbox = await startSandbox();
    using kit = new Kit(sandbox, (line) => void response.write(`${line}\n`));
    await recipe(kit);
  } catch (error) {
    response.write(`It failed: ${error instanceof Error ? error.message : String(error)}\n`);
  } finally {
    isRunning = false;
    response.end();
  }
}
