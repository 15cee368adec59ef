/**
 * What an application pays: minified and gzipped browser bundles of `dist` (benchmarks P19 to P21). Counted is what the
 * page loads at first; what the library loads later, on demand, stands beside it. `--json` prints the figures.
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
const peers = ['@anthropic-ai/sdk', '@msgpack/msgpack'];

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
  return { initial, later: weigh(reach(entry, ['import-statement', 'dynamic-import'])) - initial };
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
if (combination) {
  const all = await measure(combination);
  const own = await measure(combination, ['rxjs']);
  rows.push({ id: 'P19', name: `${combination.join(' + ')}, RxJS included`, ...all, gate: 30_000, goal: 24_500 });
  rows.push({ id: 'P19', name: 'the same without RxJS', ...own, goal: 12_000 });
  for (const name of providers.filter((each) => !combination.includes(each))) {
    const { initial } = await measure([...combination, name]);
    rows.push({
      id: 'P21',
      name: `${name}, one more`,
      initial: initial - all.initial,
      later: 0,
      gate: 1_900,
      goal: 900,
    });
  }
}
for (const name of providers) {
  rows.push({
    id: 'P20',
    name: `${name} alone, without RxJS`,
    ...(await measure([name], ['rxjs'])),
    gate: 5_000,
    goal: 3_000,
  });
}

const failed = rows.filter(({ initial, gate }) => gate !== undefined && initial > gate);
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ combination, rows }, null, 2));
} else {
  const kB = (bytes) => `${(bytes / 1000).toFixed(2)} kB`;
  for (const row of rows) {
    const mark = failed.includes(row) ? '✗' : row.initial <= row.goal ? '★' : '✓';
    const later = row.later > 0 ? `, later ${kB(row.later)}` : '';
    const limits = [row.gate && `gate ${kB(row.gate)}`, `goal ${kB(row.goal)}`].filter(Boolean).join(', ');
    console.log(`${mark} ${row.id} ${kB(row.initial).padStart(9)}  ${row.name}${later} (${limits})`);
  }
  if (!combination)
    console.log(`P19 and P21 wait for ${[...stages, ...ends.at(-1)].filter((name) => !(name in library)).join(', ')}.`);
}
process.exitCode = failed.length > 0 ? 1 : 0;
