import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('../../', import.meta.url);

/**
 * A program as JavaScript, as the package is shipped: what runs TypeScript for developers adds work to every function.
 *
 * @returns The path of the built file.
 */
export async function buildProgram(script: URL): Promise<string> {
  const outfile = fileURLToPath(new URL(`node_modules/.cache/bench/${basename(script.pathname, '.ts')}.mjs`, root));
  const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Record<string, object>;
  const external = ['dependencies', 'peerDependencies'].flatMap((kind) => Object.keys(manifest[kind] ?? {}));
  await build({
    ...{ entryPoints: [fileURLToPath(script)], outfile, external, bundle: true, logLevel: 'error' },
    ...{ platform: 'node', format: 'esm', target: 'node20', conditions: ['rxvoice-source'] },
    // esbuild would build them anew at each use.
    supported: { 'regexp-unicode-property-escapes': true },
  });
  return outfile;
}
