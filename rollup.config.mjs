import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, posix, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import typescript from '@rollup/plugin-typescript';
import { buildSync, transformSync } from 'esbuild';
import { dts } from 'rollup-plugin-dts';
import packageJson from './package.json' with { type: 'json' };

const { dependencies, peerDependencies, exports, imports } = packageJson;
const packages = Object.keys({ ...dependencies, ...peerDependencies });

const sourcesOf = (map) => Object.values(map).flatMap((entry) => entry['rxvoice-source'] ?? []);
const named = (files) =>
  Object.fromEntries(files.map((file) => [file.replace(/^\.\/lib\/|\.ts$/g, ''), resolve(file)]));
/** What users import; an entry for each vendor. */
const entries = named(
  sourcesOf(exports).flatMap((source) => {
    const [folder, ending] = source.split('*');
    return ending ? readdirSync(folder).map((name) => folder + name) : source;
  }),
);
/** And the files behind the import conditions, which no import names. */
const input = { ...entries, ...named(sourcesOf(imports).flatMap((conditions) => Object.values(conditions))) };
const isEntry = (file) => Object.values(input).includes(file);

/** What declarations name of the DOM, of which a Node project has no types. */
const domNames = ['AudioContext', 'AudioNode', 'MediaStream', 'MediaStreamTrack', 'SpeechSynthesisVoice', 'Worker'];

/**
 * Declarations that compile for every user. Before 5.7, TypeScript's typed arrays take no argument: what their `of`
 * returns has it where there is one. And a DOM type is the user's own where the project has it, else any object.
 */
