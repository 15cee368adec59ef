/**
 * Slow: a bundle by each of four bundlers.
 *
 * What a page loads at first: an application with a model alone loads no microphone, no speaker and no resampler, even
 * though `rxvoice` exports them and a pipeline loads them later.
 */
import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { bundlers } from '../../scripts/bundlers.mjs';
import { project } from './consumer.mjs';

let folder;
before(() => {
  folder = project('splitting', [], { 'app.js': `import { NuLLM } from 'rxvoice';\nglobalThis.model = NuLLM;` });
});

describe('a page with a model alone', () => {
  for (const [name, firstLoad] of Object.entries(bundlers)) {
    test(`loads no microphone, speaker or resampler at first, ${name}`, async () => {
      const { modules } = await firstLoad(join(folder, 'app.js'), folder);
      assert(modules.some((module) => module.endsWith('/nu-llm.js')));
      const later = /dist\/(audio\/(resampler|polyphase)|playback|conversation|pipeline|providers\/(input|output))\b/;
      assert.deepEqual(
        modules.filter((module) => later.test(module)),
        [],
      );
    });
  }
});
