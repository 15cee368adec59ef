/**
 * Installs the folders named, each by its own lockfile, unless what they hold is already what the lockfile says.
 * Packages that only some tests need live in folders of their own, so that `npm ci` stays light.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { capture, root } from './lib.mjs';

for (const folder of process.argv.slice(2)) {
  const hash = createHash('sha256')
    .update(readFileSync(join(root, folder, 'package-lock.json')))
    .digest('hex');
  const mark = join(root, folder, 'node_modules/.installed');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) continue;
  console.log(`Installing ${folder}`);
  capture(['npm', 'ci', '--prefix', folder, '--no-audit', '--no-fund']);
  writeFileSync(mark, hash);
}