function portable(declaration) {
  const text = declaration
    .replace(/\b(\w+Array)<ArrayBuffer>/g, `ReturnType<$1Constructor['of']>`)
    .replace(/\bArrayBufferView<ArrayBuffer>/g, '(ArrayBufferView & { readonly buffer: ArrayBuffer })');
  const code = text.replace(/\/\*[^]*?\*\//g, '');
  const own = domNames
    .filter((name) => new RegExp(`\\b${name}\\b`).test(code))
    .map((name) => `type ${name} = typeof globalThis extends { ${name}: { prototype: infer T } } ? T : object;\n`);
  const disposable = /\bSymbol\.asyncDispose\b/.test(code)
    ? '/// <reference lib="esnext.disposable" preserve="true" />\n'
    : '';
  return disposable + text + own.join('');
}

/**
 * One set of declarations for both formats, so that a class is one type however it was loaded: those of CommonJS, which
 * ES modules may import too.
 */
const declarations = {
  name: 'declarations',
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      // With tabs, as the code: TypeScript indents by four spaces.
      const tabbed = chunk.code.replace(/^(?: {4})+/gm, ({ length }) => '\t'.repeat(length / 4));
      chunk.code = portable(tabbed).replace(/\.d\.cts(?=['"])/g, '.cjs');
      if (!chunk.isEntry) continue;
      const path = `./${posix.basename(chunk.fileName, '.d.cts')}.cjs`;
      const source = `export * from '${path}';\n`;
      this.emitFile({ type: 'asset', fileName: chunk.fileName.replace('.d.cts', '.d.ts'), source });
    }
  },
};

/**
 * Node's ES modules are names for its CommonJS files: `import` and `require` share one copy of each class. A vendor's
 * entry, which is nothing but names, has none: Node imports the CommonJS file itself.
 */
const nodeEntries = {
  name: 'node-entries',
  generateBundle(_options, bundle) {
    for (const { isEntry: entry, fileName, exports: names } of Object.values(bundle)) {
      if (!entry || /^(?:transport|vendors)\//.test(fileName)) continue;
      const path = posix.relative(posix.join('node', posix.dirname(fileName)), fileName);
      const source = `export { ${names.join(', ')} } from '${path}';\n`;
      this.emitFile({ type: 'asset', fileName: `node/${fileName.replace('.cjs', '.js')}`, source });
    }
  },
};

/**
 * What Node loads later it requires, ws too: an `import()` of a CommonJS file goes through the loader of ES modules,
 * which first searches all of it for the names of its exports.
 */
const requiredLater = {
  name: 'required-later',
  renderDynamicImport: ({ targetModuleId }) =>
    isAbsolute(targetModuleId ?? '') || targetModuleId === 'ws'
      ? { left: 'Promise.resolve().then(() => require(', right: '))' }
      : null,
};

/** Where RxJS keeps what it exports: for each name, the file that `rxjs/internal/*` makes importable. */
const rxjsFiles = new Map(
  [
    ...readFileSync('node_modules/rxjs/dist/types/index.d.ts', 'utf8').matchAll(
      /^export \{ (.+) \} from '\.\/(internal\/.+)';$/gm,
    ),
  ].flatMap(([, names, file]) => names.split(', ').map((name) => [name, `rxjs/${file}`])),
);

/**
 * Node loads of RxJS what runs: all of it is 223 files, 40 ms of a cold process, and half of them are never used. They are
 * the same files, so an Observable is the application's own. A bundler follows each `require`.
 */
const rxjsOnDemand = {
  name: 'rxjs-on-demand',
  generateBundle(_options, bundle) {
    const used = new Set();
    for (const chunk of Object.values(bundle).filter(({ imports: all }) => all?.includes('rxjs'))) {
      for (const [, name] of chunk.code.matchAll(/\brxjs\.(\w+)/g)) used.add(name);
      const path = posix.relative(posix.dirname(chunk.fileName), 'chunks/rxjs.cjs');
      chunk.code = chunk.code.replace(/\brequire\('rxjs'\)/, `require('${path.startsWith('.') ? path : `./${path}`}')`);
    }
    const names = [...used].sort();
    const unknown = names.filter((name) => !rxjsFiles.has(name));
    if (unknown.length > 0) throw new Error(`RxJS exports no ${unknown.join(', ')}`);
    const loads = names.map((name) => `${name}: () => require('${rxjsFiles.get(name)}'),\n`);
    const source = `const load = {\n${loads.join('')}};
for (const name in load)
  Object.defineProperty(exports, name, {
    configurable: true,
    get() {
      const value = load[name]()[name];
      Object.defineProperty(exports, name, { value });
      return value;
    },
  });
`;
    this.emitFile({ type: 'asset', fileName: 'chunks/rxjs.cjs', source: pack(source) });
  },
};

/** The AudioWorklets, of which users' bundlers see only a text: minified, without a change of the lines around it. */
const smallWorklets = {
  name: 'small-worklets',
  transform(code, file) {
    if (!file.endsWith('playback/worklets.ts')) return null;
    const small = code.replace(/(workletSource = `)([^`]*)`;/, (_all, name, source) => {
      const { code: program } = transformSync(source, { minify: true });
      return `${name}${program.trim()}\`;${'\n'.repeat(source.split('\n').length - 1)}`;
    });
    return { code: small, map: null };
  },
};
/** The same as a file of their own, for pages that may not load them from a blob. */
const worklets = {
  name: 'worklets',
  async writeBundle({ dir }) {
    const { workletSource } = await import(pathToFileURL(resolve(dir, 'playback/worklets.js')));
    writeFileSync(resolve(dir, 'worklets.js'), workletSource);
  },
};

/** `npx rxvoice sandbox`: one file, small, of the sample. Compressed audio and MessagePack need their packages. */
const command = {
  name: 'command',
  writeBundle({ dir }) {
    buildSync({
      ...{ entryPoints: ['samples/sandbox/bin.ts'], outfile: resolve(dir, 'bin.js'), bundle: true, minify: true },
      ...{ platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
      external: [
        'ws',
        '@msgpack/msgpack',
        'mediabunny',
        '@mediabunny/aac-encoder',
        'opusscript',
        'wasm-media-encoders',
      ],
      banner: { js: '#!/usr/bin/env node' },
    });
  },
};

/** Small files that pages load anyway, and what few use, are behind one: a page that uses one of them gets all. */
const behindOne = {
  core: /^(?:core|stream)\//,
  audio: /^audio\/(?:channels|accepted|concat|described|formats|frame-splitter|levels|pcm-carry)\.js$/,
  conversation: /^conversation\/(?:agent|model)-conversation\.js$/,
  playback: /^playback\/(?:playout|speaker-mixer)\.js$/,
  providers: /^providers\/(?:stt\/stt-wire|tts\/sockets\/by-id)\.js$/,
};
function behindOf(file) {
  const [one] = Object.keys(behindOne).filter((each) => behindOne[each].test(file));
  return `exports/${one ? `${one}.js` : file}`;
}

/**
 * What an entry exports of code that is also loaded later stands behind a file of its own. esbuild, when it splits, gives
 * each page everything that the files which it imports name, if another page needs it or it is loaded later: a page with
 * a model alone would load the microphone. A constant ends that: it is nobody's until it is used.
 */
const behindConstants = {
  name: 'behind-constants',
  generateBundle(_options, bundle) {
    const later = new Set();
    const add = (file) => {
      if (!bundle[file] || later.has(file)) return;
      later.add(file);
      bundle[file].imports.forEach(add);
    };
    const chunks = Object.values(bundle).filter(({ type }) => type === 'chunk');
    for (const { dynamicImports } of chunks) dynamicImports.forEach(add);
    const exported = new Map();
    for (const chunk of chunks.filter(({ facadeModuleId }) => isEntry(facadeModuleId))) {
      const folder = posix.dirname(chunk.fileName);
      chunk.code = chunk.code.replace(/^export \{ ([^}]+) \} from '(\.[^']+)';$/gm, (whole, names, path) => {
        const file = posix.join(folder, path);
        if (!later.has(file)) return whole;
        const own = names.split(', ').map((name) => name.split(' as ')[0]);
        exported.set(file, new Set([...(exported.get(file) ?? []), ...own]));
        const behind = posix.relative(folder, behindOf(file));
        return `export { ${names} } from '${behind.startsWith('.') ? behind : `./${behind}`}';`;
      });
    }
    const sources = {};
    for (const [file, names] of exported) {
      const fileName = behindOf(file);
      const imported = [...names].map((name) => `${name} as ${name}$`).join(', ');
      const constants = [...names].map((name) => `export const ${name} = ${name}$;\n`).join('');
      const source = `import { ${imported} } from '${posix.relative(posix.dirname(fileName), file)}';\n${constants}`;
      sources[fileName] = (sources[fileName] ?? '') + source;
    }
    for (const [fileName, source] of Object.entries(sources)) this.emitFile({ type: 'asset', fileName, source });
  },
};

