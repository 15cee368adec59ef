import { strict as assert } from 'node:assert';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, capture, node } from '../../scripts/lib.mjs';
import { consumer, entries, filesOf, manifest } from './consumer.mjs';

const npmNode = (version) => ['npm', 'exec', '--yes', `--package=node@${version}`, '--', 'node'];
const runtimes = [
  ['this Node', node()],
  ['Bun', bin('bun')],
  ['Deno', bin('deno', 'run', '-A')],
  ...(process.env.CI ? ['22', '24'].map((version) => [`Node ${version}`, npmNode(version)]) : []),
];

writeFileSync(
  join(consumer, 'same.mjs'),
  `import { strict as assert } from 'node:assert';
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
for (const entry of ${JSON.stringify(entries)}) {
  const imported = await import(entry);
  const required = require(entry);
  // What a runtime adds where it imports a CommonJS file.
  const { default: whole, 'module.exports': _exports, ...named } = imported;
  assert.ok(whole === undefined || whole === required, entry);
  assert.deepEqual(Object.keys(required).sort(), Object.keys(named).sort(), entry);
  for (const name of Object.keys(named)) assert.equal(required[name], named[name], entry + ': ' + name);
}
`,
);
writeFileSync(
  join(consumer, 'require-first.cjs'),
  `const assert = require('node:assert').strict;
const { VoiceError } = require('rxvoice');
import('rxvoice').then((imported) => {
  assert.equal(imported.VoiceError, VoiceError);
  assert(VoiceError.is(new imported.VoiceError('no', { code: 'internal' })));
});
`,
);
// Jest and older bundlers know no `module-sync`: they load the CommonJS files.
const commonjs = Object.values(manifest.exports).flatMap(({ require }) => (require ? filesOf(require.default) : []));
writeFileSync(
  join(consumer, 'commonjs.cjs'),
  `const { join } = require('node:path');
for (const file of ${JSON.stringify(commonjs)}) require(join(__dirname, 'node_modules/rxvoice', file));
`,
);

// RxJS is loaded file by file, as it is needed; and what comes out of it is the application's own.
writeFileSync(
  join(consumer, 'rxjs.cjs'),
  `const assert = require('node:assert').strict;
const { AlphaSTT } = require('rxvoice');
const loaded = Object.keys(require.cache).filter((file) => /[\\\\/]rxjs[\\\\/]/.test(file));
assert(loaded.length > 0 && !loaded.some((file) => /cjs[\\\\/]index\\.js$/.test(file)), loaded.join('\\n'));
const { Observable, map } = require('rxjs');
const { state$ } = new AlphaSTT({ apiKey: 'key' });
assert(state$ instanceof Observable);
assert(state$.pipe(map(String)) instanceof Observable);
`,
);

for (const [name, runtime] of runtimes) {
  for (const [file, what] of [
    ['same.mjs', 'import and require give one module, entry by entry'],
    ['require-first.cjs', 'require before import gives the same classes'],
    ['commonjs.cjs', 'the CommonJS files load'],
    ['rxjs.cjs', "of RxJS it loads what it needs, from the application's copy"],
  ]) {
    test(`${name}: ${what}`, () => {
      capture([...runtime, file], { cwd: consumer });
    });
  }
}

test('every target of the import conditions is in the tarball', () => {
  const installed = JSON.parse(readFileSync(join(consumer, 'node_modules/rxvoice/package.json'), 'utf8'));
  const targets = (value) => (typeof value === 'string' ? filesOf(value) : Object.values(value).flatMap(targets));
  const missing = targets([installed.imports, installed.exports]).filter(
    (file) => !existsSync(join(consumer, 'node_modules/rxvoice', file)),
  );
  assert.deepEqual(missing, []);
});

test('the AudioWorklets are there as a script of their own', () => {
  const source = readFileSync(join(consumer, 'node_modules/rxvoice/dist/worklets.js'), 'utf8');
  const registered = [];
  class AudioWorkletProcessor {}
  new Function('AudioWorkletProcessor', 'registerProcessor', source)(AudioWorkletProcessor, (name) =>
    registered.push(name),
  );
  assert.deepEqual(registered, ['rxvoice-capture', 'rxvoice-playback']);
});
