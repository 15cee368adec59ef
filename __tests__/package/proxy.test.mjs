/** `rxvoice/proxy` under each kind of server, with the client that a browser's bundle has. */
import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { serve } from '@hono/node-server';
import { build } from 'esbuild';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { firstValueFrom, reduce } from 'rxjs';
import { WebSocket } from 'ws';
import { bin, root } from '../../scripts/lib.mjs';
import { consumer } from './consumer.mjs';

const [command, ...parameters] = bin('tsx', '--conditions=rxvoice-source', 'samples/sandbox/main.ts', '--port', '0');
const origin = 'https://app.example.com';
const prefix = '/api/voice';
const children = [];
const closers = [];
let sandbox;
let settings;
let library;
let page;

/** The first line that a program prints, of which only its address matters. */
async function urlOf(child) {
  children.push(child);
  const [line] = await once(createInterface(child.stdout), 'line');
  return /http:\S+\d/.exec(line)[0];
}

before(async () => {
  sandbox = await urlOf(spawn(command, parameters, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] }));
  settings = {
    ...{ prefix, origins: [origin], tokens: ['deepgram'] },
    environment: { DEEPGRAM_API_KEY: 'sandbox-key', GROQ_API_KEY: 'sandbox-key' },
    bases: { deepgram: `${sandbox}/alpha`, groq: `${sandbox}/nu/openai/v1` },
  };
  const load = async (name, contents, options) => {
    const outfile = join(consumer, name);
    await build({
      stdin: { contents, resolveDir: consumer },
      ...{ outfile, bundle: true, format: 'esm', logLevel: 'error', ...options },
    });
    return import(pathToFileURL(outfile));
  };
  library = await load('proxy-entry.mjs', `export * from 'rxvoice/proxy';`, {
    ...{ platform: 'node', external: ['rxvoice', 'ws'] },
  });
  page = await load('proxy-page.mjs', `export * from 'rxvoice'; export { proxyToken } from 'rxvoice/proxy';`, {
    ...{ platform: 'browser', external: ['rxjs', '@msgpack/msgpack', '@anthropic-ai/sdk', '@mlc-ai/web-llm'] },
  });
  // What a browser has: its sockets carry the page's origin, and no other header.
  globalThis.WebSocket = class extends WebSocket {
    constructor(url, protocols) {
      super(url, protocols, { origin });
    }
  };
});
after(async () => {
  for (const close of closers) await close();
  for (const child of children) child.kill();
});

const proxyOf = (more = {}) => {
  const { createProxy, deepgram, groq } = library;
  const proxy = createProxy({ ...settings, targets: { deepgram, groq }, ...more });
  closers.push(() => proxy.dispose());
  return proxy;
};
const listen = async (server) => {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  closers.push(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
};
const upgrades = (server, proxy) => {
  server.on('upgrade', (request, socket, head) => {
    if (!proxy.upgrade(request, socket, head)) socket.destroy();
  });
  return server;
};

/** A language model's answer, over requests. */
async function answers(url) {
  const llm = new page.NuLLM({
    ...{ proxyUrl: `${url}${prefix}/groq`, model: 'openai/gpt-oss-20b', extraHeaders: { origin } },
  });
  await llm.initialize();
  const text = await firstValueFrom(
    llm
      .generate([{ role: 'user', content: 'say good day' }])
      .pipe(reduce((all, event) => all + (event.type === 'token' ? event.text : ''), '')),
  );
  await llm.dispose();
  assert.equal(text, 'good day');
}
/** A voice's audio, over a socket. */
async function speaks(config) {
  const tts = new page.AlphaTTS(config);
  await tts.initialize();
  const bytes = await firstValueFrom(tts.speak('good day').pipe(reduce((sum, { data }) => sum + data.length, 0)));
  await tts.dispose();
  assert(bytes > 1000);
}
const speaksThrough = (url) => speaks({ proxyUrl: `${url}${prefix}/deepgram` });
const speaksByToken = (url) => {
  const apiKey = page.proxyToken(`${url}${prefix}/deepgram/token`, { headers: { origin } });
  return speaks({ apiKey, authType: 'bearer', endpoint: `${sandbox}/alpha` });
};
const status = async (url, path, init) => (await fetch(url + path, init)).status;

const nodeServers = {
  'plain http': (proxy) =>
    upgrades(
      http.createServer((request, response) => {
        proxy.handle(request, response, () => response.end('the application'));
      }),
      proxy,
    ),
  Express: (proxy) => {
    const app = express();
    app.use(proxy.handle);
    app.use(express.json());
    app.get('/', (_request, response) => void response.send('the application'));
    return upgrades(http.createServer(app), proxy);
  },
  'Express, mounted below a path': (proxy) => {
    const app = express();
    app.use(prefix, proxy.handle);
    app.get('/', (_request, response) => void response.send('the application'));
    return upgrades(http.createServer(app), proxy);
  },
  Fastify: async (proxy) => {
    const app = fastify({ forceCloseConnections: true });
    app.addHook('onRequest', async (request, reply) => {
      if (proxy.handle(request.raw, reply.raw)) reply.hijack();
    });
    app.get('/', () => 'the application');
    await app.ready();
    return upgrades(app.server, proxy);
  },
  'Hono on Node': (proxy) => {
    const app = new Hono();
    app.all(`${prefix}/*`, (context) => proxy.fetch(context.req.raw));
    app.get('/', (context) => context.text('the application'));
    return upgrades(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }), proxy);
  },
};
for (const [name, make] of Object.entries(nodeServers)) {
  test(`${name}: requests and sockets`, async () => {
    const server = await make(proxyOf());
    if (name.startsWith('Hono') && !server.listening) await once(server, 'listening');
    const url = await listen(server);
    await answers(url);
    await speaksThrough(url);
    await speaksByToken(url);
    assert.equal(await (await fetch(url)).text(), 'the application');
    assert.equal(await status(url, `${prefix}/groq/models`, { headers: { origin } }), 404);
    const from = { method: 'POST', headers: { origin: 'https://evil.example' }, body: '{}' };
    assert.equal(await status(url, `${prefix}/groq/chat/completions`, from), 403);
  });
}

