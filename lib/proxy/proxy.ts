import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { askedOf, type Asked } from './asked.ts';
import { assertTrusted, clientAddress, Clients } from './clients.ts';
import { limitsOf } from './limits.ts';
import { noter } from './note.ts';
import { Mask } from './mask.ts';
import {
  askedByNode,
  bodyOfNode,
  isNodeRequest,
  isNodeResponse,
  isNodeSocket,
  isTaken,
  nodeTarget,
  sendByNode,
} from './node-request.ts';
import type { Proxy, ProxyOptions } from './options.ts';
import { corsHeaders, isFromAllowedPage, listedOrigins, preflightHeaders } from './origin.ts';
import {
  baseOf,
  needsOf,
  ownEnvironment,
  secretsOf,
  type ProxyRoute,
  type ProxyTarget,
  type ProxyTokenGrant,
} from './proxy-target.ts';
import {
  bodyRead,
  busy,
  internal,
  isHidden,
  isRefusal,
  noName,
  noSocket,
  refusalAnswer,
  safeHeaders,
  unanswered,
  unknownUser,
  type Refusal,
} from './refusal.ts';
import { relayRequest } from './request-relay.ts';
import { askService, awaitAcceptance, isHandshake, refuseUpgrade, relaySocket } from './socket-relay.ts';
import { findRoute, isBelow, parseTarget } from './target.ts';
import { askForToken, type ProxyToken } from './tokens.ts';
import { upstreamOf, withCredential, type Upstream } from './upstream.ts';
import { asksWhy, tellWhy } from './why-refused.ts';

/** A request that is for the proxy, from a page that may. */
interface Admitted {
  readonly name: string;
  readonly target: ProxyTarget;
  /** Where it leads. */
  readonly url: URL;
  /** When it is for a token. */
  readonly grant: ProxyTokenGrant | undefined;
}

/** The settings there are: of a misspelled `authenticate`, nobody would be asked anything. */
const settings: Readonly<Record<keyof ProxyOptions, true>> = {
  ...{ targets: true, environment: true, prefix: true, bases: true, origins: true, requiresOrigin: true },
  ...{ authenticate: true, trustProxy: true, limits: true, tokens: true, fetch: true, log: true },
};

/**
 * Makes a proxy: pages reach the services through it, and it adds the credentials that they must not have.
 *
 * @example
 *   import { createProxy, deepgram, groq } from 'rxvoice/proxy';
 *
 *   const proxy = createProxy({
 *     prefix: '/api/voice',
 *     targets: { deepgram, groq },
 *     origins: ['https://app.example.com'],
 *     authenticate: (request) => request.headers.has('cookie'),
 *   });
 *   export const POST = (request: Request): Promise<Response> => proxy.fetch(request);
 *
 * @throws Error when a setting could lead a credential astray or let anybody in: an address without encryption, a prefix
 *   that is not a path, an origin or a limit that is malformed, a setting that does not exist.
 */
