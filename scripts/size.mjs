/**
 * What an application pays: minified and gzipped browser bundles of `dist` (benchmarks P19 to P21). Counted is what the
 * page loads at first; what the library loads later, on demand, stands beside it. `--json` prints the figures,
 * `--files` also what the combination is made of.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from './lib.mjs';

const stages = ['Pipeline', 'AlphaSTT', 'MuLLM', 'AlphaTTS'];
const ends = [
  ['MicrophoneInput', 'BrowserAudioOutput'],
  ['BufferInput', 'NullOutput'],
];
/** Packages that the application installs for itself. */
const peers = ['@anthropic-ai/sdk', '@mlc-ai/web-llm', '@msgpack/msgpack'];

/** Bytes, gzipped, of an application that uses these names. */
async function measure(names, external = []) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export { ${names.join(', ')} } from './dist/index.js';`, resolveDir: root },
    ...{ bundle: true, minify: true, splitting: true, format: 'esm', platform: 'browser', target: 'es2022' },
    ...{ write: false, metafile: true, outdir: 'out', external: [...peers, ...external], logLevel: 'error' },
  });
  const bytes = new Map(outputFiles.map(({ path, contents }) => [path, gzipSync(contents, { level: 9 }).length]));
  const reach = (paths, kinds) => {
    const reached = new Set();
    const visit = (path) => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const { path: next, kind, external: outside } of metafile.outputs[path].imports) {
        if (!outside && kinds.includes(kind)) visit(next);
      }
    };
    paths.forEach(visit);
    return [...reached];
  };
  const weigh = (paths) => paths.reduce((sum, path) => sum + bytes.get(join(root, path)), 0);
  const entry = Object.keys(metafile.outputs).filter((path) => metafile.outputs[path].entryPoint === '<stdin>');
  const initial = weigh(reach(entry, ['import-statement']));
  const files = Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .map(([file, { bytesInOutput }]) => ({ file, bytes: bytesInOutput }))
    .filter((part) => part.bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  return { size: { initial, later: weigh(reach(entry, ['import-statement', 'dynamic-import'])) - initial }, files };
}

if (!existsSync(join(root, 'dist/index.js'))) throw new Error('There is no dist: npm run build');
process.chdir(root);
const library = await import(pathToFileURL(join(root, 'dist/index.js')));
const classes = Object.keys(library).filter((name) => library[name]?.prototype instanceof library.Provider);
/** What others extend is a base, not a provider of its own. */
const providers = classes.filter(
  (name) => !classes.some((other) => Object.getPrototypeOf(library[other]) === library[name]),
);
const combination = ends.map((pair) => [...stages, ...pair]).find((names) => names.every((name) => name in library));

const rows = [];
const add = (id, name, size, limits) => rows.push({ id, name, ...size, ...limits });
let files = [];
if (combination) {
  const all = await measure(combination);
  const own = await measure(combination, ['rxjs']);
  files = own.files;
  add('P19', `${combination.join(' + ')}, RxJS included`, all.size, { gate: 30_000, goal: 24_500 });
  add('P19', 'the same without RxJS', own.size, { goal: 12_000 });
  for (const name of providers.filter((each) => !combination.includes(each))) {
    const { size } = await measure([...combination, name]);
    const more = { initial: size.initial - all.size.initial, later: size.later - all.size.later };
    add('P21', `${name}, one more`, more, { gate: 1_900, goal: 900 });
  }
}
for (const name of providers) {
  const { size } = await measure([name], ['rxjs']);
  add('P20', `${name} alone, without RxJS`, size, { gate: 5_000, goal: 3_000 });
}

const failed = rows.filter(({ initial, gate }) => gate !== undefined && initial > gate);
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ combination, rows, files }, null, 2));
} else {
  const kB = (bytes) => `${(bytes / 1000).toFixed(2)} kB`;
  for (const row of rows) {
    const reached = row.initial <= row.goal ? '★' : row.gate ? '✓' : '·';
    const later = row.later > 0 ? `, later ${kB(row.later)}` : '';
    const limits = [row.gate && `gate ${kB(row.gate)}`, `goal ${kB(row.goal)}`].filter(Boolean).join(', ');
    console.log(
      `${failed.includes(row) ? '✗' : reached} ${row.id} ${kB(row.initial).padStart(9)}  ${row.name}${later} (${limits})`,
    );
  }
  if (!combination) {
    console.log(`P19 and P21 wait for ${[...stages, ...ends.at(-1)].filter((name) => !(name in library)).join(', ')}.`);
  }
  if (process.argv.includes('--files')) {
    console.log('\nThe combination without RxJS, minified bytes by file:');
    for (const { file, bytes } of files) console.log(`${String(bytes).padStart(7)}  ${file}`);
  }
}
process.exitCode = failed.length > 0 ? 1 : 0;
