/** A Cloudflare Worker that talks: the packed library as esbuild bundles it for Workers, in workerd itself. */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { consumer, startSandbox } from './consumer.mjs';

const source = (url) => `
import { AlphaSTT, AlphaTTS, BufferInput, IotaSTT, NullOutput, NuLLM, Pipeline, RhoTTS } from 'rxvoice';

const credential = { apiKey: 'sandbox-key' };
const alpha = { ...credential, endpoint: '${url}/alpha' };

function pipelineOf(stt, tts) {
  const llm = new NuLLM({ ...credential, endpoint: '${url}/nu/openai/v1', model: 'openai/gpt-oss-20b' });
  const input = new BufferInput({ sampleRate: 16000 });
  const pipeline = new Pipeline({ providers: [input, stt, llm, tts, new NullOutput()] });
  const errors = [];
  pipeline.on('error', ({ provider, code, message }) => errors.push([provider, code, message]));
  return { pipeline, errors };
}

/** Answers each message of its client with what was heard of the agent. */
async function converse(client) {
  const { pipeline, errors } = pipelineOf(new AlphaSTT(alpha), new AlphaTTS(alpha));
  client.addEventListener('message', async ({ data }) => {
    const answer = await pipeline.send(data).done;
    client.send(JSON.stringify({ ...answer, errors }));
  });
  client.addEventListener('close', () => {
    client.close();
    void pipeline.dispose();
  });
  await pipeline.start();
  client.send('ready');
}

/** Speaks a question, hears it, and tells what was understood and what was heard of the answer: by requests alone. */
async function ask(question) {
  const rho = { ...credential, endpoint: '${url}/rho', voiceId: 'geffen_32' };
  const iota = { ...credential, endpoint: '${url}/iota' };
  const { pipeline, errors } = pipelineOf(new IotaSTT(iota), new RhoTTS(rho));
  const [caller, ear] = [new RhoTTS({ ...rho, audioFormat: 'wav' }), new IotaSTT(iota)];
  await Promise.all([pipeline.start(), caller.initialize(), ear.initialize()]);
  const { text } = await ear.transcribe(await caller.synthesize(question));
  const answer = await pipeline.send(text).done;
  await Promise.all([pipeline.dispose(), caller.dispose(), ear.dispose()]);
  return { text, ...answer, errors };
}

export default {
  async fetch(request, env, context) {
    if (request.method === 'POST') {
      // Nothing here may need a socket.
      delete globalThis.WebSocket;
      return Response.json(await ask(await request.text()));
    }
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

test('a whole pipeline hears and answers in workerd, by fetch', async () => {
  const response = await miniflare.dispatchFetch('http://worker/', { method: 'POST', body: 'say good day' });
  const answer = await response.text();
  assert.equal(response.status, 200, answer);
  assert.deepEqual(JSON.parse(answer), {
    ...{ text: 'say good day', heardText: 'good day' },
    ...{ interrupted: false, errors: [] },
  });
});
