/**
 * Slow: a Next.js application is built, and nine servers start.
 *
 * `rxvoice/proxy` under each kind of server, with the client that a browser's bundle has. The servers are those of
 * docs/proxy.md, as printed there.
 */
import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { join, parse } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { build } from 'esbuild';
import express from 'express';
import { firstValueFrom, reduce } from 'rxjs';
import { WebSocket } from 'ws';
import { bin, capture, node, root } from '../../scripts/lib.mjs';
import { consumer, printedIn, project } from './consumer.mjs';

const [command, ...parameters] = bin('tsx', '--conditions=rxvoice-source', 'samples/sandbox/main.ts', '--port', '0');
const origin = 'https://app.example.com';
const prefix = '/api/voice';
const callsPerMinute = 30;
const printed = printedIn('docs/proxy.md');
const children = [];
const closers = [];
let sandbox;
let settings;
let library;
let page;

/** The first address that a program prints. */
async function urlOf(child) {
  children.push(child);
  for await (const line of createInterface(child.stdout)) {
    const [url] = /http:\S+\d/.exec(stripVTControlCharacters(line)) ?? [];
    if (url) {
      child.stdout.resume();
      return url;
    }
  }
  throw new Error('It ended, and had printed no address');
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

/** What must hold on every server, by whichever way requests come to it. */
async function serves(url) {
  await answers(url);
  await speaksByToken(url);
  assert.equal(await status(url, `${prefix}/groq/models`, { headers: { origin } }), 404);
  const from = { method: 'POST', headers: { origin: 'https://evil.example' }, body: '{}' };
  assert.equal(await status(url, `${prefix}/groq/chat/completions`, from), 403);
  const stranger = { method: 'POST', headers: { origin }, body: '{}' };
  assert.equal(await status(url, `${prefix}/groq/chat/completions?token=guessed`, stranger), 401);
}

/** The status of a request that comes from an address of this machine, or through one that is trusted. */
async function statusFrom(url, { localAddress, ...headers }) {
  const path = `${url}${prefix}/deepgram/token`;
  const [answer] = await once(
    http.request(path, { method: 'POST', localAddress, headers: { origin, ...headers } }).end(),
    'response',
  );
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode;
}
/** A client that has taken its share leaves the next one's. */
async function countsByClient(url, one, other) {
  const statuses = [];
  while (statuses.at(-1) !== 429 && statuses.length < 3 * callsPerMinute) statuses.push(await statusFrom(url, one));
  assert.deepEqual([...new Set(statuses)], [200, 429]);
  assert.equal(await statusFrom(url, other), 200);
}
const byAddress = [{ localAddress: '127.0.0.1' }, { localAddress: '127.0.0.2' }];

/** Where sockets cannot be taken, a page that tries one is told at once, and what to do. */
async function refusesSockets(url) {
  const fromPage = (to, init) => fetch(to, { ...init, headers: { ...init.headers, origin } });
  const tts = new page.AlphaTTS({ proxyUrl: `${url}${prefix}/deepgram`, fetch: fromPage });
  await tts.initialize();
  await assert.rejects(firstValueFrom(tts.speak('good day')), (error) => {
    assert.equal(error.code, 'configuration', error.message);
    assert.match(String(error.cause), /proxyToken/);
    return true;
  });
  await tts.dispose();
}

/** The `proxy.js` that the guide's servers import: with the sandbox, and limits that a test can reach. */
const proxyFile = (more = {}) => `
import { createProxy, deepgram, groq } from 'rxvoice/proxy';
export const proxy = createProxy({
  targets: { deepgram, groq },
  ...${JSON.stringify({ ...settings, limits: { callsPerMinute }, ...more })},
  authenticate: (request) => new URL(request.url).searchParams.get('token') !== 'guessed',
});`;
async function freePort() {
  const server = http.createServer();
  await once(server.listen(0), 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
/** Runs a server of the guide, as printed but for its port; resolves with its address once it listens. */
async function started(name, { file, packages = [], runtime = node, change = (code) => code, ready }) {
  const port = await freePort();
  const code = change(printed[file]);
  assert(code.includes('8080'), `${file} has no port`);
  const folder = project(`proxy-${name.toLowerCase().replaceAll(/\W+/g, '-')}`, packages, {
    'package.json': '{"private":true,"type":"module"}',
    'proxy.js': proxyFile(),
    [file]: `${code.replace('8080', port)}\n${ready ?? ''}\nconsole.log('it listens at http://127.0.0.1:${port}');\n`,
  });
  const [command, ...args] = runtime(file);
  return urlOf(spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] }));
}
const listening = `if (!server.listening) await new Promise((resolve) => server.on('listening', resolve));`;
const bun = (file) => bin('bun', file);
const deno = (file) => bin('deno', 'run', '-A', file);

