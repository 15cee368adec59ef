/**
 * What the proxies of the documents import, for tests: `node:http`, `node:https` and `ws` in one. A server listens on a
 * free port, and the service that a proxy asks is a local one, whatever its address says; the address is kept.
 */
import http, { type ClientRequest, type IncomingMessage, type RequestListener, type RequestOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket as RealWebSocket, WebSocketServer, type ClientOptions } from 'ws';

export { WebSocketServer };

/** What a proxy asked of a service. */
interface Asked {
  readonly address: string;
  readonly credential: unknown;
}

/** Every request and socket that a proxy sent on. */
export const asked: Asked[] = [];

/** The servers of the proxies, in the order of their documents. */
export const proxies: http.Server[] = [];

/** Whom the proxies reach, in place of any service. */
export const service = http.createServer((request, response) => {
  request.resume().on('end', () => response.end('fine'));
});
const voices = new WebSocketServer({ server: service });
voices.on('connection', (socket) => socket.on('message', (data, binary) => socket.send(data, { binary })));

export function portOf(server: http.Server | undefined): number {
  return (server?.address() as AddressInfo).port;
}

function note(address: string | URL, headers: unknown): void {
  const named = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'authorization');
  asked.push({ address: String(address), credential: named?.[1] });
}

export function createServer(listener?: RequestListener): http.Server {
  const server = http.createServer(listener);
  const listen = server.listen.bind(server);
  proxies.push(server);
  return Object.assign(server, { listen: () => listen(0, '127.0.0.1') });
}

export function request(
  address: string | URL,
  options: RequestOptions,
  answered: (answer: IncomingMessage) => void,
): ClientRequest {
  note(address, options.headers);
  return http.request({ ...options, host: '127.0.0.1', port: portOf(service), path: '/' }, answered);
}

export class WebSocket extends RealWebSocket {
  constructor(address: string | URL, options: ClientOptions) {
    note(address, options.headers);
    super(`ws://127.0.0.1:${portOf(service)}/`, options);
  }
}
