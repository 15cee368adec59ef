/** A Cloudflare Worker that talks: the packed library as esbuild bundles it for Workers, in workerd itself. */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { consumer, startSandbox } from './consumer.mjs';

const source = (url) => `
import { AlphaSTT, AlphaTTS, BufferInput, NullOutput, NuLLM, Pipeline } from 'rxvoice';

/** Answers each message of its client with what was heard of the agent. */
async function converse(client) {
  const credential = { apiKey: 'sandbox-key' };
  const alpha = { ...credential, endpoint: '${url}/alpha' };
  const pipeline = new Pipeline({
    providers: [
      new BufferInput({ sampleRate: 16000 }),
      new AlphaSTT(alpha),
      new NuLLM({ ...credential, endpoint: '${url}/nu/openai/v1', model: 'openai/gpt-oss-20b' }),
      new AlphaTTS(alpha),
      new NullOutput(),
    ],
  });
  const errors = [];
  pipeline.on('error', ({ provider, code, message }) => errors.push([provider, code, message]));
  client.addEventListener('message', async ({ data }) => {
    const answer = await pipeline.send(data).done;
    client.send(JSON.stringify({ ...answer, errors }));
  });
  client.addEventListener('close', () => pipeline.dispose());
  await pipeline.start();
  client.send('ready');
}

export default {
  async fetch(request, env, context) {
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    context.waitUntil(converse(server).catch((error) => server.send(String(error.stack))));
    return new Response(null, { status: 101, webSocket: client });
  },
};
`;

let sandbox;
let miniflare;
before(async () => {
  sandbox = await startSandbox();
  const { outputFiles } = await build({
    stdin: { contents: source(sandbox.url), resolveDir: consumer },
    ...{ bundle: true, write: false, format: 'esm', platform: 'neutral', mainFields: ['module', 'main'] },
    ...{ conditions: ['workerd', 'worker', 'browser'], logLevel: 'error' },
  });
  miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.mjs', contents: outputFiles[0].text }],
    compatibilityDate: '2026-04-01',
  });
});
after(async () => {
  await miniflare?.dispose();
  sandbox?.stop();
});

test('a whole pipeline answers in workerd, by WebSocket', async () => {
  const { webSocket } = await miniflare.dispatchFetch('http://worker/', { headers: { Upgrade: 'websocket' } });
  const next = async () => (await once(webSocket, 'message'))[0].data;
  const ready = next();
  webSocket.accept();
  assert.equal(await ready, 'ready');
  const answered = next();
  webSocket.send('say good day');
  assert.deepEqual(JSON.parse(await answered), { heardText: 'good day', interrupted: false, errors: [] });
  webSocket.close();
});
