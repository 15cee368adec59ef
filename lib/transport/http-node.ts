import type * as http from 'node:http';
import type * as https from 'node:https';
import { finalize, Observable, Subscription, type Subscriber } from 'rxjs';
import type { HttpExchange, HttpExchangeEvent } from './http.ts';

type Scheme = typeof http | typeof https;

// Loaded at the first request. Node's own fetch costs 0.4 ms a turn more than these (PERFORMANCE.md).
const schemes: Readonly<Record<string, () => Promise<Scheme>>> = {
  'http:': () => import('node:http'),
  'https:': () => import('node:https'),
};
const loaded = new Map<string, Scheme>();
const agents = new Map<string, http.Agent>();
let keepers = 0;

/** Performs an exchange through `node:http` or `node:https`. */
export function exchange(wire: HttpExchange): Observable<HttpExchangeEvent> {
  return new Observable((subscriber) => {
    const start = (scheme: Scheme): void => {
      if (!subscriber.closed) perform(scheme, wire, subscriber, agentOf(scheme, wire.url.protocol));
    };
    const scheme = loaded.get(wire.url.protocol);
    if (scheme) start(scheme);
    else
      load(wire.url.protocol)
        .then(start)
        .catch((cause: unknown) => subscriber.error(cause));
  });
}

/**
 * Lets requests share connections and keep them open between each other, until the last keeper is unsubscribed.
 * Without a keeper each request has a connection of its own. An idle one never keeps the process alive.
 */
export function keepConnections(): Subscription {
  keepers++;
  return new Subscription(() => {
    keepers--;
    if (keepers > 0) return;
    for (const agent of agents.values()) agent.destroy();
    agents.clear();
  });
}

async function load(protocol: string): Promise<Scheme> {
  const scheme = await schemes[protocol]?.();
  if (!scheme) throw new TypeError(`${protocol} is not a scheme of HTTP`);
  loaded.set(protocol, scheme);
  return scheme;
}

function agentOf(scheme: Scheme, protocol: string): http.Agent | false {
  if (keepers === 0) return false;
  let agent: http.Agent | undefined = agents.get(protocol);
  if (!agent) {
    // A connection that nobody has used for a minute may be dead without a sign: a firewall forgot it.
    agent = new scheme.Agent({ keepAlive: true, maxFreeSockets: 64, timeout: 60_000 });
    agents.set(protocol, agent);
  }
  return agent;
}

const stale = new Set(['ECONNRESET', 'EPIPE']);

function perform(
  scheme: Scheme,
  wire: HttpExchange,
  subscriber: Subscriber<HttpExchangeEvent>,
  agent: http.Agent | false,
): void {
  const { url, method, headers, body } = wire;
  let isAnswered = false;
  const request = scheme.request(url, { method, headers, agent });
  subscriber.add(() => request.destroy());
  request.on('socket', (socket) => {
    const connected = (): void => subscriber.next({ type: 'connected' });
    if (socket.connecting) socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', connected);
    else connected();
  });
  request.on('response', (response) => {
    isAnswered = true;
    subscriber.next(answer(response, () => subscriber.complete()));
  });
  // Stays for good: destroying the request, too, can give an error.
  request.on('error', (error: NodeJS.ErrnoException) => {
    if (subscriber.closed || isAnswered) return;
    // The server may close an idle connection in the very moment in which it is used again.
    if (agent && request.reusedSocket && stale.has(error.code ?? '')) perform(scheme, wire, subscriber, false);
    else subscriber.error(error);
  });
  request.end(body);
}

function answer(response: http.IncomingMessage, onEnd: () => void): HttpExchangeEvent {
  let failure: unknown = new Error('closed before its end');
  response.on('error', (error) => {
    failure = error;
  });
  const body$ = new Observable<Uint8Array<ArrayBuffer>>((subscriber) => {
    const lost = (): void => subscriber.error(failure);
    // Views of the socket's own reads, but no Buffers: their slice() is no copy.
    response.on('data', ({ buffer, byteOffset, byteLength }: Buffer) => {
      subscriber.next(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
    });
    response.on('end', () => subscriber.complete());
    response.on('close', lost);
    if (response.destroyed) lost();
  });
  return {
    type: 'response',
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
    body$: body$.pipe(finalize(onEnd)),
  };
}
