/**
 * Slow: a bundle by each of four bundlers.
 *
 * What a page loads at first: an application with a model alone loads no microphone, no speaker and no resampler, even
 * though `rxvoice` exports them and a pipeline loads them later.
 */
import { strict as assert } from 'node:assert';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { build as esbuild } from 'esbuild';
import { project, tools } from './consumer.mjs';

const require = createRequire(join(tools, '_'));
let folder;
before(() => {
  folder = project('splitting', [], { 'app.js': `import { NuLLM } from 'rxvoice';\nglobalThis.model = NuLLM;` });
});

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

/** What Rollup and Vite made: the modules of which the first page has code. */
function modulesOf(output) {
  const chunks = new Map(output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));
  const { fileName } = [...chunks.values()].find(({ isEntry }) => isEntry);
  return closure(fileName, (name) => chunks.get(name)?.imports ?? [])
    .flatMap((name) => Object.entries(chunks.get(name)?.modules ?? {}))
    .filter(([, { renderedLength }]) => renderedLength > 0)
    .map(([module]) => module);
}

/** Each bundler, with its ordinary settings: the modules that the first page loads. */
const bundlers = {
  'esbuild --splitting': async (entry) => {
    const { metafile } = await esbuild({
      entryPoints: [entry],
      ...{ bundle: true, splitting: true, format: 'esm', platform: 'browser', outdir: join(folder, 'esbuild') },
      ...{ write: false, metafile: true, logLevel: 'error' },
    });
    const { outputs } = metafile;
    const first = Object.keys(outputs).find((name) => outputs[name].entryPoint?.endsWith('app.js'));
    return closure(first, (name) =>
      outputs[name].imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path),
    ).flatMap((name) =>
      Object.keys(outputs[name].inputs).filter((input) => outputs[name].inputs[input].bytesInOutput > 0),
    );
  },
  Rollup: async (entry) => {
    const { rollup } = require('rollup');
    const resolve = require('@rollup/plugin-node-resolve').default;
    const commonjs = require('@rollup/plugin-commonjs');
    const bundle = await rollup({ input: entry, plugins: [resolve({ browser: true }), commonjs()], onwarn() {} });
    const { output } = await bundle.generate({ format: 'esm', dir: join(folder, 'rollup') });
    return modulesOf(output);
  },
  Vite: async (entry) => {
    const { build } = await import(join(tools, 'vite/dist/node/index.js'));
    const { output } = await build({
      ...{ root: folder, logLevel: 'silent', configFile: false },
      build: { write: false, rollupOptions: { input: entry } },
    });
    return modulesOf(output);
  },
  webpack: async (entry) => {
    const webpack = require('webpack');
    const compiler = webpack({
      ...{ mode: 'production', entry, context: folder, output: { path: join(folder, 'webpack') } },
      // Which modules are there does not depend on how they are written.
      optimization: { minimize: false },
    });
    return new Promise((done, fail) => {
      compiler.run((error, stats) => {
        if (error ?? stats.hasErrors()) return fail(error ?? new Error(stats.toString()));
        const first = [...stats.compilation.entrypoints.get('main').chunks];
        const modules = first.flatMap((chunk) => [...stats.compilation.chunkGraph.getChunkModulesIterable(chunk)]);
        const all = modules.flatMap((module) => (module.modules ? [...module.modules] : [module]));
        return compiler.close(() => done(all.map((module) => module.resource ?? '')));
      });
    });
  },
};

describe('a page with a model alone', () => {
  for (const [name, modulesFirst] of Object.entries(bundlers)) {
    test(`loads no microphone, speaker or resampler at first, ${name}`, async () => {
      const modules = await modulesFirst(join(folder, 'app.js'));
      assert(modules.some((module) => module.endsWith('/nu-llm.js')));
      const later = /dist\/(audio\/(resampler|polyphase)|playback|conversation|pipeline|providers\/(input|output))\b/;
      assert.deepEqual(
        modules.filter((module) => later.test(module)),
        [],
      );
    });
  }
});
