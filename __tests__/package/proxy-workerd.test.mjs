/** `rxvoice/proxy` in a Cloudflare Worker: bundled as Wrangler does it, in workerd itself. */
import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { consumer, printedIn, startSandbox } from './consumer.mjs';

const origin = 'https://app.example.com';
/** The guide's Worker, as printed. */
const source = printedIn('docs/proxy.md')['worker.js'];
/** The services that it talks to, in the sandbox. */
const services = { 'api.deepgram.com': '/alpha', 'api.groq.com': '/nu' };

let sandbox;
let miniflare;
let result;
before(async () => {
  sandbox = await startSandbox();
  result = await build({
    stdin: { contents: source, resolveDir: consumer },
    ...{ bundle: true, write: false, metafile: true, format: 'esm', platform: 'neutral' },
    ...{ mainFields: ['browser', 'module', 'main'], conditions: ['workerd', 'worker', 'browser'], logLevel: 'error' },
  });
  miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.mjs', contents: result.outputFiles[0].text }],
    bindings: { DEEPGRAM_API_KEY: 'sandbox-key', GROQ_API_KEY: 'sandbox-key' },
    compatibilityDate: '2026-04-01',
    outboundService(request) {
      const { hostname, pathname, search } = new URL(request.url);
      return fetch(`${sandbox.url}${services[hostname]}${pathname}${search}`, {
        ...{ method: request.method, headers: request.headers, body: request.body, duplex: 'half' },
      });
    },
  });
});
after(async () => {
  await miniflare?.dispose();
  sandbox?.stop();
});

const ask = (path, { headers, ...init } = {}) =>
  miniflare.dispatchFetch(`http://worker/api/voice${path}`, {
    ...{ method: 'POST', headers: { origin, 'content-type': 'application/json', ...headers } },
    ...init,
  });
const question = { model: 'openai/gpt-oss-20b', messages: [{ role: 'user', content: 'say good day' }] };

test('its bundle needs nothing of Node and has no socket of ws', () => {
  const [{ imports, inputs }] = Object.values(result.metafile.outputs);
  assert.deepEqual(imports, []);
  assert.deepEqual(
    Object.keys(inputs).filter((file) => /node_modules\/ws\/(lib|wrapper)/.test(file)),
    [],
  );
});

test('requests reach the service with the credential', async () => {
  const answer = await ask('/groq/chat/completions', { body: JSON.stringify(question) });
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /good day/);
});

test('an answer streams', async () => {
  const answer = await ask('/groq/chat/completions', { body: JSON.stringify({ ...question, stream: true }) });
  assert.equal(answer.headers.get('content-type')?.split(';')[0], 'text/event-stream');
  assert.match(await answer.text(), /data: \[DONE\]/);
});

test('a page gets a short-lived token, and no other page does', async () => {
  const { token, expiresInSeconds } = await (await ask('/deepgram/token')).json();
  assert.notEqual(token, 'sandbox-key');
  assert(expiresInSeconds > 0);
  assert.equal((await ask('/deepgram/token', { headers: { origin: 'https://evil.example' } })).status, 403);
});

test('a socket is refused with what to do', async () => {
  const answer = await ask('/deepgram/v1/listen', { method: 'GET', headers: { upgrade: 'websocket' } });
  assert.equal(answer.status, 426);
  const { error } = await answer.json();
  assert.equal(error.code, 'no_socket');
  assert.match(error.message, /proxyToken/);
});

test('each client has its own limits, by the address that Cloudflare sets', async () => {
  const from = async (address) => {
    const answer = await ask('/deepgram/token', { headers: { 'cf-connecting-ip': address } });
    await answer.text();
    return answer.status;
  };
  const statuses = [];
  while (statuses.at(-1) !== 429 && statuses.length < 400) statuses.push(await from('192.0.2.1'));
  assert.deepEqual([...new Set(statuses)], [200, 429]);
  assert.equal(await from('192.0.2.2'), 200);
});
