import type { Asked } from './asked.ts';

/** Whose pages may use the proxy. */
export interface OriginRules {
  /** Origins such as `https://app.example.com`. Default: pages that are served from the proxy's own port. */
  readonly origins: readonly string[] | undefined;
  /** Whether a request must name its page. Programs do not, and browsers always tell. */
  readonly requiresOrigin: boolean;
}

/** Whether the page that sent a request may. */
export function isFromAllowedPage(asked: Asked, { origins, requiresOrigin }: OriginRules): boolean {
  const allowed = origins ?? asked.ownOrigins;
  const { headers } = asked;
  const origin = headers.get('origin');
  if (origin !== null) return allowed.includes(origin);
  // A page reads from its own origin without naming itself. The host guards against a name that somebody else has
  // pointed at this machine.
  const site = headers.get('sec-fetch-site');
  if (site !== null) {
    const host = headers.get('host');
    return site === 'same-origin' && allowed.some((each) => /^https?:/.test(each) && new URL(each).host === host);
  }
  return !requiresOrigin;
}

/** How to admit a refused client, for the log; `undefined` for an origin that no browser sends, which may be anything. */
export function originAdvice({ headers }: Asked): string | undefined {
  const origin = headers.get('origin');
  if (origin === null) {
    return headers.has('sec-fetch-site') ? undefined : 'no page sent it: to serve programs, set requiresOrigin: false';
  }
  const isShown =
    origin.length < 100 && /^https?:/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin;
  return isShown ? `to serve it, list ${origin} in origins` : undefined;
}

/** What lets a page of another origin read an answer; nothing where there is no such page. */
export function corsHeaders({ headers }: Asked): Record<string, string> {
  const origin = headers.get('origin');
  if (origin === null) return {};
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': '*', vary: 'origin' };
}

/** The answer to a preflight. What it allows beyond the target's own headers is not passed on. */
export function preflightHeaders(asked: Asked): Record<string, string> {
  return {
    ...corsHeaders(asked),
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': asked.headers.get('access-control-request-headers') ?? '',
    'access-control-max-age': '600',
  };
}
