import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { createAgents } from './agents.ts';
import { relayHttp, sendRefusal } from './http-relay.ts';
import { defaultLimits, type ProxyLimits } from './limits.ts';
import { Mask } from './mask.ts';
import { corsHeaders, isFromAllowedPage, preflightHeaders } from './origin.ts';
import { awaitAcceptance, createSocketServer, isHandshake, refuseUpgrade, relaySocket } from './socket-relay.ts';
import { findRoute, isBelow, isRefusal, parseTarget, type Refusal } from './target.ts';
import { upstreamOf, withCredential } from './upstream.ts';
import { needsOf, secretsOf, vendors as allVendors } from './vendors.ts';
import type { Environment, ProxiedRoute, ProxiedVendor } from './vendors.ts';

export type { ProxyLimits } from './limits.ts';
export { needsOf, vendors } from './vendors.ts';
export type { Environment, Injection, ProxiedRoute, ProxiedVendor, VendorName } from './vendors.ts';

/** Settings of a proxy. */
export interface ProxyOptions {
  /** Where the credentials are, read anew for each request. Default: `process.env`. */
  readonly environment?: Environment;
  /** Whom it serves, by mount. Default: every vendor of `vendors.ts`; without its variables one is not mounted. */
  readonly vendors?: Readonly<Record<string, ProxiedVendor>>;
  /** Addresses in place of the vendors' own, by mount: a region, a gateway, a test. */
  readonly bases?: Readonly<Record<string, string>>;
  /** Path before the mounts, such as `/api/voice`. Default: none. */
  readonly prefix?: string;
  /** Origins whose pages it serves. Default: those of its own port on this machine. */
  readonly origins?: readonly string[];
  /** Whether requests must come from a page: programs do not say that they do. Default: true. */
  readonly requiresOrigin?: boolean;
  /** Whether a user may; who may not gets a 401. Default: everybody who can reach it. */
  readonly authorize?: (request: IncomingMessage) => boolean | Promise<boolean>;
  readonly limits?: Partial<ProxyLimits>;
  /** Gets a line for each request: never a query, a body or a credential. Default: nobody. */
  readonly log?: (line: string) => void;
}

/** A proxy to be mounted on a server. */
export interface Proxy {
  /** What providers take as `proxyUrl`, by vendor: the path of each one that is mounted. */
  readonly mounts: Readonly<Record<string, string>>;
  /** The same by class, such as `AlphaSTT`. */
  readonly providers: Readonly<Record<string, string>>;
  /** For the server's `request` event; false when the request is not for the proxy, and untouched. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /** For the server's `upgrade` event; likewise. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Cuts all that is under way. */
  close(): void;
}

/** A proxy with a server of its own; its addresses are absolute. */
export interface RunningProxy extends Omit<Proxy, 'handle' | 'upgrade' | 'close'>, AsyncDisposable {
  /** Such as `http://127.0.0.1:8788`. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

interface Mount {
  readonly vendor: ProxiedVendor;
  /** The address that a route leads to. */
  baseOf(route: ProxiedRoute): string;
}

/** An admitted request. */
interface Admitted {
  readonly name: string;
  readonly path: string;
  readonly vendor: ProxiedVendor;
  readonly url: URL;
}

