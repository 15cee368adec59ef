import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { posix, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import typescript from '@rollup/plugin-typescript';
import { transformSync } from 'esbuild';
import packageJson from './package.json' with { type: 'json' };

const { dependencies, peerDependencies, exports, imports } = packageJson;
const packages = Object.keys({ ...dependencies, ...peerDependencies });

/** What users import, and the files behind the import conditions, which no import names. */
const entries = [...Object.values(exports), ...Object.values(imports)]
  .flatMap((entry) => entry['rxvoice-source'] ?? [])
  .flatMap((source) => (typeof source === 'string' ? source : Object.values(source)))
  .flatMap((source) => {
    // An entry for each vendor.
    const [folder, ending] = source.split('*');
    return ending ? readdirSync(folder).map((name) => folder + name) : source;
  });
const input = Object.fromEntries(entries.map((file) => [file.replace(/^\.\/lib\/|\.ts$/g, ''), resolve(file)]));
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
  // Without an empty export, everything in a declaration is exported.
  return own.length > 0 ? text.replace(/(?=\/\/# sourceMappingURL)/, `${own.join('')}export {};\n`) : text;
}

/**
 * TypeScript leaves `.ts` in the imports of declarations and writes one set of them for every output; each format wants
 * its own, once.
 */
const declarations = (extension, types) => ({
  name: 'declarations',
  generateBundle(_options, bundle) {
    for (const [fileName, { source }] of Object.entries(bundle)) {
      if (!/\.d\.ts(\.map)?$/.test(fileName)) continue;
      delete bundle[fileName];
      if (types === undefined) continue;
      const text = (fileName.endsWith('.map') ? String(source) : portable(String(source)))
        .replace(/((?:from|import\(?)\s*['"]\.{1,2}\/[^'"]+)\.ts(?=['"])/g, `$1.${extension}`)
        .replace(/(sourceMappingURL=|"file":")([^"\s]+)\.d\.ts/g, `$1$2${types}`);
      this.emitFile({ type: 'asset', fileName: fileName.replace('.d.ts', types), source: text });
    }
  },
});

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
        const behind = posix.relative(folder, `exports/${file}`);
        return `export { ${names} } from '${behind.startsWith('.') ? behind : `./${behind}`}';`;
      });
    }
    for (const [file, names] of exported) {
      const fileName = `exports/${file}`;
      const imported = [...names].map((name) => `${name} as ${name}$`).join(', ');
      const constants = [...names].map((name) => `export const ${name} = ${name}$;\n`).join('');
      const source = `import { ${imported} } from '${posix.relative(posix.dirname(fileName), file)}';\n${constants}`;
      this.emitFile({ type: 'asset', fileName, source });
    }
  },
};

/** One file for each of `lib`: bundlers take what an application uses. */
const modules = {
  dir: 'dist',
  format: 'esm',
  entryFileNames: '[name].js',
  sourcemap: true,
  preserveModules: true,
  preserveModulesRoot: 'lib',
  plugins: [declarations('js', '.d.ts'), behindConstants, worklets],
};

/** Node loads few large files four times as fast as many small ones: what entries share is one file for each of these. */
const chunks = {
  audio: ['audio'],
  core: ['core', 'stream', 'text'],
  transport: ['transport'],
  voice: ['playback', 'operators', 'providers', 'conversation', 'pipeline'],
};
const chunkOf = Object.fromEntries(
  Object.entries(chunks).flatMap(([chunk, rooms]) => rooms.map((room) => [room, chunk])),
);
const chunked = (format, folder, extension, types) => ({
  dir: 'dist',
  format,
  entryFileNames: `${folder}[name].${extension}`,
  chunkFileNames: `${folder}chunks/[name].${extension}`,
  hoistTransitiveImports: false,
  manualChunks: (file) => (isEntry(file) ? undefined : chunkOf[relative(resolve('lib'), file).split(sep)[0]]),
  sourcemap: true,
  plugins: [declarations(extension, types)],
});

export default {
  input,
  // As package.json says: an import of which nothing is used goes.
  treeshake: { moduleSideEffects: false },
  external: (id) => /^(node:|#)/.test(id) || packages.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins: [
    { name: 'clean', buildStart: () => rmSync('dist', { recursive: true, force: true }) },
    typescript({ tsconfig: './tsconfig.build.json' }),
    smallWorklets,
  ],
  output: [modules, chunked('esm', 'node/', 'js'), chunked('cjs', '', 'cjs', '.d.cts')],
  onwarn(warning) {
    if (warning.code === 'EMPTY_BUNDLE') return; // a file of types alone
    throw new Error(warning.message); // a cycle or an unused import fails the build
  },
};
