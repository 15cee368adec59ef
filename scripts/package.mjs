/**
 * Packs what `npm run build` made, installs the tarball in a folder outside the repository as a user would, and runs the
 * checks of `__tests__/package` on it: all, or those whose path has one of the words after the command.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capture, filesBelow, node, root, run } from './lib.mjs';
import { publishedManifest } from './manifest.mjs';

const words = process.argv.slice(2);
const checks = filesBelow('__tests__/package', '.test.mjs').filter(
  (file) => words.length === 0 || words.some((word) => file.includes(word)),
);

const consumer = mkdtempSync(join(tmpdir(), 'rxvoice-consumer-'));
try {
  // What `npm pack` holds, from a folder of its own: others read the repository's package.json at the same time.
  const published = join(consumer, 'published');
  for (const file of ['dist', 'README.md', 'LICENSE'])
    cpSync(join(root, file), join(published, file), { recursive: true });
  writeFileSync(join(published, 'package.json'), publishedManifest());
  const packed = (folder) => {
    const pack = ['npm', 'pack', '--json', '--pack-destination', consumer];
    const [{ filename }] = JSON.parse(capture(pack, { cwd: folder }));
    return join(consumer, filename);
  };
  const tarball = packed(published);
  rmSync(published, { recursive: true });
  // What entries import at once.
  const nats = ['@nats-io/jetstream@^3.4.0', '@nats-io/kv@^3.4.0'];
  const peers = ['rxjs@^7.8.0', 'react@^19.0.0', '@opentelemetry/api@^1.9.0', ...nats];
  writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
  const tarballs = [tarball, packed(join(root, 'create-rxvoice'))];
  capture(['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', ...tarballs, ...peers], {
    cwd: consumer,
  });
  // What a file changes is in folders of its own.
  const { code } = await run(node('--test', '--test-reporter=spec', '--test-concurrency=2', ...checks), {
    live: true,
    env: { RXVOICE_CONSUMER: consumer, RXVOICE_TARBALL: tarball },
  });
  process.exitCode = code;
} finally {
  rmSync(consumer, { recursive: true, force: true });
}