/** Makes a proxy without a server: this folder's README shows both. */
export function createProxy(options: ProxyOptions = {}): Proxy {
  const { environment = process.env, bases = {}, prefix = '', log = () => undefined } = options;
  const vendors: Readonly<Record<string, ProxiedVendor>> = options.vendors ?? allVendors;
  const limits = { ...defaultLimits, ...options.limits };
  const pages = { origins: options.origins, requiresOrigin: options.requiresOrigin ?? true };
  const mounted = new Map<string, Mount>();
  const missing = new Map<string, readonly string[]>();
  const sockets = createSocketServer(limits);
  const agents = createAgents();
  /** What is under way, to be cut. */
  const calls = new Set<() => void>();

  if (prefix !== '' && !/^(\/[\w.-]+)+$/.test(prefix)) throw new Error(`prefix must be a path such as /api: ${prefix}`);
  for (const [name, vendor] of Object.entries(vendors)) {
    const absent = needsOf(vendor).filter((each) => !environment[each]);
    if (absent.length > 0) {
      missing.set(name, absent);
      continue;
    }
    const baseOf = (route: Pick<ProxiedRoute, 'base'>): string => {
      const base = bases[name] ?? route.base ?? vendor.base;
      return safeBase(name, typeof base === 'string' ? base : base(environment));
    };
    for (const route of vendor.routes) baseOf(route);
    mounted.set(name, { vendor, baseOf });
  }

  function admit(request: IncomingMessage, method: string): Admitted | Refusal {
    const target = parseTarget(request.url ?? '', prefix);
    if (isRefusal(target)) return target;
    if (!isFromAllowedPage(request, pages)) {
      return { status: 403, code: 'origin_refused', message: 'The proxy does not serve this page' };
    }
    const { vendor: name, path, query } = target;
    const mount = mounted.get(name);
    if (!mount) return { status: 404, code: 'vendor_not_mounted', message: 'The proxy does not serve this vendor' };
    const route = findRoute(mount.vendor.routes, path, method);
    if (isRefusal(route)) return route;
    if (calls.size >= limits.maxCalls) return { status: 503, code: 'busy', message: 'The proxy has too much to do' };
    const base = mount.baseOf(route);
    const url = new URL(`${base}${path}${query}`);
    if (url.origin !== new URL(base).origin) throw new Error(`${path} led away from ${name}`);
    return { name, path, vendor: mount.vendor, url };
  }

  async function isAuthorized(request: IncomingMessage): Promise<boolean> {
    return (await options.authorize?.(request)) ?? true;
  }

  function note(request: IncomingMessage, method: string, outcome: string | number, refusal?: Refusal): void {
    const [path = ''] = (request.url ?? '').split(/[?#]/, 1);
    const name = path.slice(prefix.length).split('/')[1] ?? '';
    const absent = missing.get(name);
    const why = refusal && [refusal.code, ...(absent ? [`${absent.join(', ')} not set`] : [])].join(', ');
    // A path may be anything, a secret that went astray among it: only one that is listed is shown.
    const isKnown = mounted
      .get(name)
      ?.vendor.routes.some(
        (route) => !isRefusal(findRoute([route], path.slice(prefix.length + name.length + 1), route.method)),
      );
    const shown = isKnown ? path : absent ? `${prefix}/${name}/…` : '…';
    log(`${method} ${shown} ${outcome}${why ? ` (${why})` : ''}`);
  }

  function maskFor(vendor: ProxiedVendor): Mask {
    return new Mask(secretsOf(vendor, environment));
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const method = request.method ?? 'GET';
    const isPreflight = method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
    const admitted = admit(request, isPreflight ? (request.headers['access-control-request-method'] ?? '') : method);
    const startedAt = performance.now();
    const refuse = (refusal: Refusal): void => {
      note(request, method, refusal.status, refusal);
      const cors = refusal.code === 'origin_refused' || refusal.code === 'bad_target' ? {} : corsHeaders(request);
      sendRefusal(response, refusal, cors);
    };
    if (isRefusal(admitted)) {
      refuse(admitted);
      return;
    }
    if (isPreflight) {
      response.writeHead(204, preflightHeaders(request)).end();
      return;
    }
    const { vendor, url } = admitted;
    const cut = (): void => void response.destroy();
    let failure: Refusal | undefined;
    calls.add(cut);
    response.on('close', () => {
      calls.delete(cut);
      const ms = Math.round(performance.now() - startedAt);
      const status = response.writableFinished ? response.statusCode : 'broken off';
      note(request, method, `${status} after ${ms} ms`, failure);
    });
    const go = (isAllowed: boolean): void => {
      if (!isAllowed) {
        failure = { status: 401, code: 'not_authorized', message: 'The proxy does not know this user' };
        sendRefusal(response, failure, corsHeaders(request));
        return;
      }
      relayHttp({
        ...{ request, response, limits, agents, mask: maskFor(vendor), cors: corsHeaders(request) },
        isSigned: vendor.credential.as === 'signature',
        upstream: (body) => withCredential(upstreamOf(request, url, vendor), vendor.credential, environment, body),
        failed: (refusal) => void (failure = refusal),
      });
    };
    isAuthorized(request).then(go, () => go(false));
  }

  function connect(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const refuse = (refusal: Refusal): void => {
      note(request, 'WS', refusal.status, refusal);
      refuseUpgrade(socket, refusal);
    };
    const admitted = admit(request, 'WS');
    if (isRefusal(admitted)) {
      refuse(admitted);
      return;
    }
    if (!isHandshake(request)) {
      refuse({ status: 400, code: 'no_handshake', message: 'This is not the handshake of a WebSocket' });
      return;
    }
    const { vendor, url } = admitted;
    const startedAt = performance.now();
    const cut = (): void => void socket.destroy();
    calls.add(cut);
    socket.once('close', () => calls.delete(cut));
    const release = awaitAcceptance(socket);
    const go = async (): Promise<void> => {
      if (!(await isAuthorized(request).catch(() => false))) {
        refuse({ status: 401, code: 'not_authorized', message: 'The proxy does not know this user' });
        return;
      }
      const { headers, ...rest } = upstreamOf(request, url, vendor);
      // These are of requests: a socket has neither.
      const { accept: _accept, 'content-type': _type, ...own } = headers;
      const upstream = await withCredential({ ...rest, headers: own }, vendor.credential, environment);
      if (socket.destroyed) return;
      relaySocket({
        ...{ request, socket, head, limits, upstream, release, server: sockets, mask: maskFor(vendor) },
        failed: (refusal) => note(request, 'WS', refusal.status, refusal),
        closed: (code) =>
          note(request, 'WS', `closed with ${code} after ${Math.round(performance.now() - startedAt)} ms`),
      });
    };
    go().catch(() => refuse({ status: 500, code: 'internal', message: 'The proxy cannot sign this request' }));
  }

  const mounts = Object.fromEntries([...mounted.keys()].map((name) => [name, `${prefix}/${name}`]));
  return {
    mounts,
    providers: Object.fromEntries(
      [...mounted].flatMap(([name, { vendor }]) => vendor.providers.map((each) => [each, `${prefix}/${name}`])),
    ),
    handle(request, response) {
      if (prefix !== '' && !isBelow(request.url ?? '', prefix)) return false;
      serve(request, response);
      return true;
    },
    upgrade(request, socket, head) {
      if (prefix !== '' && !isBelow(request.url ?? '', prefix)) return false;
      connect(request, socket, head);
      return true;
    },
    close() {
      for (const cut of [...calls]) cut();
      for (const agent of Object.values(agents)) agent.destroy();
      sockets.close();
    },
  };
}

/** Runs a proxy on a port of its own. */
export async function startProxy(
  options: ProxyOptions & {
    /** Default: 0, any free one. */
    readonly port?: number;
    /** Where it listens. Default: `127.0.0.1`: no other machine reaches it. */
    readonly host?: string;
  } = {},
): Promise<RunningProxy> {
  const { port = 0, host = '127.0.0.1', ...rest } = options;
  const proxy = createProxy(rest);
  const server = http.createServer({ headersTimeout: 10_000, keepAliveTimeout: 65_000 });
  server.on('request', (request, response) => {
    if (!proxy.handle(request, response)) response.writeHead(404).end();
  });
  server.on('upgrade', (request, socket, head) => {
    if (!proxy.upgrade(request, socket, head)) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
  const absolute = (paths: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, url + path]));
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    proxy.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    ...{ url, port: bound, close },
    mounts: absolute(proxy.mounts),
    providers: absolute(proxy.providers),
    [Symbol.asyncDispose]: close,
  };
}

/** A base without a trailing slash, over which a credential may go. */
function safeBase(name: string, base: string): string {
  const url = URL.parse(base);
  const isLocal = url !== null && /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(url.hostname);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return base.replace(/\/+$/, '');
  throw new Error(`The address of ${name} must be https: (or http: on this machine): ${url?.origin ?? base}`);
}
