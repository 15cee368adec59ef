import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { createProxy, type ProxyEnvironment } from '../../../lib/proxy/index.ts';
import { targets } from '../../proxy/index.ts';
import { startSandbox } from '../../sandbox/index.ts';
import { bundlePage, type Asset } from './bundle.ts';
import { Forward } from './forward.ts';
import { applyHazard, BadHazard } from './hazards.ts';
import { recipeList, runRecipe } from './recipes.ts';
import { Talk } from './talk.ts';

/** Settings of {@link startPlayground}. */
export interface PlaygroundOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** Default: `127.0.0.1`; on others, whoever reaches it spends the keys in the environment. */
  readonly host?: string;
  /** Where the vendors' keys are. Default: nowhere, so that there is the sandbox only. */
  readonly env?: ProxyEnvironment;
  /** Gets a line for everything that the sandbox refuses, and why. Default: nobody. */
  readonly log?: (line: string) => void;
}

/** What the page is told of its services: where each vendor is, below its own origin. */
export interface Services {
  /** The sandbox's, by vendor. */
  readonly sandbox: Readonly<Record<string, string>>;
  /** The real ones that there is a key for, by vendor. */
  readonly proxy: Readonly<Record<string, string>>;
  /** Whether the server runs the recipes. */
  readonly recipes?: boolean;
  /** Where a recording of the scene is, for a page that has no sandbox to play it. */
  readonly recording?: string;
}

/** A running playground. */
export interface Playground {
  readonly url: string;
  readonly port: number;
  /** The vendors that there is a key for. */
  readonly vendors: readonly string[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How the sandbox's services keep time here: visibly, as real ones do. */
export const pace = { tokenDelayMs: 35, realtimeFactor: 6, keepRecords: 0 } as const;

const policy = [
  "default-src 'none'",
  "script-src 'self' blob: 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "worker-src 'self' blob:",
  "connect-src 'self' ws: wss: https:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const html = 'text/html; charset=utf-8';
/** Longest body that the page sends, in bytes. */
const maxBody = 4_096;

/**
 * Builds the page and serves it with the sandbox and, where there are keys, the proxy on one address.
 *
 * @throws Error that says what to do when the port is taken.
 */
export async function startPlayground(options: PlaygroundOptions = {}): Promise<Playground> {
  const { port = 0, host = '127.0.0.1', env = {}, log = () => undefined } = options;
  const proxy = createProxy({ targets, environment: env, prefix: '/proxy', log });
  const server = createServer();
  // Nobody is answered before everything is there.
  const [assets, sandbox] = await Promise.all([pageAssets(), startSandbox({ ...pace, log })]);
  try {
    await listen(server, port, host);
  } catch (error) {
    await proxy.dispose();
    await sandbox.close();
    throw error;
  }
  const address = server.address();
  const taken = typeof address === 'object' && address ? address.port : port;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${taken}`;
  const forward = new Forward('/sandbox', `${sandbox.url}/proxy`);
  const services: Services = {
    sandbox: Object.fromEntries(
      Object.entries(sandbox.proxies).map(([name, base]) => [
        name,
        new URL(base).pathname.replace('/proxy', '/sandbox'),
      ]),
    ),
    proxy: proxy.mounts,
    recipes: true,
  };
  const hosts = new Set([host, '127.0.0.1', 'localhost', '[::1]']);
  const whole = (paths: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, `${url}${path}`]));
  const origins = [...hosts].map((name) => `http://${name}:${taken}`);
  const talk = new Talk({ sandbox: whole(services.sandbox), proxy: whole(services.proxy) }, origins);
  // A page of another name that leads here (DNS rebinding) must not reach what spends keys.
  const isOurs = ({ headers }: IncomingMessage): boolean => hosts.has((headers.host ?? '').replace(/:\d+$/, ''));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET' } = request;
    const path = pathOf(request);
    if (!isOurs(request)) send(response, 403, { error: `Open the playground at ${url}` });
    else if (proxy.handle(request, response)) return;
    else if (forward.takes(path)) forward.request(request, response);
    else if (method === 'POST' && path === '/api/hazards') await hazard(request, response);
    else if (method === 'POST' && path.startsWith('/api/recipes/')) {
      if (isFromPage(request)) await runRecipe(path.slice('/api/recipes/'.length), response);
      else send(response, 403, { error: 'Only the playground page runs recipes' });
    } else if (method !== 'GET' && method !== 'HEAD') send(response, 405, { error: `${method} is not for ${path}` });
    else if (path === '/api/services') send(response, 200, services);
    else if (path === '/api/recipes') send(response, 200, await recipeList());
    else {
      const asset = assets.get(path);
      if (asset) sendAsset(response, asset);
      else send(response, 404, { error: `There is no ${path}` });
    }
  }

  async function hazard(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isFromPage(request)) {
      send(response, 403, { error: 'Only the playground page does hazards' });
      return;
    }
    try {
      send(response, 200, applyHazard(await readJson(request), sandbox, forward));
    } catch (error) {
      if (!(error instanceof BadHazard) && !(error instanceof SyntaxError)) throw error;
      send(response, 400, { error: error.message });
    }
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isOurs(request)) socket.destroy();
    else if (talk.takes(pathOf(request))) talk.upgrade(request, socket, head);
    else if (proxy.upgrade(request, socket, head)) return;
    else if (forward.takes(pathOf(request))) forward.upgrade(request, socket, head);
    else socket.destroy();
  });

  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      await talk[Symbol.asyncDispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await Promise.all([proxy.dispose(), sandbox.close()]);
      await closed;
    })();
    return closing;
  };
  return { url, port: taken, vendors: Object.keys(proxy.mounts), close, [Symbol.asyncDispose]: close };
}

/** Whether no other site has a browser ask this. */
function isFromPage({ headers: { origin, host } }: IncomingMessage): boolean {
  return origin === undefined || URL.parse(origin)?.host === host;
}

/** The path as it was sent: it is compared, and may be no address at all (`//`). */
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') {
        reject(new Error(`Port ${port} is taken: npm start -- --port 0 takes any free one`));
      } else if (error.code === 'EACCES') {
        reject(new Error(`Port ${port} is not allowed to you: take one from 1024 on`));
      } else {
        reject(error);
      }
    });
    server.listen(port, host, resolve);
  });
}

/** Everything that the page is made of, by its path. */
export async function pageAssets(): Promise<Map<string, Asset>> {
  const read = (name: string): Promise<Uint8Array> => readFile(new URL(`../page/${name}`, import.meta.url));
  const [scripts, index, style, icon, features, featuresStyle] = await Promise.all([
    bundlePage(),
    read('index.html'),
    read('style.css'),
    read('icon.svg'),
    read('features.html'),
    read('features.css'),
  ]);
  return scripts
    .set('/', { type: html, body: index })
    .set('/style.css', { type: 'text/css', body: style })
    .set('/features.html', { type: html, body: features })
    .set('/features.css', { type: 'text/css', body: featuresStyle })
    .set('/icon.svg', { type: 'image/svg+xml', body: icon });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

function sendAsset(response: ServerResponse, { type, body }: Asset): void {
  const headers = { 'content-type': type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' };
  response.writeHead(200, type === html ? { ...headers, 'content-security-policy': policy } : headers).end(body);
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const part of request as AsyncIterable<Buffer>) {
    text += part.toString();
    if (text.length > maxBody) throw new BadHazard('too long');
  }
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new BadHazard('not an object');
  return value;
}
