/** What an installation takes: files that a user's code loads, their types, and nothing of the repository. */
import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { capture, root } from '../../scripts/lib.mjs';
import { consumer, tarball } from './consumer.mjs';

const [{ files, unpackedSize }] = JSON.parse(capture(['npm', 'pack', tarball, '--dry-run', '--json']));
const paths = files.map(({ path }) => path);
const installed = (file) => readFileSync(join(consumer, 'node_modules/rxvoice', file), 'utf8');

test('the package has at most 600 files and 4 MB', () => {
  assert(paths.length <= 600, `${paths.length} files`);
  assert(unpackedSize <= 4_000_000, `${unpackedSize} bytes`);
});

test('it holds the build, README and licence, and neither sources, maps nor tests', () => {
  const others = paths.filter((path) => !/^dist\/.+\.(c?js|d\.c?ts)$/.test(path));
  assert.deepEqual(others.sort(), ['LICENSE', 'README.md', 'package.json']);
});

test('its package.json names nothing that only the repository has', () => {
  const { scripts, devDependencies, ...manifest } = JSON.parse(installed('package.json'));
  assert.deepEqual([scripts, devDependencies], [undefined, undefined]);
  assert.doesNotMatch(JSON.stringify(manifest), /rxvoice-source|\.\/lib\//);
  assert.equal(manifest.sideEffects, false);
});

test('it promises nothing for React Native, which the notes on runtimes exclude', () => {
  assert.doesNotMatch(installed('package.json'), /react-native/);
  const runtimes = readFileSync(join(root, 'docs/runtimes.md'), 'utf8');
  assert.match(runtimes, /^\| \[React Native\]\(#react-native\) +\| no /m);
  assert.match(runtimes, /^## React Native\n\nNot supported\./m);
});

test('its declarations cite no file that only the repository has', () => {
  const declarations = paths.filter((path) => path.endsWith('.d.cts'));
  const cited = declarations.flatMap((path) =>
    [...installed(path).matchAll(/[\w./-]+\.(?:md|spec\.ts|mjs)\b/g)].map(([file]) => `${path}: ${file}`),
  );
  assert.deepEqual(
    cited.filter((each) => !/README\.md$/.test(each)),
    [],
  );
});

test('the comments are in the declarations, once, and not in the code', () => {
  const documented = paths.filter((path) => /\/\*\* /.test(installed(path)) && path.startsWith('dist/'));
  assert(
    documented.every((path) => path.endsWith('.d.cts')),
    documented.join(),
  );
  // What an editor shows of a class, of its member and of a vendor's own name for it.
  const voice = installed('dist/chunks/voice.d.cts');
  assert.match(voice, /\/\*\*(?:(?!\*\/)[^])*\*\/\s*(declare )?class Pipeline\b/);
  assert.match(voice, /\/\*\*(?:(?!\*\/)[^])*\*\/\s*interrupt\(/);
  assert.match(installed('dist/vendors/deepgram.d.cts'), /AlphaSTT as DeepgramSTT/);
});
