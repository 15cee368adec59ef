import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Files below a folder of the repository whose name ends so, as paths from the root; none when there is no such folder. */
export function filesBelow(folder, ending) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !/(^|\/)(node_modules|dist|out)\//.test(path) && !path.startsWith('docs/api/'))
    .sort();
}

/** A program of the repository's node_modules, with its arguments. */
export const bin = (name, ...args) => [join(root, 'node_modules/.bin', name), ...args];
export const node = (...args) => [process.execPath, ...args];

/** Runs a command to its end and returns what it printed; throws with that when it fails. */
export function capture([command, ...args], options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

/**
 * Runs a command and resolves to its exit code and what it printed; `live` shows that as it comes. `watch(child)` is
 * called with the running process and returns what ends the watch.
 */
export function run([command, ...args], { live = false, cwd = root, env = {}, watch = () => () => {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    const take = (stream) => (data) => {
      text += data;
      if (live) stream.write(data);
    };
    child.stdout.setEncoding('utf8').on('data', take(process.stdout));
    child.stderr.setEncoding('utf8').on('data', take(process.stderr));
    const unwatch = watch(child);
    child.on('error', (error) => {
      text += `${error.message}\n`;
      resolve({ code: 1, text });
    });
    child.on('close', (code, signal) => {
      unwatch();
      resolve({ code: code ?? (signal ? 1 : 0), text });
    });
  });
}

/** Prints every failure, shortened, right before a run's totals, so that nobody has to search the log. */
export function sayWhatFailed(failures) {
  if (failures.length > 0) console.log('\nWhat failed:');
  for (const { name, text } of failures) {
    const lines = stripVTControlCharacters(text).trim().split('\n');
    console.log(`\n  ${name}`);
    for (const line of lines.slice(0, 40)) console.log(`    ${line.slice(0, 300)}`);
    if (lines.length > 40) console.log(`    … and ${lines.length - 40} lines more`);
  }
}
