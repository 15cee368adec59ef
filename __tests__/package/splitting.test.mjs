/**
 * Slow: bundles by each of four bundlers.
 *
 * What a page loads at first: an application with a model alone loads no microphone, no speaker and no resampler, even
 * though `rxvoice` exports them and a pipeline loads them later.
 */
import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { bundlers } from '../../scripts/bundlers.mjs';
import { project } from './consumer.mjs';

const model = `import { GroqLLM } from 'rxvoice/groq';\nglobalThis.model = GroqLLM;`;
const names = 'AlphaSTT, AlphaTTS, BrowserAudioOutput, MicrophoneInput, MuLLM, Pipeline';
const talk = `import { ${names} } from 'rxvoice';\nglobalThis.used = [${names}];`;

let folder;
before(() => {
  folder = project('splitting', [], {
    'model.js': `import { NuLLM } from 'rxvoice';\nglobalThis.model = NuLLM;`,
    'talk.js': talk,
    'talk-later.js': `${model}\nglobalThis.talk = () => import('./talk.js');`,
  });
});

const sound = /dist\/(audio\/(resampler|polyphase)|playback|conversation|pipeline|providers\/(input|output))\b/;
const started =
  /dist\/(audio\/resampler|conversation\/\w+-conversation|pipeline\/(session|option-rules)|playback\/(speaker|worklets|\w+-codecs))\.js$/;

/** Checks that a page's first load has a module of its own, and none of those for later. */
async function loads(firstLoad, file, own, later) {
  const { modules } = await firstLoad(join(folder, file), folder);
  assert(modules.some((module) => module.endsWith(own)));
  assert.deepEqual(
    modules.filter((module) => later.test(module)),
    [],
  );
}

for (const [name, firstLoad] of Object.entries(bundlers)) {
  describe(name, () => {
    test('a page with a model alone loads no microphone, speaker or resampler at first', () =>
      loads(firstLoad, 'model.js', '/nu-llm.js', sound));

    test('a page that talks loads later what only a started pipeline needs', () =>
      loads(firstLoad, 'talk.js', '/pipeline.js', started));
  });
}

// From `rxvoice`, both would share its index, and the page load with it what only the later part uses (docs/runtimes.md).
test('esbuild --splitting: a model from its vendor loads none of a part that talks later', () =>
  loads(bundlers['esbuild --splitting'], 'talk-later.js', '/nu-llm.js', sound));
