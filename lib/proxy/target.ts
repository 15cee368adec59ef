import type { ProxyRoute } from './proxy-target.ts';
import type { Refusal } from './refusal.ts';

/** What a request is for. */
export interface Target {
  /** The name of the target's mount. */
  readonly vendor: string;
  /** Below the mount, as it was sent. */
  readonly path: string;
  /** Without the credentials that the client sent; with its question mark, or empty. */
  readonly query: string;
}

const longestTarget = 16 * 1024;

/** Parameters in which the vendors' credentials go. */
const credentials =
  /^(key|(api|access|subscription|secret)[-_]?(key|token)|(single_use_)?token|auth|authorization|jwt|sig|signature|(x-goog|xi|ocp-apim)-[\w-]+|x-amz-.*)$/i;

const bad = (message: string): Refusal => ({ status: 400, code: 'bad_target', message });

/** Whether a request's target is below a prefix; nothing else of it is looked at. */
export function isBelow(url: string, prefix: string): boolean {
  if (prefix === '') return true;
  return url.startsWith(prefix) && /^([/?]|$)/.test(url.slice(prefix.length));
}

/**
 * The parts of a request's target, `<prefix>/<vendor>/<path>?<query>`. It is taken as it stands: what a server could
 * read in two ways (dot segments, empty segments, encoded slashes, double encoding, absolute form, semicolons between
 * parameters) is refused, never mended.
 */
export function parseTarget(url: string, prefix: string): Target | Refusal {
  if (url.length > longestTarget) return { status: 414, code: 'target_too_long', message: 'The address is too long' };
  if (!url.startsWith('/')) return bad('The target must be a path: absolute addresses are not served');
  if (/[^\x21-\x7e]|[\\#]/.test(url)) return bad('The address has characters that must be encoded');
  if (!isBelow(url, prefix)) return bad('The address is outside of the proxy');
  const mark = url.indexOf('?');
  const pathname = (mark < 0 ? url : url.slice(0, mark)).slice(prefix.length);
  const segments = pathname.split('/').slice(1);
  if (segments.length < 2) return { status: 404, code: 'not_found', message: 'There is nothing at this address' };
  if (/["<>^`{|}]/.test(pathname)) return bad('The path has characters that must be encoded');
  if (!segments.every(isPlain)) return bad('The path has segments that are empty, dots, or encoded twice');
  if (mark >= 0 && url.includes(';', mark)) return bad('The query has a semicolon, which must be encoded');
  const [vendor = '', ...rest] = segments;
  return { vendor, path: `/${rest.join('/')}`, query: mark < 0 ? '' : withoutCredentials(url.slice(mark + 1)) };
}

function isPlain(segment: string): boolean {
  const text = decode(segment);
  return text !== undefined && !/^\.{0,2}$/.test(text) && !/[/\\%\p{Cc}]/u.test(text);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function withoutCredentials(query: string): string {
  const kept = query.split('&').filter((pair) => {
    const name = decode(pair.split('=', 1)[0]?.replaceAll('+', ' ') ?? '');
    return pair !== '' && name !== undefined && !credentials.test(name.trim());
  });
  return kept.length > 0 ? `?${kept.join('&')}` : '';
}

/** The route of a vendor for a path and a method, or why there is none. */
export function findRoute(routes: readonly ProxyRoute[], path: string, method: string): ProxyRoute | Refusal {
  const here = routes.filter((route) => matches(route.path, path));
  const found = here.find((route) => route.method === method);
  if (found) return found;
  if (here.length > 0) return { status: 405, code: 'method_not_allowed', message: 'This path takes another method' };
  return { status: 404, code: 'path_not_listed', message: 'The proxy does not serve this path' };
}

function matches(pattern: string, path: string): boolean {
  const parts = pattern.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]+')}$`).test(path);
}
