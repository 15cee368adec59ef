/**
 * Packs what `npm run build` made, installs the tarball in a folder outside the repository as a user would, and runs the
 * checks of `__tests__/package` on it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capture, filesBelow, node, run } from './lib.mjs';

const consumer = mkdtempSync(join(tmpdir(), 'rxvoice-consumer-'));
try {
  const [{ filename }] = JSON.parse(
    capture(['npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', consumer]),
  );
  const tarball = join(consumer, filename);
  writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
  capture(['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', tarball, 'rxjs@^7.8.0', 'react@^19.0.0'], {
    cwd: consumer,
  });
  const { code } = await run(
    node('--test', '--test-reporter=spec', '--test-concurrency=1', ...filesBelow('__tests__/package', '.test.mjs')),
    { live: true, env: { RXVOICE_CONSUMER: consumer, RXVOICE_TARBALL: tarball } },
  );
  process.exitCode = code;
} finally {
  rmSync(consumer, { recursive: true, force: true });
}
