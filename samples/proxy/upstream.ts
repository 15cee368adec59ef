import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { presignUrl, signRequest, type AwsSigning } from '../../lib/transport/aws-signature.ts';
import type { Mask } from './mask.ts';
import type { Environment, Injection, ProxiedVendor } from './vendors.ts';

/** A request as the service gets it. */
export interface Upstream {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

const passed = ['accept', 'content-type'];

/** What the service gets of a client's request: what is listed, nothing else, and no credential yet. */
export function upstreamOf(request: IncomingMessage, url: URL, { headers = [], adds = {} }: ProxiedVendor): Upstream {
  const sent: Record<string, string> = { ...adds };
  for (const name of [...passed, ...headers]) {
    const value = request.headers[name];
    if (typeof value === 'string') sent[name] = value;
  }
  return { method: request.method ?? 'GET', url, headers: sent };
}

/** The same with the credential. `body` is what a signature covers; a socket's stands in its address. */
export async function withCredential(
  upstream: Upstream,
  injection: Injection,
  environment: Environment,
  body?: Buffer,
): Promise<Upstream> {
  const { method, url, headers } = upstream;
  if (injection.as === 'signature') {
    const signing = signingOf(injection.service, environment);
    if (!body) return { ...upstream, url: await presignUrl(url, signing, 300) };
    const { accept, ...signed } = headers;
    const ready = await signRequest({ method, url, headers: signed, body: new Uint8Array(body) }, signing);
    return { ...upstream, headers: { ...(accept !== undefined && { accept }), ...ready } };
  }
  const { as, name, key } = injection;
  const value = environment[key];
  if (!value) return upstream;
  if (as === 'header') {
    return { ...upstream, headers: { ...headers, [name]: injection.scheme ? `${injection.scheme} ${value}` : value } };
  }
  const address = new URL(url);
  // Appended as text: what the client sent stays as it is.
  address.search += `${address.search ? '&' : '?'}${name}=${encodeURIComponent(value)}`;
  return { ...upstream, url: address };
}

function signingOf(service: string, environment: Environment): AwsSigning {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION } = environment;
  return {
    ...{ service, region: AWS_REGION ?? '', now: Date.now() },
    credentials: {
      accessKeyId: AWS_ACCESS_KEY_ID ?? '',
      secretAccessKey: AWS_SECRET_ACCESS_KEY ?? '',
      sessionToken: AWS_SESSION_TOKEN,
    },
  };
}

const answered =
  /^(content-(type|length|encoding|language)|date|retry-after(-ms)?|(x-)?request-id|x-should-retry|(x-|anthropic-)?ratelimit-.+|x-amzn-.+|dg-.+)$/;

/** What the client gets of a service's headers. Cookies, redirects and policies are the application's own affair. */
export function answerHeaders(headers: IncomingHttpHeaders, mask: Mask): Record<string, string> {
  const shown = Object.entries(headers).filter(([name]) => answered.test(name));
  return {
    ...Object.fromEntries(shown.map(([name, value]) => [name, mask.text(String(value))])),
    ...safeHeaders,
  };
}

/** A browser that is led to an address of the proxy neither runs nor keeps what it finds there. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
};
