import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { askedOf, type Asked } from './asked.ts';
import { Calls } from './calls.ts';
import { limitsOf, type ProxyLimits } from './limits.ts';
import { Mask } from './mask.ts';
import { Mounts, type Admitted } from './mounts.ts';
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
import { noter } from './note.ts';
import type { Proxy, ProxyOptions } from './options.ts';
import { corsHeaders, preflightHeaders } from './origin.ts';
import {
  ownEnvironment,
  secretsOf,
  type ProxyEnvironment,
  type ProxyTarget,
  type ProxyTokenGrant,
} from './proxy-target.ts';
import {
  bodyRead,
  busy,
  hasLeft,
  internal,
  isHidden,
  isRefusal,
  noSocket,
  refusalAnswer,
  safeHeaders,
  type Refusal,
} from './refusal.ts';
import { relayRequest } from './request-relay.ts';
import { askService, awaitAcceptance, isHandshake, refuseUpgrade, relaySocket } from './socket-relay.ts';
import { isBelow } from './target.ts';
import { askForToken, type ProxyToken } from './tokens.ts';
import { upstreamOf, withCredential, type Upstream } from './upstream.ts';
import { asksWhy, tellWhy } from './why-refused.ts';

/** A request to answer, however its runtime reads it. */
interface ProxyRequest {
  readonly asked: Asked;
  /** Opens the body. */
  readonly body: () => ReadableStream<Uint8Array> | null;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
  /** Whether something has read the body before. */
  readonly isRead?: boolean;
}

/** A request that has its place among the calls. */
interface Call {
  /** Aborted when the client has gone, or the proxy cuts it. */
  readonly signal: AbortSignal;
  /** Gives the place back; once. */
  readonly end: () => void;
}

/** A socket that asks for its place. */
interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Uint8Array;
  readonly refuse: (refusal: Refusal) => void;
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
  const server = new ProxyServer(options);
  const { prefix, paths, providers } = server.mounts;
  const dispose: Proxy['dispose'] = ({ drainMs = 0 } = {}) => server.close(drainMs);
  return {
    mounts: paths,
    providers,
    fetch: (request, peer) => {
      // Next hangs up on a socket before a route hears of it.
      if ('nextUrl' in request) server.expectNoSockets();
      return server.answer({
        ...{ asked: askedOf(request, peer?.address), body: () => request.body },
        ...{ gone: request.signal, isRead: request.bodyUsed },
      });
    },
    handle(request, response, next) {
      if (!isNodeRequest(request) || !isNodeResponse(response)) throw new TypeError('handle() is for Node servers');
      if (!isBelow(nodeTarget(request), prefix)) {
        next?.();
        return false;
      }
      const gone = new AbortController();
      response.on('close', () => gone.abort());
      const asked = askedByNode(request);
      const body = (): ReadableStream<Uint8Array> => bodyOfNode(request);
      void server
        .answer({ asked, body, gone: gone.signal, isRead: isTaken(request) })
        .then((whole) => sendByNode(whole, request, response));
      return true;
    },
    upgrade(request, socket, head) {
      if (!isNodeRequest(request) || !isNodeSocket(socket)) throw new TypeError('upgrade() is for Node servers');
      if (!isBelow(nodeTarget(request), prefix)) return false;
      server.connect(request, socket, head);
      return true;
    },
    dispose,
    [Symbol.asyncDispose]: () => dispose(),
  };
}

/** Answers requests and relays sockets, whichever server they come from. */
class ProxyServer {
  readonly mounts: Mounts;
  readonly #environment: ProxyEnvironment;
  readonly #limits: ProxyLimits;
  readonly #calls: Calls;
  readonly #fetch: typeof fetch;
  readonly #note: ReturnType<typeof noter>;
  /** Where upgrades come: to `connect()` once is enough, for a request can claim to be one. */
  #sockets: 'taken' | 'refused' | undefined;