const nodeServers = {
  'plain http': { file: 'server.js' },
  'plain http on Bun': { file: 'server.js', runtime: bun },
  Express: { file: 'express.js', packages: ['express'] },
  Fastify: { file: 'fastify.js', packages: ['fastify'] },
  'Hono on Node': { file: 'hono.js', packages: ['hono', '@hono/node-server'] },
};
for (const [name, server] of Object.entries(nodeServers)) {
  test(`${name}, as the guide has it: requests, sockets and tokens`, async () => {
    const url = await started(name, { ...server, ready: listening });
    await serves(url);
    await speaksThrough(url);
    assert.equal(await (await fetch(url)).text(), 'the application');
    await countsByClient(url, ...byAddress);
  });
}

/** The guide's Hono without Node's server. */
const withoutNode = (code) => {
  const [app] = code.replace("'@hono/node-server/conninfo'", "'hono/bun'").split('const server = serve(');
  return `${app.replace(/import \{ serve \}.*\n/, '')}export default { port: 8080, fetch: app.fetch };`;
};
const fetchServers = {
  Bun: { file: 'bun.js', runtime: bun },
  Deno: { file: 'deno.js', runtime: deno },
  'Hono on Bun': { file: 'hono.js', packages: ['hono'], runtime: bun, change: withoutNode },
};
for (const [name, server] of Object.entries(fetchServers)) {
  test(`${name}, as the guide has it: requests, and tokens for sockets`, async () => {
    const url = await started(name, server);
    await serves(url);
    await refusesSockets(url);
    await countsByClient(url, ...byAddress);
  });
}

test('Next.js, as the guide has it, built for production: requests, and tokens for sockets', async () => {
  const route = 'app/api/voice/[...path]/route.js';
  const folder = project('proxy-next', ['next', 'react', 'react-dom'], {
    // Turbopack sees no file outside its root, and the packages are links.
    'next.config.mjs': `export default { turbopack: { root: ${JSON.stringify(parse(consumer).root)} } };`,
    'jsconfig.json': '{"compilerOptions":{"paths":{"@/*":["./*"]}}}',
    'lib/proxy.js': proxyFile({ trustProxy: 1 }),
    'app/layout.jsx': `export default ({ children }) => <html lang="en"><body>{children}</body></html>;`,
    'app/page.jsx': 'export default () => <p>the application</p>;',
    [route]: printed[route],
  });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  const next = (...args) => node('node_modules/next/dist/bin/next', ...args);
  capture(next('build'), { cwd: folder, env });
  const [command, ...args] = next('start', '--port', String(await freePort()));
  const url = await urlOf(spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] }));
  await serves(url);
  await refusesSockets(url);
  await countsByClient(url, { 'x-forwarded-for': '192.0.2.1' }, { 'x-forwarded-for': '192.0.2.1, 192.0.2.2' });
});

test('Express, mounted below a path', async () => {
  const proxy = proxyOf();
  const app = express();
  app.use(prefix, proxy.handle);
  app.get('/', (_request, response) => void response.send('the application'));
  const url = await listen(upgrades(http.createServer(app), proxy));
  await answers(url);
  await speaksThrough(url);
  assert.equal(await (await fetch(url)).text(), 'the application');
});

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
