import type * as http from 'node:http';
import type * as https from 'node:https';
import type { Socket } from 'node:net';
import { Observable, Subscription, type Subscriber } from 'rxjs';
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
        if (subscriber.closed) return;
        perform(scheme, wire, subscriber, wire.once ? undefined : poolOf(scheme, wire.url.protocol));
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

/** Has a connection ready for the next POST to an address; requires a keeper. Never fails. */
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
  /** Prepares the next POST to a host: it has its connection, and has sent nothing. */
  warm(url: URL): void;
  /** The POST that was prepared for an address. Its connection may have been closed at this moment. */
  take(url: URL): http.ClientRequest | undefined;
  /** Closes the connections that are free now, and the others when their requests have ended. */
  close(): void;
}

function createPool(scheme: Scheme): Pool {
  // A connection unused for a minute may be dead without notice: a firewall has forgotten it.
  const agent: http.Agent = new scheme.Agent({ keepAlive: true, noDelay: true, timeout: 60_000, maxFreeSockets: 64 });
  const waiting = new Map<string, http.ClientRequest>();
  return {
    agent,
    warm: (url) => {
      const { host } = url;
      if (waiting.has(host)) return;
      const request = scheme.request(url, { method: 'POST', agent });
      const isWaiting = (): boolean => waiting.get(host) === request;
      const forget = (): boolean => isWaiting() && waiting.delete(host);
      waiting.set(host, request);
      request.on('socket', (socket) => isWaiting() && socket.unref());
      request.on('timeout', () => isWaiting() && request.destroy());
      request.on('error', forget).on('close', forget);
    },
    take: ({ host, pathname, search }) => {
      const request = waiting.get(host);
      if (!request) return undefined;
      waiting.delete(host);
      request.path = `${pathname}${search}`;
      request.socket?.ref();
      return request;
    },
    close: () => {
      for (const request of waiting.values()) request.destroy();
      // agent.destroy() would break off the requests under way.
      agent.maxFreeSockets = 0;
      for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    },
  };
}

const closings = new Set(['ECONNRESET', 'EPIPE']);
const repeatable = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);

/**
 * How soon a request must fail on a kept connection, in milliseconds, to have found it closed: word of that takes a round
 * trip. Later, the server may have acted on the request; retrying is then up to the provider.
 */
const closedMs = 250;

function perform(
  scheme: Scheme,
  wire: HttpExchange,
  subscriber: Subscriber<HttpExchangeEvent>,
  pool: Pool | undefined,
): void {
  const { url, method, headers, body } = wire;
  let isAnswered = false;
  let connectedAt: number | undefined;
  const warm = method === 'POST' ? pool?.take(url) : undefined;
  const request = warm ?? scheme.request(url, { method, agent: pool?.agent ?? false });
  subscriber.add(() => request.destroy());
  const onSocket = (socket: Socket): void => {
    const connected = (): void => {
      connectedAt = performance.now();
      subscriber.next({ type: 'connected' });
    };
    if (socket.connecting) socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', connected);
    else connected();
  };
  if (request.socket) onSocket(request.socket);
  else request.on('socket', onSocket);
  request.on('response', (response) => {
    isAnswered = true;
    // Otherwise Node builds an error, stack included, for an unfinished response that nobody reads.
    subscriber.add(() => {
      response.complete = true;
    });
    subscriber.next(answer(response, () => subscriber.complete()));
  });
  // Left in place: destroying the request can also cause an error.
  request.on('error', (error: NodeJS.ErrnoException) => {
    if (subscriber.closed || isAnswered) return;
    const isClosed = (warm ?? request.reusedSocket) && closings.has(error.code ?? '');
    const isUnsent = connectedAt === undefined || performance.now() - connectedAt < closedMs;
    const isHarmless = isUnsent || repeatable.has(method);
    if (isClosed && isHarmless) perform(scheme, wire, subscriber, undefined);
    else subscriber.error(error);
  });
  // Browsers send a User-Agent, and some services reject requests without one.
  for (const [name, value] of Object.entries({ 'User-Agent': 'rxvoice', ...headers })) request.setHeader(name, value);
  request.end(body);
}

function answer(response: http.IncomingMessage, onEnd: () => void): HttpExchangeEvent {
  let failure: unknown;
  response.on('error', (error) => {
    failure = error;
  });
  const body$ = new Observable<Uint8Array<ArrayBuffer>>((subscriber) => {
    const lost = (): void => {
      if (!subscriber.closed) subscriber.error(failure ?? new Error('closed before its end'));
    };
    // Views of the socket's own reads, but not Buffers: their slice() does not copy.
    response.on('data', ({ buffer, byteOffset, byteLength }: Buffer) => {
      subscriber.next(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
    });
    response.on('end', () => subscriber.complete());
    response.on('close', lost);
    if (response.destroyed) lost();
    return onEnd;
  });
  return {
    type: 'response',
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
    body$,
  };
}
