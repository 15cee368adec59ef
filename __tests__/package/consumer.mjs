import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/lib.mjs';

/** The folder in which `scripts/package.mjs` installed the tarball. */
export const consumer = process.env.RXVOICE_CONSUMER ?? '';
export const tarball = process.env.RXVOICE_TARBALL ?? '';
if (!consumer) throw new Error('These checks run on the packed tarball: npm run package');

export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** `rxvoice`, `rxvoice/operators`, …: what a user can import. */
export const entries = Object.keys(manifest.exports)
  .filter((entry) => !/\.js(on)?$/.test(entry))
  .map((entry) => `rxvoice${entry.slice(1)}`);
