import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { consumer, startSandbox } from './consumer.mjs';

let sandbox;
let url;

before(async () => {
  sandbox = await startSandbox();
  ({ url } = sandbox);
});
after(() => sandbox.stop());

/** The installed package as a minifier leaves it (docs/faults.md, F58), and as it is. */
const forms = {
  'as it is': { minify: false, external: ['rxvoice', 'ws'] },
  minified: { minify: true, external: ['ws'] },
};
for (const [form, options] of Object.entries(forms)) {
  test(`the packed library converses, ${form}`, async () => {
    const outfile = join(consumer, `conversation-${form.replaceAll(' ', '-')}.mjs`);
    await build({
      stdin: { contents: `export * from 'rxvoice';`, resolveDir: consumer },
      ...{ outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error', ...options },
    });
    const { AlphaSTT, AlphaTTS, BufferInput, NullOutput, NuLLM, Pipeline } = await import(pathToFileURL(outfile));
    const credential = { apiKey: 'sandbox-key' };
    const alpha = { ...credential, endpoint: `${url}/alpha` };
    const providers = [
      new BufferInput({ sampleRate: 16000 }),
      new AlphaSTT(alpha),
      new NuLLM({ ...credential, endpoint: `${url}/nu/openai/v1`, model: 'openai/gpt-oss-20b' }),
      new AlphaTTS(alpha),
      new NullOutput(),
    ];
    const pipeline = new Pipeline({ providers });
    const errors = [];
    pipeline.on('error', ({ provider, code }) => errors.push([provider, code]));
    await pipeline.start();
    assert.deepEqual(await pipeline.send('say good day').done, { heardText: 'good day', interrupted: false });
    assert.deepEqual(
      pipeline.history.messages().map(({ content }) => content),
      ['say good day', 'good day'],
    );
    await pipeline.dispose();
    assert.deepEqual(errors, []);
    const wrong = new NuLLM({ apiKey: 'wrong', endpoint: `${url}/nu/openai/v1`, model: 'openai/gpt-oss-20b' });
    await wrong.initialize();
    const failure = await new Promise((resolve) => {
      wrong.generate([{ role: 'user', content: 'hi' }]).subscribe({ error: resolve });
    });
    assert.deepEqual([failure.code, failure.status, failure.provider], ['unauthorized', 401, 'NuLLM']);
    await wrong.dispose();
  });
}
