/**
 * What the proxy of the documents imports, for tests: a server listens on a free port, and the services that it asks are
 * a local one, whatever their addresses say.
 */
import http, { type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { createProxy as createRealProxy, type Proxy, type ProxyOptions } from '../../lib/proxy/index.ts';

export * from '../../lib/proxy/index.ts';

/** What a proxy asked of a service. */
interface Asked {
  readonly address: string | undefined;
  readonly credential: unknown;
}

/** Every request and socket that a proxy sent on. */
export const asked: Asked[] = [];

/** The servers of the proxies, in the order of their documents. */
export const servers: http.Server[] = [];
export const proxies: Proxy[] = [];

/** Whom the proxies reach, in place of any service. */
export const service = http.createServer((request, response) => {
  asked.push({ address: request.url, credential: request.headers.authorization });
  request.resume().on('end', () => response.end('fine'));
});
const voices = new WebSocketServer({ server: service });
voices.on('connection', (socket, request) => {
  asked.push({ address: request.url, credential: request.headers.authorization });
  socket.on('message', (data, binary) => socket.send(data, { binary }));
});

export function portOf(server: http.Server | undefined): number {
  return (server?.address() as AddressInfo).port;
}

export function createServer(listener?: RequestListener): http.Server {
  const server = http.createServer(listener);
  const listen = server.listen.bind(server);
  servers.push(server);
  return Object.assign(server, { listen: () => listen(0, '127.0.0.1') });
}

export function createProxy(options: ProxyOptions): Proxy {
  const mounts = Object.keys(options.targets);
  const proxy = createRealProxy({
    ...options,
    environment: { DEEPGRAM_API_KEY: 'deepgram-key', GROQ_API_KEY: 'groq-key' },
    bases: Object.fromEntries(mounts.map((name) => [name, `http://127.0.0.1:${portOf(service)}/real/${name}`])),
  });
  proxies.push(proxy);
  return proxy;
}
