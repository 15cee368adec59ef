import { presignUrl, signRequest, type AwsSigning } from '../transport/aws-signature.ts';
import { idHeaders } from '../transport/id-headers.ts';
import type { Asked } from './asked.ts';
import type { Mask } from './mask.ts';
import type { ProxyCredential, ProxyEnvironment, ProxyTarget } from './proxy-target.ts';
import { safeHeaders } from './refusal.ts';

/** A request as the service gets it. */
export interface Upstream {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

const passed = ['accept', 'content-type'];

/** What the service gets of a client's request: what is listed, nothing else, and no credential yet. */
export function upstreamOf(asked: Asked, url: URL, { headers = [], adds = {} }: ProxyTarget): Upstream {
  const sent: Record<string, string> = { ...adds };
  for (const name of [...passed, ...headers]) {
    const value = asked.headers.get(name);
    if (value !== null) sent[name] = value;
  }
  return { method: asked.method, url, headers: sent };
}

/** The same with the credential. `body` is what a signature covers; a socket's stands in its address. */
export async function withCredential(
  upstream: Upstream,
  injection: ProxyCredential,
  environment: ProxyEnvironment,
  body?: Uint8Array<ArrayBuffer>,
): Promise<Upstream> {
  const { method, url, headers } = upstream;
  if (injection.as === 'signature') {
    const signing = signingOf(injection.service, environment);
    if (!body) return { ...upstream, url: await presignUrl(url, signing, 300) };
    const { accept, ...signed } = headers;
    const ready = await signRequest({ method, url, headers: signed, body }, signing);
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

function signingOf(service: string, environment: ProxyEnvironment): AwsSigning {
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

const ids = new Set(idHeaders);
const answered =
  /^(content-(type|length|encoding|language)|date|retry-after(-ms)?|x-should-retry|(x-|anthropic-)?ratelimit-.+|x-amzn-.+|dg-.+)$/;

/**
 * What the client gets of a service's headers. Cookies, redirects and policies are the application's own affair.
 *
 * @param isDecoded - Whether the runtime undoes a compression: then length and coding are not those of the body.
 */
export function answerHeaders(
  headers: Iterable<readonly [string, string]>,
  mask: Mask,
  isDecoded: boolean,
): Record<string, string> {
  const all = [...headers];
  const isCoded = isDecoded && all.some(([name, value]) => name === 'content-encoding' && value !== 'identity');
  const shown = all.filter(
    ([name]) => (answered.test(name) || ids.has(name)) && !(isCoded && /^content-(length|encoding)$/.test(name)),
  );
  return { ...Object.fromEntries(shown.map(([name, value]) => [name, mask.text(value)])), ...safeHeaders };
}
