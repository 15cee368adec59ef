import type { ProxyLimits } from './limits.ts';
import type { ProxyEnvironment, ProxyTarget } from './proxy-target.ts';

/** Settings of a proxy. */
export interface ProxyOptions {
  /** The services to forward to, by mount: `{ deepgram, groq }`. One whose variables are not set is not mounted. */
  readonly targets: Readonly<Record<string, ProxyTarget>>;
  /** Where the credentials are, read for each request. Default: `process.env`. */
  readonly environment?: ProxyEnvironment;
  /** Path before the mounts, such as `/api/voice`. Default: none. */
  readonly prefix?: string;
  /**
   * Addresses in place of the targets' own, by mount: a region, a gateway, a test. An empty one, such as of an unset
   * environment variable, counts as absent.
   */
  readonly bases?: Readonly<Record<string, string | undefined>>;
  /** Origins whose pages it serves, such as `https://app.example.com`. Default: those of its own port on this machine. */
  readonly origins?: readonly string[];
  /** Whether requests must come from a page: programs send no `Origin` header. Default: true. */
  readonly requiresOrigin?: boolean;
  /**
   * Who a user is: a name that limits are counted by, or `true` to count them by address. `false`, nothing, or
   * an error is a 401. It gets the request without its body; a socket's as the GET that it begins with. Default: everybody
   * who can reach the proxy.
   */
  readonly authenticate?: (request: Request) => Authenticated | Promise<Authenticated>;
  /**
   * Who says where a request comes from, when that is not the connection: how many proxies stand before this one and
   * append to `X-Forwarded-For`, or the name of a header that the platform sets, such as `cf-connecting-ip`. Whatever a
   * client writes there itself is not believed. Default: 0, nobody.
   */
  readonly trustProxy?: number | string;
  /** Limits in place of the defaults. */
  readonly limits?: Partial<ProxyLimits>;
  /**
   * Mounts that grant short-lived tokens at `<mount>/token` (see {@link ProxyTarget.tokens}), and open calls by WebRTC: a
   * page then speaks to the service itself, for as long as the service lets it, and beyond the proxy's limits. Default:
   * none.
   */
  readonly tokens?: readonly string[];
  /** How services are reached. Default: the runtime's `fetch`; sockets do not go through it. */
  readonly fetch?: typeof fetch;
  /** Gets a line for each request: never a query, a body or a credential. Default: nobody. */
  readonly log?: (line: string) => void;
}

/** What {@link ProxyOptions.authenticate} says. */
export type Authenticated = boolean | string | null | undefined;

/** What a runtime knows of a connection and does not write into the `Request`. */
export interface ProxyPeer {
  /** The address that it comes from. Default: all who have none share one client's limits. */
  readonly address?: string | undefined;
}

/** Node's `IncomingMessage`; described here, for a Worker has no types of Node. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: object;
  readonly socket: object;
}

/** Node's `ServerResponse`. */
export interface NodeResponse {
  readonly headersSent: boolean;
  readonly statusCode: number;
}

/** Node's `Duplex` of an upgrade. */
export interface NodeSocket {
  readonly destroyed: boolean;
  readonly writable: boolean;
}

/** What stands between a page and the services, and holds the credentials. */
export interface Proxy extends AsyncDisposable {
  /** What providers take as `proxyUrl`: the path of each target that is mounted, by its name. */
  readonly mounts: Readonly<Record<string, string>>;
  /** The same by class, such as `AlphaSTT`. */
  readonly providers: Readonly<Record<string, string>>;
  /** Answers a request: a route of Next, Hono, Deno, Bun or a Worker. Never rejects. */
  readonly fetch: (request: Request, peer?: ProxyPeer | null) => Promise<Response>;
  /**
   * For the `request` event of Node's server, or as a handler of Express. False when the request is not for the proxy:
   * then it is untouched, and `next` has been called.
   */
  readonly handle: (request: NodeRequest, response: NodeResponse, next?: () => void) => boolean;
  /** For the `upgrade` event of Node's server. False when the socket is not for the proxy, and untouched. */
  readonly upgrade: (request: NodeRequest, socket: NodeSocket, head: Uint8Array) => boolean;
  /** Turns new requests away, waits up to `drainMs` (default: 0) for those under way, and cuts what is left. */
  readonly dispose: (options?: { readonly drainMs?: number }) => Promise<void>;
}
