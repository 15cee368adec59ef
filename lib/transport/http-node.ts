import type * as http from 'node:http';
import type * as https from 'node:https';
import type { Socket } from 'node:net';
import { finalize, Observable, Subscription, type Subscriber } from 'rxjs';
import type { HttpExchange, HttpExchangeEvent } from './http-exchange.ts';

type Scheme = typeof http | typeof https;

// Loaded on the first request. Node's own fetch costs 0.4 ms more per turn (PERFORMANCE.md).
const schemes: Readonly<Record<string, () => Promise<Scheme>>> = {
  'http:': () => import('node:http'),
  'https:': () => import('node:https'),
};
const loaded = new Map<string, Scheme>();
const pools = new Map<string, Pool>();
let keepers = 0;

/** Performs an exchange through `node:http` or `node:https`. */
export function exchange(wire: HttpExchange): Observable<HttpExchangeEvent> {
  return new Observable((subscriber) => {
    withScheme(
      wire.url.protocol,
      (scheme) => {
        if (!subscriber.closed) perform(scheme, wire, subscriber, poolOf(scheme, wire.url.protocol));
      },
      (cause) => subscriber.error(cause),
    );
  });
}

/**
 * Lets requests share connections and keeps them open in between, until the last keeper is unsubscribed; without one,
 * each request has its own connection. An idle connection never keeps the process alive.
 */
export function keepConnections(): Subscription {
  keepers++;
  return new Subscription(() => {
    keepers--;
    if (keepers > 0) return;
    for (const pool of pools.values()) pool.close();
    pools.clear();
  });
}

/** Opens a connection for the next request to an address unless one is open; requires a keeper. Never fails. */
export function warmConnection(url: URL): void {
  if (keepers === 0) return;
  withScheme(
    url.protocol,
    (scheme) => poolOf(scheme, url.protocol)?.warm(url),
    // The request itself will report a bad address.
    () => undefined,
  );
}

/** Calls back at once, except the first time. */
function withScheme(protocol: string, use: (scheme: Scheme) => void, fail: (cause: unknown) => void): void {
  const scheme = loaded.get(protocol);
  if (scheme) {
    use(scheme);
    return;
  }
  const load = schemes[protocol] ?? (() => Promise.reject(new TypeError(`${protocol} is not an HTTP scheme`)));
  load()
    .then((fresh) => {
      loaded.set(protocol, fresh);
      use(fresh);
    })
    .catch(fail);
}

function poolOf(scheme: Scheme, protocol: string): Pool | undefined {
  if (keepers === 0) return undefined;
  let pool = pools.get(protocol);
  if (!pool) pools.set(protocol, (pool = createPool(scheme)));
  return pool;
}

/** Connections that outlive their request, or precede it. */
interface Pool {
  readonly agent: http.Agent;
  /** Whether a request got an idle connection, which the server may have closed at that moment. */
  isWaited(request: http.ClientRequest): boolean;
  warm(url: URL): void;
  close(): void;
}

function createPool(scheme: Scheme): Pool {
  // A connection unused for a minute may be dead without notice: a firewall has forgotten it.
  const kept = { keepAlive: true, noDelay: true, timeout: 60_000 };
  const agent: http.Agent = new scheme.Agent({ ...kept, maxFreeSockets: 64 });
  const connect = agent.createConnection.bind(agent);
  const waiting = new Map<string, Socket>();
  const waited = new WeakSet<Socket>();
  const keyOf = ({ host, port }: http.ClientRequestArgs): string => `${host}:${port}`;

  agent.createConnection = (options, callback) => {
    const key = keyOf(options);
    const socket = waiting.get(key);
    waiting.delete(key);
    return socket?.ref() ?? connect(options, callback);
  };
  return {
    agent,
    isWaited: (request) => request.reusedSocket || (request.socket !== null && waited.has(request.socket)),
    warm: ({ hostname, port, protocol }) => {
      const host = hostname.replace(/^\[|\]$/g, '');
      // An IP address has no name to request a certificate for.
      const name = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
      const options = { ...kept, ...name, host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
      const key = keyOf(options);
      const isOpen = Object.keys(agent.freeSockets).some((name) => name.startsWith(`${key}:`));
      if (isOpen || waiting.has(key)) return;
      const socket = connect(options) as Socket;
      const forget = (): void => {
        if (waiting.get(key) === socket) waiting.delete(key);
      };
      waited.add(socket);
      waiting.set(key, socket.unref());
      socket.on('error', forget).on('close', forget);
      socket.on('timeout', () => waiting.get(key) === socket && socket.destroy());
    },
    close: () => {
      for (const socket of waiting.values()) socket.destroy();
      agent.destroy();
    },
  };
}

const stale = new Set(['ECONNRESET', 'EPIPE']);

function perform(
  scheme: Scheme,
  wire: HttpExchange,
  subscriber: Subscriber<HttpExchangeEvent>,
  pool: Pool | undefined,
): void {
  const { url, method, headers, body } = wire;
  let isAnswered = false;
  // Browsers send a User-Agent, and some services reject requests without one.
  const named = { 'User-Agent': 'rxvoice', ...headers };
  const request = scheme.request(url, { method, headers: named, agent: pool?.agent ?? false });
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
  // Left in place: destroying the request can also cause an error.
  request.on('error', (error: NodeJS.ErrnoException) => {
    if (subscriber.closed || isAnswered) return;
    // The server may close an idle connection at the very moment it is reused.
    if (pool?.isWaited(request) && stale.has(error.code ?? '')) perform(scheme, wire, subscriber, undefined);
    else subscriber.error(error);
  });
  request.end(body);
}

function answer(response: http.IncomingMessage, onEnd: () => void): HttpExchangeEvent {
  let failure: unknown;
  response.on('error', (error) => {
    failure = error;
  });
  const body$ = new Observable<Uint8Array<ArrayBuffer>>((subscriber) => {
    const lost = (): void => subscriber.error(failure ?? new Error('closed before its end'));
    // Views of the socket's own reads, but not Buffers: their slice() does not copy.
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