  constructor(options: ProxyOptions) {
    this.#environment = options.environment ?? ownEnvironment();
    this.#limits = limitsOf(options.limits);
    this.#calls = new Calls(options, this.#limits);
    this.mounts = new Mounts(options, this.#environment);
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
    const { prefix, mounted, missing } = this.mounts;
    this.#note = noter({ prefix, mounted, missing, log: options.log });
  }

  /** Pages that ask why their socket was refused are told that sockets do not come here, unless one has. */
  expectNoSockets(): void {
    this.#sockets ??= 'refused';
  }

  /** Answers `fetch` and `handle`, which differ in how they read and write. Never rejects. */
  async answer(request: ProxyRequest): Promise<Response> {
    try {
      return await this.#serve(request);
    } catch {
      const { asked } = request;
      this.#note(asked, asked.method, internal.status, internal);
      return responseOf(internal);
    }
  }

  /** Relays a socket. */
  connect(request: IncomingMessage, socket: Duplex, head: Uint8Array): void {
    this.#sockets = 'taken';
    socket.on('error', () => socket.destroy());
    const asked = askedByNode(request);
    const refuse = (refusal: Refusal): void => {
      this.#note(asked, 'WS', refusal.status, refusal);
      refuseUpgrade(socket, refusal);
    };
    const admitted = this.#admit(asked, 'WS');
    if (isRefusal(admitted)) refuse(admitted);
    else if (!isHandshake(request)) {
      refuse({ status: 400, code: 'no_handshake', message: 'This is not a WebSocket handshake' });
    } else {
      this.#relay(admitted, asked, { request, socket, head, refuse }).catch(() =>
        refuse({ status: 500, code: 'internal', message: 'The proxy cannot sign this request' }),
      );
    }
  }

  /** Turns new requests away, waits so many milliseconds for those under way, and cuts what is left. */
  close(drainMs: number): Promise<void> {
    return this.#calls.close(drainMs);
  }

  async #serve({ asked, body, gone, isRead = false }: ProxyRequest): Promise<Response> {
    const { method, headers } = asked;
    const wanted = method === 'OPTIONS' ? headers.get('access-control-request-method') : null;
    const cors = corsHeaders(asked);
    const refuse = (refusal: Refusal): Response => {
      this.#note(asked, method, refusal.status, refusal);
      return responseOf(refusal, isHidden(refusal) ? {} : cors);
    };
    const isSocket = headers.get('upgrade')?.toLowerCase() === 'websocket';
    if (isSocket) this.expectNoSockets();
    if (asksWhy(asked)) return this.#explain(asked, gone);
    const admitted = isSocket ? noSocket : isRead ? bodyRead : this.#admit(asked, wanted ?? method);
    if (isRefusal(admitted)) return refuse(admitted);
    if (wanted !== null) return new Response(null, { status: 204, headers: preflightHeaders(asked) });

