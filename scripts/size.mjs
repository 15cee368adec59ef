/**
 * What an application pays: minified and gzipped browser bundles of `dist` (benchmarks P19 to P21, P28). Counted is what the
 * page loads at first; what the library loads later, on demand, is named beside it. A figure above its gate fails, and so
 * does a feature that the combination does not import and yet loads, at first or later, and a hook for one that is loaded
 * at first.
 * `--json` prints the figures, `--files` also what the combination is made of; `--limited` leaves out what has no limit.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { rowOf } from '../bench/rows.ts';
import { bundlers } from './bundlers.mjs';
import { hooks } from './features.mjs';
import { root } from './lib.mjs';

/** What fails (`gate`) and what the project aims at (`goal`), in bytes: the table of benchmarks says so. */
const aim = (row) => {
  const { gate, goal } = rowOf(row);
  return { row, gate: 1000 * gate, goal: 1000 * goal };
};
const isBig = (kind) => kind === 'agent' || kind === 'platform';

const combination = ['Pipeline', 'AlphaSTT', 'MuLLM', 'AlphaTTS', 'MicrophoneInput', 'BrowserAudioOutput'];
const load = (file) => import(pathToFileURL(join(root, 'dist', file)));

/** What an application imports by itself: a pipeline without it may not hold a byte of it. */
const features =
  /^dist\/(?:features|evaluation|nats|opentelemetry|proxy|react|remote|testing)\/|^dist\/text\/(?:guard|pronunciations|spoken-forms|spoken\/|ssml)/;

/** Features and a file of each, which must be seen where it is imported: else the check of all of them is blind. */
const probes = {
  captions: 'dist/features/captions.js',
  guard: 'dist/text/guard.js',
  spokenForms: 'dist/text/spoken/reader.js',
};

