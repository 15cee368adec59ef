/**
 * The package.json that users get: without the condition of the repository's own sources, which are not in the package,
 * and without what only the repository runs. `npm pack` and `npm publish` put it in place (`publish`) and take it away
 * again (`restore`).
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './lib.mjs';

const manifest = join(root, 'package.json');
const original = join(root, '.package.json.original');

const ofTheRepository = ['rxvoice-source', 'scripts', 'devDependencies', 'overrides', 'allowScripts'];

/** The published manifest, as text. */
export function publishedManifest() {
  const published = { ...JSON.parse(readFileSync(manifest, 'utf8')), sideEffects: false };
  return `${JSON.stringify(published, (key, value) => (ofTheRepository.includes(key) ? undefined : value), 2)}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  // An original that is still there is of a run that was stopped.
  if (existsSync(original)) renameSync(original, manifest);
  if (process.argv[2] === 'publish') {
    const published = publishedManifest();
    renameSync(manifest, original);
    writeFileSync(manifest, published);
  }
}
