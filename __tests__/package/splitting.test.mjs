/**
 * Slow: bundles by each of four bundlers.
 *
 * What a page loads at first: an application with a model alone loads no microphone, no speaker and no resampler, even
 * though `rxvoice` exports them and a pipeline loads them later.
 */
import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { bringChromium } from '../../scripts/browsers.mjs';
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

const executablePath = bringChromium();
let browser;
after(() => browser?.close());

/** What Chromium asks for when it opens a page with these files, of which the first is the entry. */
async function requested(files) {
  browser ??= await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  const asked = [];
  await page.route('**', (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    const body = `<!doctype html><link rel="icon" href="data:," /><script type="module" src="/${files[0].name}"></script>`;
    if (name === '') return route.fulfill({ contentType: 'text/html', body });
    asked.push(name);
    const file = files.find((each) => each.name === name);
    return route.fulfill(file ? { contentType: 'text/javascript', body: file.code } : { status: 404 });
  });
  await page.goto('http://page.test/');
  assert.equal(await page.evaluate(() => globalThis.used?.length), 6);
  await page.close();
  return asked;
}

/** Checks that a page's first load has a module of its own, and none of those for later; returns its files. */
async function loads(firstLoad, file, own, later) {
  const { modules, files } = await firstLoad(join(folder, file), folder);
  assert(modules.some((module) => module.endsWith(own)));
  assert.deepEqual(
    modules.filter((module) => later.test(module)),
    [],
  );
  return files;
}

for (const [name, firstLoad] of Object.entries(bundlers)) {
  describe(name, () => {
    test('a page with a model alone loads no microphone, speaker or resampler at first', () =>
      loads(firstLoad, 'model.js', '/nu-llm.js', sound));

    // What `npm run size` counts.
    let files;
    test('a page that talks loads later what only a started pipeline needs', async () => {
      files = await loads(firstLoad, 'talk.js', '/pipeline.js', started);
    });

    test(
      'Chromium loads for it what was counted, each file once',
      { skip: !executablePath && 'no Chromium' },
      async () => {
        assert.deepEqual((await requested(files)).sort(), files.map((file) => file.name).sort());
      },
    );
  });
}

// From `rxvoice`, both would share its index, and the page load with it what only the later part uses (docs/runtimes.md).
test('esbuild --splitting: a model from its vendor loads none of a part that talks later', () =>
  loads(bundlers['esbuild --splitting'], 'talk-later.js', '/nu-llm.js', sound));
