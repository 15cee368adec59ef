/** What a page loads at first, as each bundler really splits an application with its ordinary settings. */
import { createRequire } from 'node:module';
import { basename, join, relative, resolve } from 'node:path';
import { build as esbuild, transform } from 'esbuild';
import { root } from './lib.mjs';

/** Where the bundlers are: `node scripts/install.mjs __tests__/package` brings them. */
const tools = join(root, '__tests__/package/node_modules');
const require = createRequire(join(tools, '_'));

/** The files, by name, of an output that imports its likes. */
function closure(first, importsOf) {
  const found = new Set();
  const add = (name) => {
    if (found.has(name)) return;
    found.add(name);
    importsOf(name).forEach(add);
  };
  add(first);
  return [...found];
}

/** Of what Rollup and Vite made: the chunks of the first page. */
async function ofRollup(output, minified) {
  const chunks = new Map(output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));
  const { fileName } = [...chunks.values()].find(({ isEntry }) => isEntry);
  const first = closure(fileName, (name) => chunks.get(name)?.imports ?? []).map((name) => chunks.get(name));
  const modules = first
    .flatMap((chunk) => Object.entries(chunk.modules))
    .filter(([, { renderedLength }]) => renderedLength > 0)
    .map(([module]) => module);
  const files = first.map(async ({ fileName: name, code }) => ({ name, code: await minified(code) }));
  return { modules, files: await Promise.all(files) };
}

/**
 * Each bundler: from an application's entry and a folder, in which nothing is written, to the `modules` of which the first
 * page has code and the `files` that it loads, each with its name and its minified code, the entry first.
 */
export const bundlers = {
  'esbuild --splitting': async (entry, folder) => {
    const { metafile, outputFiles } = await esbuild({
      entryPoints: [entry],
      ...{ bundle: true, splitting: true, minify: true, format: 'esm', platform: 'browser', target: 'es2022' },
      ...{ outdir: join(folder, 'esbuild'), write: false, metafile: true, logLevel: 'error' },
    });
    const { outputs } = metafile;
    const code = new Map(Object.keys(outputs).map((name, at) => [name, outputFiles[at].text]));
    const page = Object.keys(outputs).find((name) => outputs[name].entryPoint?.endsWith(basename(entry)));
    const first = closure(page, (name) =>
      outputs[name].imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path),
    );
    const modules = first.flatMap((name) =>
      Object.keys(outputs[name].inputs).filter((input) => outputs[name].inputs[input].bytesInOutput > 0),
    );
    const nameOf = (path) => relative(join(folder, 'esbuild'), resolve(path));
    return { modules, files: first.map((path) => ({ name: nameOf(path), code: code.get(path) })) };
  },
  Rollup: async (entry, folder) => {
    const { rollup } = require('rollup');
    const nodeResolve = require('@rollup/plugin-node-resolve').default;
    const commonjs = require('@rollup/plugin-commonjs');
    const bundle = await rollup({ input: entry, plugins: [nodeResolve({ browser: true }), commonjs()], onwarn() {} });
    const { output } = await bundle.generate({ format: 'esm', dir: join(folder, 'rollup') });
    // Rollup leaves that to a plugin.
    const minified = async (code) =>
      (await transform(code, { minify: true, format: 'esm', target: 'es2022', treeShaking: true })).code;
    return ofRollup(output, minified);
  },
  Vite: async (entry, folder) => {
    const { build } = await import(join(tools, 'vite/dist/node/index.js'));
    const { output } = await build({
      ...{ root: folder, logLevel: 'silent', configFile: false },
      build: { write: false, rollupOptions: { input: entry } },
    });
    return ofRollup(output, (code) => code);
  },
  webpack: async (entry, folder) => {
    const webpack = require('webpack');
    const files = new Map();
    const compiler = webpack({
      ...{ mode: 'production', entry, context: folder, output: { path: join(folder, 'webpack') } },
      ...{ target: ['web', 'es2022'], performance: false },
    });
    compiler.outputFileSystem = {
      ...require('node:fs'),
      mkdir: (_path, ...rest) => rest.at(-1)(),
      writeFile: (path, data, done) => done(void files.set(path, String(data))),
    };
    return new Promise((done, fail) => {
      compiler.run((error, stats) => {
        if (error ?? stats.hasErrors()) return fail(error ?? new Error(stats.toString()));
        const first = [...stats.compilation.entrypoints.get('main').chunks];
        const modules = first.flatMap((chunk) => [...stats.compilation.chunkGraph.getChunkModulesIterable(chunk)]);
        const all = modules.flatMap((module) => (module.modules ? [...module.modules] : [module]));
        const names = stats.compilation.entrypoints.get('main').getFiles();
        return compiler.close(() =>
          done({
            modules: all.map((module) => module.resource ?? ''),
            files: names.map((name) => ({ name, code: files.get(join(folder, 'webpack', name)) })),
          }),
        );
      });
    });
  },
};
