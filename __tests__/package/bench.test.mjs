import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/lib.mjs';
import { consumer, manifest } from './consumer.mjs';

test('the benchmarks run in a fresh clone: they build what they measure, and show progress', () => {
  const clone = join(consumer, 'clone');
  mkdirSync(clone);
  for (const folder of ['bench', 'lib', 'tsconfig.json']) {
    cpSync(join(root, folder), join(clone, folder), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  // The package was built for this run already: the clone's build brings it.
  const built = JSON.stringify(join(consumer, 'node_modules/rxvoice/dist'));
  writeFileSync(
    join(clone, 'build.mjs'),
    `import { cpSync } from 'node:fs';\ncpSync(${built}, 'dist', { recursive: true });`,
  );
  const scripts = { ...manifest.scripts, build: 'node build.mjs' };
  writeFileSync(join(clone, 'package.json'), JSON.stringify({ ...manifest, scripts }));
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'bench', '--', '--quick', '--only', 'P22'], {
    cwd: clone,
    encoding: 'utf8',
  });
  // A gate that is missed fails, and nothing else does.
  assert.equal(status, stdout.includes('MISSED') ? 1 : 0, stderr);
  assert.match(stdout, /^P22 +cold import +\S+ ms over rxjs/m);
  assert.match(stderr, /^… P22$/m);
  assert.match(stderr, /^… npm run build/m);
});
