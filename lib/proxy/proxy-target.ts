/** Variables of the environment: the credentials, and what addresses follow from. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

/** How a service wants its credential; `key` is the environment variable that holds it. */
export type ProxyCredential =
  | { readonly as: 'header'; readonly name: string; readonly scheme?: string; readonly key: string }
  | { readonly as: 'query'; readonly name: string; readonly key: string }
  /** AWS Signature, Version 4, of this service: in the headers of a request, in the query of a socket. */
  | { readonly as: 'signature'; readonly service: string };

/** Scheme, host and fixed path prefix; some follow from the environment. */
export type ProxyBase = string | ((environment: ProxyEnvironment) => string);

/** What may be asked of a service. */
export interface ProxyRoute {
  /** `WS` is a WebSocket. */
  readonly method: 'GET' | 'POST' | 'WS';
  /** Below the base; `{name}` stands for any text without a slash. */
  readonly path: string;
  /** Where this path is not below the target's base. */
  readonly base?: ProxyBase;
  /** What it opens bypasses the proxy, and so its limits: served only where `ProxyOptions.tokens` names the mount. */
  readonly bypasses?: boolean;
}

/** How a service is asked for a short-lived token, which a page may have. */
export interface ProxyTokenGrant {
  readonly method: 'GET' | 'POST';
  /** Below the base, with its query. */
  readonly path: string;
  /** Query parameters that variables of the environment hold, by name; without those, the token is not granted. */
  readonly query?: Readonly<Record<string, string>>;
  /** Where this path is not below the target's base. */
  readonly base?: ProxyBase;
  /** Where it is not the target's credential. */
  readonly credential?: ProxyCredential;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. Default: no body. */
  readonly body?: unknown;
  /** The field of the JSON answer that holds the token. Default: the answer is the token. */
  readonly answer?: string;
  /** How long the token lives, in seconds. */
  readonly expiresInSeconds: number;
}

/** A service as the proxy knows it. The vendors' own are values such as `deepgram`; `{ ...deepgram, base }` changes one. */
export interface ProxyTarget {
  /** The providers' classes that it serves. Default: none is named. */
  readonly providers?: readonly string[];
  readonly base: ProxyBase;
  readonly credential: ProxyCredential;
  /** Environment variables without which it is not mounted. Default: the credential's own. */
  readonly needs?: readonly string[];
  /** Request headers of the client that are passed on, in lower case, beside `accept` and `content-type`. */
  readonly headers?: readonly string[];
  /** Request headers that the service wants and a page cannot set. */
  readonly adds?: Readonly<Record<string, string>>;
  /** What may be asked; anything else is refused. */
  readonly routes: readonly ProxyRoute[];
  /** The tokens that it grants, by their path below the mount; see `ProxyOptions.tokens`. Default: none. */
  readonly tokens?: Readonly<Record<string, ProxyTokenGrant>>;
}

/** The environment variables without which a target is not mounted. */
export function needsOf({ needs, credential }: ProxyTarget): readonly string[] {
  if (needs) return needs;
  if (credential.as === 'signature') return ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'];
  return [credential.key];
}

/** What must never be shown of the credential. */
export function secretsOf({ credential }: ProxyTarget, environment: ProxyEnvironment): readonly string[] {
  const names = credential.as === 'signature' ? ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] : [credential.key];
  return names.map((name) => environment[name] ?? '').filter((value) => value !== '');
}

/** The address of a target, or of one of its paths, without a trailing slash: one over which a credential may go. */
export function baseOf(name: string, base: ProxyBase, environment: ProxyEnvironment): string {
  const text = typeof base === 'string' ? base : base(environment);
  const url = parseUrl(text);
  const isLocal = url !== undefined && /^(127(\.\d+){3}|\[::1\]|localhost)$/.test(url.hostname);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return text.replace(/(?<!\/)\/+$/, '');
  throw new Error(`The address of ${name} must be https: (or http: on this machine): ${url?.origin ?? text}`);
}

/** `URL.parse`, which Node 20 does not have everywhere. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Node's and its like's; a Worker's is an argument of its own. */
export function ownEnvironment(): ProxyEnvironment {
  const { process } = globalThis as { readonly process?: { readonly env?: ProxyEnvironment } };
  return process?.env ?? {};
}
