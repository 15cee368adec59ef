import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { bin, root } from '../../scripts/lib.mjs';

/** The folder in which `scripts/package.mjs` installed the tarball. */
export const consumer = process.env.RXVOICE_CONSUMER ?? '';
export const tarball = process.env.RXVOICE_TARBALL ?? '';
if (!consumer) throw new Error('These checks run on the packed tarball: npm run package');

export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** `deepgram`, `openai`, …: an entry for each vendor. */
export const vendors = readdirSync(join(root, 'lib/vendors')).map((file) => file.replace('.ts', ''));

/** The files of a target: one, or one for each vendor. */
export const filesOf = (target) =>
  target.includes('*') ? vendors.map((vendor) => target.replace('*', vendor)) : [target];

/** `rxvoice`, `rxvoice/operators`, `rxvoice/deepgram`, …: what a user can import. */
export const entries = Object.keys(manifest.exports)
  .filter((entry) => !/\.js(on)?$/.test(entry))
  .flatMap((entry) => (entry === './*' ? vendors.map((vendor) => `./${vendor}`) : entry))
  .map((entry) => `rxvoice${entry.slice(1)}`);

/** Where `__tests__/package` has the frameworks and bundlers. */
export const tools = join(root, '__tests__/package/node_modules');

/**
 * A project of a user beside the installed package, with its files and the packages that it needs besides; returns its
 * folder. The packages are links: a framework takes longer to install than to run.
 */
export function project(name, packages, files) {
  const folder = join(consumer, name);
  for (const each of packages) {
    const link = join(folder, 'node_modules', each);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(tools, each), link);
  }
  for (const [file, text] of Object.entries({ 'package.json': '{"private":true}', ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

/** Starts the sandbox, which speaks the vendors' wires; returns its address and what stops it. */
export async function startSandbox() {
  const [command, ...parameters] = bin('tsx', '--conditions=rxvoice-source', 'samples/sandbox/main.ts', '--port', '0');
  const sandbox = spawn(command, parameters, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(sandbox.stdout), 'line');
  return { url: /http:\S+\d/.exec(line)[0], stop: () => sandbox.kill() };
}

/** The code of a guide, by the name of the file with which it begins. */
export const printedIn = (guide) =>
  Object.fromEntries(
    [...readFileSync(join(root, guide), 'utf8').matchAll(/^```\w+\n(.*\n[^]*?)^```$/gm)]
      .map(([, code]) => [/^(?:\/\/|<!--) ([\w./[\]]+)/.exec(code)?.[1], code])
      .filter(([name]) => name !== undefined),
  );
