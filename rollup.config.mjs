import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import typescript from '@rollup/plugin-typescript';
import packageJson from './package.json' with { type: 'json' };

const { dependencies, peerDependencies, exports, imports } = packageJson;
const packages = Object.keys({ ...dependencies, ...peerDependencies });

const entries = Object.values(exports).flatMap((entry) => entry['rxvoice-source'] ?? []);
/** The files behind the import conditions, which no import names. */
const rims = Object.values(imports).flatMap((entry) => Object.values(entry['rxvoice-source']));

/** TypeScript leaves `.ts` in the imports of declarations and writes one set of them; each format wants its own. */
const declarations = (extension, types) => ({
  name: 'declarations',
  generateBundle(_options, bundle) {
    for (const [fileName, { source }] of Object.entries(bundle)) {
      if (!/\.d\.ts(\.map)?$/.test(fileName)) continue;
      delete bundle[fileName];
      const text = String(source)
        .replace(/((?:from|import\(?)\s*['"]\.{1,2}\/[^'"]+)\.ts(?=['"])/g, `$1.${extension}`)
        .replace(/(sourceMappingURL=|"file":")([^"\s]+)\.d\.ts/g, `$1$2${types}`);
      this.emitFile({ type: 'asset', fileName: fileName.replace('.d.ts', types), source: text });
    }
  },
});

/** The AudioWorklets as a file of their own, for pages that may not load them from a blob. */
const worklets = {
  name: 'worklets',
  async writeBundle({ dir, format }) {
    if (format !== 'es') return;
    const { workletSource } = await import(pathToFileURL(resolve(dir, 'browser/worklets.js')));
    writeFileSync(resolve(dir, 'worklets.js'), workletSource);
  },
};

const output = (format, extension, types) => ({
  dir: 'dist',
  format,
  entryFileNames: `[name].${extension}`,
  sourcemap: true,
  preserveModules: true,
  preserveModulesRoot: 'lib',
  plugins: [declarations(extension, types), worklets],
});

export default {
  input: [...new Set([...entries, ...rims])],
  external: (id) => /^(node:|#)/.test(id) || packages.some((name) => id === name || id.startsWith(`${name}/`)),
  plugins: [
    { name: 'clean', buildStart: () => rmSync('dist', { recursive: true, force: true }) },
    typescript({ tsconfig: './tsconfig.build.json' }),
  ],
  output: [output('esm', 'js', '.d.ts'), output('cjs', 'cjs', '.d.cts')],
  onwarn(warning) {
    if (warning.code === 'EMPTY_BUNDLE') return; // a file of types alone
    throw new Error(warning.message); // a cycle or an unused import fails the build
  },
};