export function createProxy(options: ProxyOptions): Proxy {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(settings, name));
  if (unknown !== undefined) throw new Error(`createProxy has no setting ${unknown}`);
  const { targets, bases = {}, prefix = '', tokens = [] } = options;
  const environment = options.environment ?? ownEnvironment();
  const limits = limitsOf(options.limits);
  const pages = { origins: listedOrigins(options.origins), requiresOrigin: options.requiresOrigin ?? true };
  assertTrusted(options.trustProxy);
  const send: typeof fetch = options.fetch ?? ((...args) => fetch(...args));
  const mounted = new Map<string, ProxyTarget>();
  const missing = new Map<string, readonly string[]>();
  const clients = new Clients(limits);
  /** What is under way, to be cut. */
  const calls = new Set<() => void>();
  let isOpen = true;
  /** Where upgrades come: to `upgrade()` once is enough, for a request can claim to be one. */
  let sockets: 'taken' | 'refused' | undefined;
  let drained = (): void => undefined;

  if (prefix !== '' && !/^(\/[\w-][\w.-]*)+$/.test(prefix)) {
    throw new Error(`prefix must be a path such as /api: ${prefix}`);
  }
  for (const [name, target] of Object.entries(targets)) {
    if (!/^[\w-]+$/.test(name)) throw new Error(`A mount must be a word such as deepgram: ${name}`);
    const absent = needsOf(target).filter((each) => !environment[each]);
    if (absent.length > 0) {
      missing.set(name, absent);
      continue;
    }
    for (const route of target.routes) addressOf(name, target, route);
    mounted.set(name, target);
  }
  for (const name of Object.keys(bases)) {
    if (!Object.hasOwn(targets, name)) throw new Error(`bases names ${name}, which is not a target`);
  }
  for (const name of tokens) {
    if (!targets[name]?.tokens) throw new Error(`tokens names ${name}, which is not a target that grants tokens`);
  }

  const note = noter({ prefix, mounted, missing, log: options.log });

  function addressOf(name: string, target: ProxyTarget, { base }: Pick<ProxyRoute, 'base'>): string {
    return baseOf(name, bases[name] ?? base ?? target.base, environment);
  }

  function admit(asked: Asked, method: string): Admitted | Refusal {
    const parsed = parseTarget(asked.target, prefix);
    if (isRefusal(parsed)) return parsed;
    if (!isFromAllowedPage(asked, pages)) {
      return { status: 403, code: 'origin_refused', message: 'The proxy does not serve this page' };
    }
    const { vendor: name, path, query } = parsed;
    const target = mounted.get(name);
    if (!target) return { status: 404, code: 'vendor_not_mounted', message: 'The proxy does not serve this vendor' };
    if (!isOpen || calls.size >= limits.maxCalls) return busy;
    const grant = tokens.includes(name) ? ownMember(target.tokens, path.slice(1)) : undefined;
    const routes = target.routes.filter(({ bypasses }) => !bypasses || tokens.includes(name));
    const route = findRoute(grant ? [{ method: 'POST', path }] : routes, path, method);
    if (isRefusal(route)) return route;
    const base = addressOf(name, target, route);
    const url = new URL(`${base}${path}${query}`);
    if (url.origin !== new URL(base).origin) throw new Error(`${path} led away from ${name}`);
    return { name, target, url, grant };
  }

  /** Who is asking, as their limits know them, or why they may not. */
  async function identify(asked: Asked): Promise<string | Refusal> {
    const address = `at ${clientAddress(asked.headers, asked.address, options.trustProxy)}`;
    const { authenticate } = options;
    if (!authenticate) return address;
    // A client that has guessed too often is turned away before the application is asked.
    const tired = clients.tired(address);
    if (tired) return tired;
    const asking = Promise.resolve()
      .then(() => authenticate(asked.request()))
      .then(
        (said: unknown) => {
          if (said === '' || said === false || said === null || said === undefined) return unknownUser;
          return said === true || typeof said === 'string' ? said : noName;
        },
        () => unknownUser,
      );
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waiting = new Promise<Refusal>((resolve) => {
      timer = setTimeout(() => resolve(unanswered), limits.connectMs);
    });
    const said = await Promise.race([asking, waiting]).finally(() => clearTimeout(timer));
    if (said === unknownUser) clients.spend(address);
    if (typeof said === 'object') return said;
    return said === true ? address : `user ${said}`;
  }

  /** Lets a call in that has its place in `calls`. Gives what ends it, once, or why it may not. */
  async function enter(asked: Asked, cut: () => void): Promise<(() => void) | Refusal> {
    const leave = (): void => {
      calls.delete(cut);
      if (calls.size === 0) drained();
    };
    const key = await identify(asked);
    const end = typeof key === 'string' ? clients.begin(key) : key;
    if (isRefusal(end)) {
      leave();
      return end;
    }
    return () => {
      end();
      leave();
    };
  }

  function maskFor(target: ProxyTarget): Mask {
    return new Mask(secretsOf(target, environment));
  }

  /** Answers `fetch` and `handle`, which differ in how they read and write. Never rejects. */
  const answer: typeof serve = (asked, ...rest) =>
    serve(asked, ...rest).catch(() => {
      note(asked, asked.method, internal.status, internal);
      const { headers, body } = refusalAnswer(internal);
      return new Response(body, { status: internal.status, headers });
    });

  async function serve(
    asked: Asked,
    body: () => ReadableStream<Uint8Array> | null,
    gone: AbortSignal,
    isRead = false,
  ): Promise<Response> {
    const { method } = asked;
    const wanted = method === 'OPTIONS' ? asked.headers.get('access-control-request-method') : null;
    const isPreflight = wanted !== null;
    const cors = corsHeaders(asked);
    const refuse = (refusal: Refusal): Response => {
      note(asked, method, refusal.status, refusal);
      const { headers, body } = refusalAnswer(refusal);
      const shown = isHidden(refusal) ? {} : cors;
      return new Response(body, { status: refusal.status, headers: { ...shown, ...headers } });
    };
    const isSocket = asked.headers.get('upgrade')?.toLowerCase() === 'websocket';
    if (isSocket) sockets ??= 'refused';
    if (asksWhy(asked)) return explain(asked, gone);
    const admitted = isSocket ? noSocket : isRead ? bodyRead : admit(asked, wanted ?? method);
    if (isRefusal(admitted)) return refuse(admitted);
    if (isPreflight) return new Response(null, { status: 204, headers: preflightHeaders(asked) });

    const { target, url, grant } = admitted;
    const startedAt = performance.now();
    const abort = new AbortController();
    const { signal } = abort;
    const cut = (): void => abort.abort();
    if (gone.aborted) cut();
    else gone.addEventListener('abort', cut);
    calls.add(cut);
    const end = await enter(asked, cut);
    if (isRefusal(end)) return refuse(end);
    const ended = (outcome: string | number, failure?: Refusal): void => {
      gone.removeEventListener('abort', cut);
      end();
      note(asked, method, `${outcome} after ${Math.round(performance.now() - startedAt)} ms`, failure);
    };
    if (grant) {
      const token = await tokenFor(admitted, grant, signal);
      const status = isRefusal(token) ? token.status : 200;
      ended(status, isRefusal(token) ? token : undefined);
      if (!isRefusal(token)) return Response.json(token, { headers: { ...safeHeaders, ...cors } });
      const { headers, body } = refusalAnswer(token);
      return new Response(body, { status, headers: { ...headers, ...cors } });
    }
    return relayRequest({
      ...{ method, headers: asked.headers, body, signal, limits, cors, fetch: send, ended },
      mask: maskFor(target),
      isSigned: target.credential.as === 'signature',
      upstream: (whole) => withCredential(upstreamOf(asked, url, target), target.credential, environment, whole),
    });
  }

  /** Tells a page why a socket at this address would be refused, which its browser does not. */
  async function explain(asked: Asked, gone: AbortSignal): Promise<Response> {
    const tell = (refusal: Refusal): Response => {
      note(asked, 'WS?', refusal.status, refusal);
      const cors = isHidden(refusal) ? {} : corsHeaders(asked);
      return tellWhy({ status: refusal.status, ...refusalAnswer(refusal) }, cors);
    };
    const admitted = sockets === 'refused' ? noSocket : admit(asked, 'WS');
    if (isRefusal(admitted)) return tell(admitted);
    const { target, url } = admitted;
    const abort = new AbortController();
    const cut = (): void => abort.abort();
    gone.addEventListener('abort', cut);
    calls.add(cut);
    const end = await enter(asked, cut);
    if (isRefusal(end)) return tell(end);
    try {
      const upstream = await socketUpstream(asked, url, target);
      const refusal = await askService({ limits, upstream, mask: maskFor(target) }, abort.signal);
      note(asked, 'WS?', refusal?.status ?? 'accepted');
      return tellWhy(refusal, corsHeaders(asked));
    } finally {
      gone.removeEventListener('abort', cut);
      end();
    }
  }

  function socketUpstream(asked: Asked, url: URL, target: ProxyTarget): Promise<Upstream> {
    const { headers, ...rest } = upstreamOf(asked, url, target);
    // These are of requests: a socket has neither.
    const { accept: _accept, 'content-type': _type, ...own } = headers;
    return withCredential({ ...rest, headers: own }, target.credential, environment);
  }

  async function tokenFor(
    { name, target }: Admitted,
    grant: ProxyTokenGrant,
    gone: AbortSignal,
  ): Promise<ProxyToken | Refusal> {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(limits.idleMs)]);
    const base = bases[name];
    try {
      return await askForToken({ name, target, grant, base, environment, signal, fetch: send });
    } catch {
      return {
        status: 502,
        code: 'unreachable',
        message: 'The service cannot be reached, or broke the connection off',
      };
    }
  }

  function connect(request: IncomingMessage, socket: Duplex, head: Uint8Array): void {
    sockets = 'taken';
    socket.on('error', () => socket.destroy());
    const asked = askedByNode(request);
    const refuse = (refusal: Refusal): void => {
      note(asked, 'WS', refusal.status, refusal);
      refuseUpgrade(socket, refusal);
    };
    const admitted = admit(asked, 'WS');
    if (isRefusal(admitted)) {
      refuse(admitted);
      return;
    }
    if (!isHandshake(request)) {
      refuse({ status: 400, code: 'no_handshake', message: 'This is not a WebSocket handshake' });
      return;
    }
    const { target, url } = admitted;
    const startedAt = performance.now();
    const cut = (): void => void socket.destroy();
    calls.add(cut);
    const release = awaitAcceptance(socket);
    const go = async (): Promise<void> => {
      const end = await enter(asked, cut);
      if (isRefusal(end)) {
        refuse(end);
        return;
      }
      if (socket.destroyed) end();
      else socket.once('close', end);
      const upstream = await socketUpstream(asked, url, target);
      if (socket.destroyed) return;
      await relaySocket({
        ...{ request, socket, head, limits, upstream, release, mask: maskFor(target) },
        failed: (refusal) => note(asked, 'WS', refusal.status, refusal),
        closed: (code) =>
          note(asked, 'WS', `closed with ${code} after ${Math.round(performance.now() - startedAt)} ms`),
      });
    };
    go().catch(() => refuse({ status: 500, code: 'internal', message: 'The proxy cannot sign this request' }));
  }

  const dispose = async ({ drainMs = 0 }: { readonly drainMs?: number } = {}): Promise<void> => {
    isOpen = false;
    if (drainMs > 0 && calls.size > 0) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await new Promise<void>((resolve) => {
        drained = resolve;
        timer = setTimeout(resolve, drainMs);
      });
      clearTimeout(timer);
    }
    for (const cut of [...calls]) cut();
  };

  return {
    mounts: Object.fromEntries([...mounted.keys()].map((name) => [name, `${prefix}/${name}`])),
    providers: Object.fromEntries(
      [...mounted].flatMap(([name, { providers = [] }]) => providers.map((each) => [each, `${prefix}/${name}`])),
    ),
    fetch: (request, { address } = {}) => answer(askedOf(request, address), () => request.body, request.signal),
    handle(request, response, next) {
      if (!isNodeRequest(request) || !isNodeResponse(response)) throw new TypeError('handle() is for Node servers');
      if (!isBelow(nodeTarget(request), prefix)) {
        next?.();
        return false;
      }
      const gone = new AbortController();
      response.on('close', () => gone.abort());
      const body = (): ReadableStream<Uint8Array> => bodyOfNode(request);
      void answer(askedByNode(request), body, gone.signal, isTaken(request)).then((whole) =>
        sendByNode(whole, request, response),
      );
      return true;
    },
    upgrade(request, socket, head) {
      if (!isNodeRequest(request) || !isNodeSocket(socket)) throw new TypeError('upgrade() is for Node servers');
      if (!isBelow(nodeTarget(request), prefix)) return false;
      connect(request, socket, head);
      return true;
    },
    dispose,
    [Symbol.asyncDispose]: () => dispose(),
  };
}

function ownMember<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined;
}