    const { target, url, grant } = admitted;
    const startedAt = performance.now();
    const call = await this.#begin(asked, gone);
    if (isRefusal(call)) return refuse(call);
    const ended = (outcome: string | number, failure?: Refusal): void => {
      call.end();
      this.#note(asked, method, `${outcome} after ${Math.round(performance.now() - startedAt)} ms`, failure);
    };
    if (grant) {
      const token = await this.#tokenFor(admitted, grant, call.signal);
      const refusal = isRefusal(token) ? token : undefined;
      ended(refusal?.status ?? 200, refusal);
      return refusal ? responseOf(refusal, cors) : Response.json(token, { headers: { ...safeHeaders, ...cors } });
    }
    return relayRequest({
      ...{ method, headers, body, signal: call.signal, limits: this.#limits, cors, fetch: this.#fetch, ended },
      mask: this.#maskFor(target),
      isSigned: target.credential.as === 'signature',
      upstream: (whole) => withCredential(upstreamOf(asked, url, target), target.credential, this.#environment, whole),
    });
  }

  /** Tells a page why a socket at this address would be refused, which its browser does not. */
  async #explain(asked: Asked, gone: AbortSignal): Promise<Response> {
    const tell = (refusal: Refusal): Response => {
      this.#note(asked, 'WS?', refusal.status, refusal);
      const cors = isHidden(refusal) ? {} : corsHeaders(asked);
      return tellWhy({ status: refusal.status, ...refusalAnswer(refusal) }, cors);
    };
    const admitted = this.#sockets === 'refused' ? noSocket : this.#admit(asked, 'WS');
    if (isRefusal(admitted)) return tell(admitted);
    const call = await this.#begin(asked, gone);
    if (isRefusal(call)) return tell(call);
    try {
      const upstream = await this.#socketUpstream(asked, admitted);
      const mask = this.#maskFor(admitted.target);
      const refusal = await askService({ limits: this.#limits, upstream, mask }, call.signal);
      this.#note(asked, 'WS?', refusal?.status ?? 'accepted');
      return tellWhy(refusal, corsHeaders(asked));
    } finally {
      call.end();
    }
  }

  async #relay(admitted: Admitted, asked: Asked, { request, socket, head, refuse }: Handshake): Promise<void> {
    const startedAt = performance.now();
    const closed = (code: number): void =>
      this.#note(asked, 'WS', `closed with ${code} after ${Math.round(performance.now() - startedAt)} ms`);
    const release = awaitAcceptance(socket);
    const gone = new AbortController();
    socket.once('close', () => gone.abort());
    const end = await this.#calls.begin(asked, () => void socket.destroy(), gone.signal);
    if (isRefusal(end)) {
      if (end === hasLeft) closed(1006);
      else refuse(end);
      return;
    }
    if (socket.destroyed) end();
    else socket.once('close', end);
    const upstream = await this.#socketUpstream(asked, admitted);
    if (socket.destroyed) {
      closed(1006);
      return;
    }
    await relaySocket({
      ...{ request, socket, head, limits: this.#limits, upstream, release, closed },
      mask: this.#maskFor(admitted.target),
      failed: (refusal) => this.#note(asked, 'WS', refusal.status, refusal),
    });
  }

  #admit(asked: Asked, method: string): Admitted | Refusal {
    const admitted = this.mounts.admit(asked, method);
    return !isRefusal(admitted) && this.#calls.isFull ? busy : admitted;
  }

  async #begin(asked: Asked, gone: AbortSignal): Promise<Call | Refusal> {
    const abort = new AbortController();
    const cut = (): void => abort.abort();
    if (gone.aborted) cut();
    else gone.addEventListener('abort', cut);
    const end = await this.#calls.begin(asked, cut, abort.signal);
    const forget = (): void => gone.removeEventListener('abort', cut);
    if (isRefusal(end)) {
      forget();
      return end;
    }
    return {
      signal: abort.signal,
      end: () => {
        forget();
        end();
      },
    };
  }

  #maskFor(target: ProxyTarget): Mask {
    return new Mask(secretsOf(target, this.#environment));
  }

  #socketUpstream(asked: Asked, { url, target }: Admitted): Promise<Upstream> {
    const { headers, ...rest } = upstreamOf(asked, url, target);
    // These are of requests: a socket has neither.
    const { accept: _accept, 'content-type': _type, ...own } = headers;
    return withCredential({ ...rest, headers: own }, target.credential, this.#environment);
  }

  async #tokenFor(
    { name, target }: Admitted,
    grant: ProxyTokenGrant,
    gone: AbortSignal,
  ): Promise<ProxyToken | Refusal> {
    const signal = AbortSignal.any([gone, AbortSignal.timeout(this.#limits.idleMs)]);
    const [base, environment] = [this.mounts.baseOf(name), this.#environment];
    try {
      return await askForToken({ name, target, grant, base, environment, signal, fetch: this.#fetch });
    } catch {
      return {
        status: 502,
        code: 'unreachable',
        message: 'The service cannot be reached, or broke the connection off',
      };
    }
  }
}

/** A refusal as an answer. */
function responseOf(refusal: Refusal, cors: Readonly<Record<string, string>> = {}): Response {
  const { headers, body } = refusalAnswer(refusal);
  return new Response(body, { status: refusal.status, headers: { ...cors, ...headers } });
}
