import type { IncomingMessage } from 'node:http';

const loopback = /^(127(\.\d+){3}|::ffff:127(\.\d+){3}|\[?::1\]?|localhost)$/;

/** What reverse proxies add to a request. */
const proxied = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'];

/**
 * Whether a call comes from this machine: from a program, or from the softphone that this server serves. A page of
 * another origin is refused, and so is a name that somebody has pointed here, a tunnel, or a reverse proxy that says so.
 */
export function isLocal({ socket, headers }: IncomingMessage, publicUrl = ''): boolean {
  const { host = '', origin } = headers;
  if (publicUrl !== '' || !loopback.test(socket.remoteAddress ?? '')) return false;
  if (proxied.some((name) => headers[name] !== undefined)) return false;
  const { hostname } = URL.parse(`http://${host}`) ?? {};
  return loopback.test(hostname ?? '') && (origin === undefined || origin === `http://${host}`);
}

/** What a browser may do with what it finds here. */
export const headers = {
  'cache-control': 'no-store',
  'content-security-policy': [
    ...[
      "default-src 'none'",
      "script-src 'self' blob: 'wasm-unsafe-eval'",
      "style-src 'self'",
      'img-src data:',
      'worker-src blob:',
    ],
    ...["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