test('Express with a body parser before it: says what is wrong', async () => {
  const app = express();
  app.use(express.json());
  app.use(proxyOf().handle);
  const url = await listen(http.createServer(app));
  const answer = await fetch(`${url}${prefix}/groq/chat/completions`, {
    ...{ method: 'POST', body: '{}', headers: { origin, 'content-type': 'application/json' } },
  });
  assert.equal(answer.status, 500);
  assert.match((await answer.json()).error.message, /before body parsers/);
});

test('a route of Next: a module that exports handlers', async () => {
  const proxy = proxyOf();
  const POST = (request) => proxy.fetch(request);
  const url = 'https://app.example.com';
  const body = JSON.stringify({ model: 'openai/gpt-oss-20b', messages: [{ role: 'user', content: 'say good day' }] });
  const headers = { origin, 'content-type': 'application/json' };
  const answer = await POST(
    new globalThis.Request(`${url}${prefix}/groq/chat/completions`, { method: 'POST', headers, body }),
  );
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /good day/);
  const token = await POST(
    new globalThis.Request(`${url}${prefix}/deepgram/token`, { method: 'POST', headers: { origin } }),
  );
  await speaks({
    ...{ apiKey: async () => (await token.json()).token, authType: 'bearer', endpoint: `${sandbox}/alpha` },
  });
});

const others = {
  Bun: {
    run: (file) => bin('bun', file),
    program: `const server = Bun.serve({
  ...{ port: 0, hostname: '127.0.0.1' },
  fetch: (request, server) => proxy.fetch(request, { address: server.requestIP(request)?.address }),
});
console.log(server.url.href);`,
  },
  Deno: {
    run: (file) => bin('deno', 'run', '-A', file),
    program: `Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => console.log('http://127.0.0.1:' + port) },
  (request, { remoteAddr }) => proxy.fetch(request, { address: remoteAddr.hostname }));`,
  },
};
for (const [name, { run, program }] of Object.entries(others)) {
  test(`${name}: requests, and tokens for sockets`, async () => {
    const file = join(consumer, `proxy-on-${name}.mjs`);
    writeFileSync(
      file,
      `import { createProxy, deepgram, groq } from 'rxvoice/proxy';
const proxy = createProxy({ targets: { deepgram, groq }, ...${JSON.stringify(settings)} });
${program}`,
    );
    const [runtime, ...args] = run(file);
    const url = await urlOf(spawn(runtime, args, { cwd: consumer, stdio: ['ignore', 'pipe', 'inherit'] }));
    await answers(url);
    await speaksByToken(url);
    const headers = { origin, upgrade: 'websocket', connection: 'upgrade' };
    const socket = http.get(`${url}${prefix}/deepgram/v1/speak`, { headers });
    const [refused] = await once(socket, 'response');
    assert.equal(refused.statusCode, 426);
    refused.destroy();
  });
}