/** Drops files that hold only types. */
const withoutEmpty = {
  name: 'without-empty',
  generateBundle(_options, bundle) {
    for (const [file, { type, code }] of Object.entries(bundle))
      if (type === 'chunk' && code.trim() === '') delete bundle[file];
  },
};

/**
 * Code on fewer lines, in shorter statements.
 *
 * @param minifyIdentifiers - Shortens what has a name within a function or a class alone: of a script, no other.
 */
const pack = (code, minifyIdentifiers = false) =>
  transformSync(code, {
    ...{
      target: 'esnext',
      charset: 'utf8',
      minifyIdentifiers,
      minifyWhitespace: true,
      minifySyntax: true,
      lineLimit: 300,
    },
  }).code;

/**
 * Node reads and compiles a file of ASCII faster; one with many other letters would get larger by it. An escape is the
 * letter itself in a string, a template and a regular expression; in a raw template it is not, but each of ours becomes a
 * regular expression.
 */
function asAscii(code) {
  const letters = code.match(/[^\0-\x7f]/g) ?? [];
  if (letters.length > 2_000) return code;
  return code.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** TypeScript indents by four spaces, which are an eighth of the package. */
const packed = {
  name: 'packed',
  generateBundle(_options, bundle) {
    for (const chunk of chunksOf(bundle)) chunk.code = pack(chunk.code);
  },
};
/** Node compiles all that it loads, used or not: a sixth less of it without the names of parameters and variables. */
const packedScripts = {
  name: 'packed-scripts',
  generateBundle(_options, bundle) {
    for (const chunk of chunksOf(bundle)) chunk.code = asAscii(pack(chunk.code, true));
  },
};
function chunksOf(bundle) {
  return Object.values(bundle).filter(({ type }) => type === 'chunk');
}

/** Rooms of which a program uses most, and no page anything: one file each. */
const whole = ['testing', 'evaluation', 'nats', 'vad'];

/** Small files that stand in one which is loaded wherever they are. */
const within = {
  'conversation/answer/call-hook': 'conversation/conversation',
  'conversation/event-bus': 'conversation/commands',
  'conversation/fold/conversation-step': 'conversation/fold/output-lock',
  'conversation/fold/held-says': 'conversation/fold/user-turn',
  'conversation/fold/inputs': 'conversation/fold/output-lock',
  'conversation/fold/rules': 'conversation/fold/state',
  'conversation/fold/said': 'conversation/fold/output-lock',
  'conversation/provider-error': 'conversation/malformed',
  'conversation/turn-taking/endpointing': 'conversation/turn-taking/turn-rules',
  'conversation/turn-taking/interim': 'conversation/fold/user-turn',
  'conversation/turn-taking/is-push-to-talk': 'conversation/turn-taking/turn-rules',
  'conversation/turn-taking/late-words': 'conversation/turn-taking/turn-taking',
  'core/listed-origins': 'transport/page-wire',
  'core/logger': 'core/application-code',
  'core/misspelt-key': 'core/provider',
  'core/remote-rules': 'core/remote-provider',
  'core/request-id': 'providers/tts/utterance',
  'core/utf8': 'core/parse-json',
  'pipeline/inside': 'conversation/commands',
  'playback/late-player': 'playback/paced-output',
  'playback/late-playout': 'playback/paced-output',
  'playback/pacer': 'playback/clock',
  'playback/processors': 'playback/audio-context',
  'providers/agent/tools-problem': 'providers/agent/streaming-agent',
  'providers/platform/platform-socket': 'providers/platform/phone-line',
  'providers/platform/socket-handlers': 'providers/platform/page-sockets',
  'providers/stt/live-audio': 'providers/stt/batch-stt',
  'providers/stt/recordings': 'providers/stt/recording-runner',
  'providers/tts/sockets/spoken-text': 'providers/tts/sockets/speech-step',
  'providers/tts/wire-errors': 'providers/tts/utterance',
  'providers/tts/words/word-event': 'providers/tts/utterance',
  'proxy/proxy-target': 'proxy/tokens',
  'proxy/refusal': 'proxy/upstream',
  'stream/resource': 'playback/audio-context',
  'stream/select': 'conversation/commands',
  'text/text-transform': 'operators/speakable',
  'transport/id-headers': 'transport/http-error',
  'transport/media-type': 'transport/http',
  'transport/refusal-question': 'transport/why-refused',
};
for (const file of Object.entries(within).flat()) {
  if (!existsSync(resolve('lib', `${file}.ts`))) throw new Error(`there is no lib/${file}.ts: it has moved`);
}

const placed = new Map();

/** A file that those of one other alone import, and at once, stands in that one: it is loaded when that is. */
function fileOf(file, context) {
  if (!placed.has(file)) placed.set(file, placeOf(file, context));
  return placed.get(file);
}

function placeOf(file, context) {
  const own = relative(resolve('lib'), file).replace(/\.ts$/, '');
  const [room] = own.split(sep);
  if (isEntry(file)) return own;
  if (whole.includes(room)) return `${room}/${room}`;
  if (own in within) return within[own];
  const { importers, dynamicImporters } = context.getModuleInfo(file);
  if (importers.length === 0 || dynamicImporters.length > 0 || importers.some(isEntry)) return own;
  const [place, ...others] = new Set(importers.map((importer) => fileOf(importer, context)));
  return others.length === 0 ? place : own;
}

/** Small files: bundlers take what an application uses, and each page loads what it needs. */
const modules = {
  dir: 'dist',
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
  hoistTransitiveImports: false,
  minifyInternalExports: false,
  manualChunks: fileOf,
  plugins: [withoutEmpty, behindConstants, packed, worklets, command],
};

/** Node loads few large files four times as fast as many small ones: what entries share is one file for each of these. */
const chunks = {
  audio: ['audio'],
  core: ['core', 'stream', 'text'],
  remote: ['remote'],
  transport: ['transport'],
  voice: ['playback', 'operators', 'providers', 'conversation', 'pipeline', 'features'],
};
const chunkOf = Object.fromEntries(
  Object.entries(chunks).flatMap(([chunk, rooms]) => rooms.map((room) => [room, chunk])),
);
/** And what `import 'rxvoice'` does not run is one for each of these: it is loaded when it is needed. */
const later = [
  ['languages', /^text\/(?:phrases|spoken)\//],
  ['agents', /^providers\/(?:agent\/|theta-)/],
  ['platforms', /^providers\/platform\//],
  ['runners', /^(?:playback|operators|providers)\//],
  ['call', /^(?:conversation|pipeline|features)\//],
];

/** Files that `import 'rxvoice'` runs. */
let first;
function isFirst(file, { getModuleInfo }) {
  first ??= new Set([resolve('lib/index.ts')]);
  // A Set's iteration comes to what is added meanwhile.
  if (first.size === 1) for (const each of first) getModuleInfo(each).importedIds.forEach((id) => first.add(id));
  return first.has(file);
}
function nodeFileOf(file, context) {
  if (isEntry(file)) return undefined;
  const own = relative(resolve('lib'), file).split(sep).join('/');
  const [room] = own.split('/');
  if (!(room in chunkOf) || room === 'remote' || isFirst(file, context)) return chunkOf[room];
  return later.find(([, files]) => files.test(own))?.[0] ?? chunkOf[room];
}

/** Declarations need no such care. */
const declarationOf = (file) => (isEntry(file) ? undefined : chunkOf[relative(resolve('lib'), file).split(sep)[0]]);

const chunked = (extension, manualChunks, plugins) => ({
  dir: 'dist',
  entryFileNames: `[name].${extension}`,
  chunkFileNames: `chunks/[name].${extension}`,
  hoistTransitiveImports: false,
  minifyInternalExports: false,
  manualChunks,
  plugins,
});

const common = {
  external: (id) => /^(node:|#)/.test(id) || packages.some((name) => id === name || id.startsWith(`${name}/`)),
  onwarn(warning) {
    if (warning.code === 'EMPTY_BUNDLE') return; // a file of types alone
    throw new Error(warning.message); // a cycle or an unused import fails the build
  },
};

export default [
  {
    ...common,
    input,
    // As package.json says: an import of which nothing is used goes.
    treeshake: { moduleSideEffects: false },
    plugins: [
      { name: 'clean', buildStart: () => rmSync('dist', { recursive: true, force: true }) },
      typescript({
        tsconfig: './tsconfig.build.json',
        declaration: false,
        isolatedDeclarations: false,
        removeComments: true,
      }),
      smallWorklets,
    ],
    output: [
      modules,
      { ...chunked('cjs', nodeFileOf, [nodeEntries, requiredLater, rxjsOnDemand, packedScripts]), format: 'cjs' },
    ],
  },
  {
    ...common,
    input: entries,
    plugins: [dts({ tsconfig: './tsconfig.build.json' })],
    output: { ...chunked('d.cts', declarationOf, [declarations]), format: 'esm' },
  },
];
