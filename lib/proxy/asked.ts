/** What decides about a request: the same of a runtime's `Request` and of Node's. */
export interface Asked {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  readonly headers: Headers;
  /** The server's own origins on this machine: pages that it serves itself. */
  readonly ownOrigins: readonly string[];
  /** Whom the connection comes from, if the runtime tells. */
  readonly address: string | undefined;
  /** For the application's `authenticate`; without the body. */
  request(): Request;
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** The origins of a port of this machine. */
export function originsOf(scheme: string, port: number | string): string[] {
  return loopback.map((host) => new URL(`${scheme}://${host}${port === '' ? '' : `:${port}`}`).origin);
}

/** A runtime's request, whose address it has normalized. */
export function askedOf(request: Request, address: string | undefined): Asked {
  const url = new URL(request.url);
  const { method, headers } = request;
  return {
    ...{ method, target: url.pathname + url.search, address },
    headers: headers.has('host') ? headers : withHost(headers, url.host),
    ownOrigins: originsOf(url.protocol.slice(0, -1), url.port),
    request: () => new Request(request.url, { method, headers, signal: request.signal }),
  };
}

function withHost(headers: Headers, host: string): Headers {
  const all = new Headers(headers);
  all.set('host', host);
  return all;
}
