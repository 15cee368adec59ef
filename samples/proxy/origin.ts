import type { IncomingMessage } from 'node:http';

/** Whose pages may use the proxy. */
export interface OriginRules {
  /** Origins such as `https://app.example.com`. Default: pages that are served from the proxy's own port. */
  readonly origins: readonly string[] | undefined;
  /** Whether a request must name its page. Programs do not, and browsers always tell. */
  readonly requiresOrigin: boolean;
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** Whether the page that sent a request may. */
export function isFromAllowedPage(request: IncomingMessage, { origins, requiresOrigin }: OriginRules): boolean {
  const allowed = origins ?? ownOrigins(request);
  const { origin, host = '', 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined) return allowed.includes(origin);
  // A page reads from its own origin without naming itself. The host guards against a name that somebody else has
  // pointed at this machine.
  if (site !== undefined) {
    return site === 'same-origin' && allowed.some((each) => /^https?:/.test(each) && new URL(each).host === host);
  }
  return !requiresOrigin;
}

function ownOrigins({ socket }: IncomingMessage): string[] {
  const scheme = 'encrypted' in socket ? 'https' : 'http';
  return loopback.map((host) => new URL(`${scheme}://${host}:${socket.localPort ?? 0}`).origin);
}

/** What lets a page of another origin read an answer; nothing where there is no such page. */
export function corsHeaders({ headers: { origin } }: IncomingMessage): Record<string, string> {
  if (origin === undefined) return {};
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': '*', vary: 'origin' };
}

/** The answer to a preflight. What it allows beyond the vendor's own headers is not passed on. */
export function preflightHeaders(request: IncomingMessage): Record<string, string> {
  return {
    ...corsHeaders(request),
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '',
    'access-control-max-age': '600',
  };
}
