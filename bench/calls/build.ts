import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('../../', import.meta.url);

/**
 * A program as JavaScript, as the package is shipped: what runs TypeScript for developers adds work to every function.
 *
 * @param mapped - Whether a source map stands beside it, for a profile.
 * @returns The path of the built file.
 */
export async function buildProgram(script: URL, mapped: boolean = false): Promise<string> {
  const path = fileURLToPath(script);
  // Two programs of one name, such as a peer's, don't meet.
  const folder = path.startsWith(fileURLToPath(root)) ? basename(fileURLToPath(new URL('.', script))) : 'peer';
  const outfile = fileURLToPath(new URL(`.cache/bench/${folder}/${basename(path, '.ts')}.mjs`, root));
  const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Record<string, object>;
  const external = ['dependencies', 'peerDependencies'].flatMap((kind) => Object.keys(manifest[kind] ?? {}));
  const { outputFiles } = await build({
    write: false,
    ...{ entryPoints: [path], outfile, external, bundle: true, logLevel: 'error', sourcemap: mapped },
    ...{ platform: 'node', format: 'esm', target: 'node20', conditions: ['rxvoice-source'] },
    // esbuild would build them anew at each use.
    supported: { 'regexp-unicode-property-escapes': true },
  });
  await mkdir(dirname(outfile), { recursive: true });
  for (const file of outputFiles) {
    // Put in place whole: another process may be about to start it.
    const part = `${file.path}.${crypto.randomUUID()}`;
    await writeFile(part, file.contents);
    await rename(part, file.path);
  }
  return outfile;
}