/** Optional packages, which an application brings or not: an import of them stays one. */
const packagesLater = {
  name: 'packages-later',
  setup({ onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

/**
 * Bytes, gzipped, of what a page loads at first, as esbuild splits an application that uses these names and files.
 *
 * @param from - `lib` for the sources, which have the files that `dist` packs.
 */
async function measure(names, external = [], own = [], from = 'dist') {
  const index = from === 'lib' ? './lib/index.ts' : './dist/index.js';
  const contents = [
    ...(names.length > 0 ? [`export { ${names.join(', ')} } from '${index}';`] : []),
    ...own.map((file, at) => `export * as own${at} from './${file}';`),
  ].join('\n');
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: root },
    ...{ bundle: true, splitting: true, minify: true, format: 'esm', platform: 'browser', target: 'es2022' },
    ...{ logLevel: 'error', write: false, metafile: true, outdir: 'out', external },
    ...(from === 'lib' && { conditions: ['rxvoice-source'] }),
    plugins: [packagesLater],
  });
  const code = new Map(Object.keys(metafile.outputs).map((name, at) => [name, outputFiles[at].text]));
  const page = Object.keys(metafile.outputs).find((name) => metafile.outputs[name].entryPoint === '<stdin>');
  const first = new Set([page]);
  // A Set's iteration comes to what is added meanwhile.
  for (const name of first) {
    const imports = metafile.outputs[name].imports.filter((each) => each.kind === 'import-statement' && !each.external);
    for (const { path } of imports) first.add(path);
  }
  const outputs = [...first].map((name) => metafile.outputs[name]);
  const files = outputs
    .flatMap(({ inputs }) => Object.entries(inputs))
    .map(([file, { bytesInOutput }]) => ({ file, bytes: bytesInOutput }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  const later = outputs
    .flatMap(({ imports }) => imports)
    .filter(({ kind }) => kind === 'dynamic-import')
    .map(({ path }) => metafile.outputs[path]?.entryPoint ?? path)
    .filter((path) => !files.some(({ file }) => file === path));
  // A bundle that holds RxJS, as an application's does, imports nothing from it; and bundlers name chunks as they like.
  const text = [...first].map((name) => code.get(name)).join('');
  const bytes = gzipSync(text.replaceAll(/(?:import|export)\{[^}]*\}(?:from"[^"]*")?;\n?|import"[^"]*";/g, ''), {
    level: 9,
  });
  const all = new Set(first);
  for (const name of all) {
    for (const { path } of metafile.outputs[name].imports) if (metafile.outputs[path]) all.add(path);
  }
  const loaded = [...all]
    .flatMap((name) => Object.entries(metafile.outputs[name].inputs))
    .map(([file, { bytesInOutput }]) => ({ file, bytes: bytesInOutput }))
    .filter((each) => each.bytes > 0);
  const strays = loaded.map(({ file }) => file).filter((file) => features.test(file));
  return { bytes: bytes.length, later: [...new Set(later)], files, loaded, features: [...new Set(strays)] };
}

if (!existsSync(join(root, 'dist/index.js'))) throw new Error('There is no dist: npm run build');
process.chdir(root);
const library = await load('index.js');
const classes = Object.values(library).filter((value) => value?.prototype instanceof library.Provider);
/** Every provider with its kind and its transport. What others extend is a base, not a provider of its own. */
const providers = [];
for (const file of readdirSync('dist/providers', { recursive: true }).filter((each) => each.endsWith('.js'))) {
  for (const [name, value] of Object.entries(await load(`providers/${file}`))) {
    if (library[name] !== value || !classes.includes(value)) continue;
    if (classes.some((other) => Object.getPrototypeOf(other) === value)) continue;
    providers.push({ name, kind: dirname(file), type: new value({ model: 'any' }).type });
  }
}

const rows = [];
const add = (id, name, { bytes, later }, limits) => rows.push({ id, name, bytes, later, ...limits });
const all = await measure(combination);
const own = await measure(combination, ['rxjs']);
add('P19', `${combination.join(' + ')}, RxJS included`, all, aim('P19'));
add('P19', 'the same without RxJS', own, {});
const ownLater = all.later.filter((path) => path.startsWith('dist/'));
add('P19', 'the combination with RxJS and what it may load later', await measure(combination, [], ownLater), {});
// Every bundler splits in its own way: what each page really loads, file by file as a server compresses them.
const folder = join(root, '.cache/size');
const page = join(folder, 'combination.js');
mkdirSync(folder, { recursive: true });
writeFileSync(
  page,
  `import { ${combination.join(', ')} } from '../../dist/index.js';\nglobalThis.used = [${combination.join(', ')}];`,
);
const asked = process.argv.includes('--limited') ? [] : Object.entries(bundlers);
for (const [name, firstLoad] of asked) {
  const { files } = await firstLoad(page, folder);
  const bytes = files.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
  add(
    'P19',
    `the combination with RxJS by ${name}, in ${files.length} file${files.length > 1 ? 's' : ''}`,
    { bytes, later: [] },
    {},
  );
}
for (const { name, kind } of providers.filter((each) => !combination.includes(each.name))) {
  const more = await measure([...combination, name]);
  const later = more.later.filter((path) => !all.later.includes(path));
  add('P21', `${name}, one more`, { bytes: more.bytes - all.bytes, later }, aim(isBig(kind) ? 'P21 big' : 'P21 more'));
}
const textOnly = ['Pipeline', 'TextInput', 'MuLLM', 'TextOutput'];
add('P28', `${textOnly.join(' + ')}, without RxJS`, await measure(textOnly, ['rxjs']), aim('P28 text'));
add('P28', 'rxvoice/remote, without RxJS', await measure([], ['rxjs'], ['dist/remote/index.js']), aim('P28 remote'));
for (const { name, type } of providers) {
  const row = type === 'websocket' ? 'P20 socket' : 'P20 rest';
  add('P20', `${name} alone, without RxJS`, await measure([name], ['rxjs']), aim(row));
}

// What a pipeline pays for features that it does not import: nothing.
const faults = own.features.map((file) => `${file} is loaded by a pipeline that does not import it`);
for (const [name, file] of Object.entries(probes)) {
  const { features: seen } = await measure([...combination, name], ['rxjs']);
  if (!seen.includes(file)) faults.push(`${file} is not seen where ${name} is imported`);
}
// What it has for them all the same.
const sources = await measure(combination, ['rxjs'], [], 'lib');
const hooked = hooks.map(({ file, chunk, why }) => {
  const found = sources.loaded.filter((each) => each.file === file);
  const bytes = found.reduce((sum, each) => sum + each.bytes, 0);
  if (!own.loaded.some((each) => each.file === chunk)) faults.push(`${chunk}, which brings ${file}, is not seen`);
  const isFirst = own.files.some((each) => each.file === chunk);
  if (isFirst) faults.push(`${file} is loaded with the page`);
  if (bytes === 0) faults.push(`${file} is not seen`);
  return `  ${file}: ${isFirst ? `${bytes} bytes at first` : `0 bytes at first, ${bytes} later`}: ${why}`;
});

const failed = rows.filter(({ bytes, gate = Infinity }) => bytes > gate);
if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ combination, rows, faults, files: own.files }, null, 2));
} else {
  const kB = (bytes) => `${(bytes / 1000).toFixed(2)} kB`;
  const against = (word, bytes, most) =>
    most === undefined ? [] : [`${bytes > most ? '✗' : '✓'} ${word} ${kB(most)}`];
  for (const { id, name, bytes, later, gate, goal } of rows) {
    const verdicts = [...against('gate', bytes, gate), ...against('goal', bytes, goal)].join('  ');
    const loadsLater = later.length > 0 ? `; later ${later.join(', ')}` : '';
    console.log(`${id} ${kB(bytes).padStart(8)}  ${verdicts}  ${name}${loadsLater}`);
  }
  const checked = 'a pipeline loads nothing of the features that it does not import, at first or later';
  for (const line of faults.length > 0 ? faults.map((fault) => `✗ ${fault}`) : [`✓ ${checked}`]) console.log(line);
  console.log(['hooks for such features, in every pipeline, minified:', ...hooked].join('\n'));
  if (process.argv.includes('--files')) {
    console.log('\nThe combination without RxJS, minified bytes by file:');
    for (const { file, bytes } of own.files) console.log(`${String(bytes).padStart(7)}  ${file}`);
  }
  const passed = rows.length - failed.length + (faults.length > 0 ? 0 : 1);
  console.log(`\n${passed} passed, ${failed.length + faults.length} failed`);
}
process.exitCode = failed.length + faults.length > 0 ? 1 : 0;
