import { strict as assert } from 'node:assert';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { marks } from '../../scripts/features.mjs';
import { consumer, entries, manifest } from './consumer.mjs';

/** Bundles the installed package as an application does, and returns the code with the files that went into it. */
async function bundle(contents, options) {
  const { metafile, outputFiles } = await build({
    stdin: { contents, resolveDir: consumer },
    ...{ bundle: true, write: false, metafile: true, format: 'esm', logLevel: 'silent', ...options },
  });
  return {
    code: outputFiles[0].text,
    files: Object.keys(metafile.inputs),
    imports: Object.values(metafile.outputs)[0].imports,
    shipped: Object.entries(Object.values(metafile.outputs)[0].inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([file]) => file),
  };
}

/** The proxy runs on a server, with `ws`. */
const everything = entries
  .filter((entry) => entry !== 'rxvoice/proxy')
  .map((entry, at) => `export * as entry${at} from '${entry}';`)
  .join('\n');
/** Optional peers are the application's to install. */
const isPeer = (path) =>
  Object.keys(manifest.peerDependencies).some((name) => path === name || path.startsWith(`${name}/`));
const platforms = {
  browser: { platform: 'browser' },
  // What NATS's client needs of a Worker is its own affair.
  workerd: { platform: 'neutral', conditions: ['workerd'], mainFields: ['module', 'main'], external: ['@nats-io/*'] },
};

for (const [name, options] of Object.entries(platforms)) {
  describe(`a bundle for ${name}`, () => {
    let result;
    before(async () => {
      result = await bundle(everything, options);
    });

    test('holds no byte of ws', () => {
      assert.deepEqual(
        result.files.filter((file) => /node_modules\/ws\//.test(file)),
        [],
      );
      assert.doesNotMatch(result.code, /permessage-deflate/);
    });

    test('needs nothing of Node', () => {
      assert.doesNotMatch(result.code, /["']node:/);
      const builtins = result.imports.filter(({ external, path }) => external && !isPeer(path));
      assert.deepEqual(builtins, []);
    });
  });
}

test('an application that imports one name pays for it alone', async () => {
  const { code } = await bundle(`export { VoiceError } from 'rxvoice';`, { platform: 'browser', minify: true });
  assert(code.length < 2000, `VoiceError alone takes ${code.length} bytes`);
});

test('a page that asks the proxy for tokens ships nothing of the proxy', async () => {
  const { code, imports } = await bundle(`export { proxyToken } from 'rxvoice/proxy';`, {
    ...{ platform: 'browser', minify: true },
  });
  assert(code.length < 1000, `proxyToken() alone takes ${code.length} bytes`);
  assert.deepEqual(imports, []);
});

test('a page ships at first neither what only some pages need nor what initialize() brings', async () => {
  const later = {
    name: 'later',
    setup: ({ onResolve }) =>
      onResolve({ filter: /./ }, ({ kind, path }) =>
        kind === 'dynamic-import' ? { path, external: true } : undefined,
      ),
  };
  const speakers = ['MuLLM', 'NuLLM', 'AlphaTTS', 'ThetaTTS'];
  const names = ['Pipeline', 'AlphaAgent', 'AlphaSTT', ...speakers, 'MicrophoneInput', 'BrowserAudioOutput'];
  const contents = `export { ${names} } from 'rxvoice';`;
  const { shipped } = await bundle(contents, { platform: 'browser', plugins: [later] });
  const loaded = [
    ...['conversation/agent-conversation', 'conversation/model-conversation', 'text/markdown', 'playback/worklets'],
    ...['providers/llm/mu-dialect', 'providers/llm/chat-dialect', 'providers/llm/model-exchange'],
    ...['providers/tts/sockets/voice-sockets', 'providers/tts/requests/speech-requests', 'transport/http-error'],
  ].map((file) => join('node_modules/rxvoice/dist', `${file}.js`));
  for (const file of loaded) assert(existsSync(join(consumer, file)), file);
  assert.deepEqual(
    shipped.filter((file) => loaded.some((each) => file.endsWith(each))),
    [],
  );
});

test('a pipeline holds nothing of a feature that it does not import, at first or later', async () => {
  const options = { platform: 'browser', minify: true, external: ['mpg123-decoder', 'opus-decoder', 'opusscript'] };
  const names = ['Pipeline', 'AlphaSTT', 'MuLLM', 'AlphaTTS', 'MicrophoneInput', 'BrowserAudioOutput'];
  const { code } = await bundle(`export { ${names} } from 'rxvoice';`, options);
  const held = Object.keys(marks).filter((name) => code.includes(marks[name]));
  assert.deepEqual(held, []);
  // Each is seen where it is imported: otherwise the check is blind.
  for (const [name, mark] of Object.entries(marks)) {
    const one = await bundle(`export { ${[...names, name]} } from 'rxvoice';`, options);
    assert(one.code.includes(mark), `${name} has no "${mark}"`);
    assert(one.code.length > code.length, `${name} takes nothing`);
  }
});

// esbuild drops the initialization of a module that the pipeline loads later, when only `export *` of indexes without
// side effects leads to it: the index of `dist` names what it exports, and `sideEffects` names those of `lib`.
test('a bundle of one file has what the pipeline would load later', async () => {
  const names = ['MicrophoneInput', 'BrowserAudioOutput', 'Pipeline', 'conversation', 'agentConversation'];
  const contents = `import { ${names} } from 'rxvoice';\nglobalThis.types = [${names}].map((each) => typeof each);`;
  const { code } = await bundle(contents, { platform: 'browser' });
  const file = join(consumer, 'one-file.mjs');
  writeFileSync(file, code);
  await import(pathToFileURL(file));
  assert.deepEqual(new Set(globalThis.types), new Set(['function']));
});

test('a minified bundle keeps the names that errors and events show', async () => {
  const { code } = await bundle(`export * from 'rxvoice';`, { platform: 'node', minify: true });
  const file = join(consumer, 'minified.mjs');
  writeFileSync(file, code);
  const minified = await import(pathToFileURL(file));
  const config = { apiKey: 'key', endpoint: 'http://127.0.0.1', model: 'model', voiceId: 'voice', voice: 'voice' };
  for (const [name, value] of Object.entries(minified)) {
    if (typeof value !== 'function' || !(value.prototype instanceof minified.Provider)) continue;
    let provider;
    try {
      provider = new value(config);
    } catch {
      continue; // it needs what only its own runtime or configuration has
    }
    if (provider.name !== undefined) assert.equal(provider.name, name);
  }
  assert.equal(new minified.VoiceError('no', { code: 'internal' }).name, 'VoiceError');
});
