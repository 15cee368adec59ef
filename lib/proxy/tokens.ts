import type { VoiceErrorOptions } from '../core/errors.ts';
import type { ProxyEnvironment, ProxyTarget, ProxyTokenGrant } from './proxy-target.ts';
import { baseOf } from './proxy-target.ts';
import type { Refusal } from './refusal.ts';
import { withCredential } from './upstream.ts';

/** A short-lived token, as the proxy answers with it. */
export interface ProxyToken {
  readonly token: string;
  /** How long it lives, in seconds. */
  readonly expiresInSeconds: number;
}

/** How a token is asked for. */
export interface TokenCall {
  readonly name: string;
  readonly target: ProxyTarget;
  readonly grant: ProxyTokenGrant;
  /** In place of the vendor's own address. */
  readonly base: string | undefined;
  readonly environment: ProxyEnvironment;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
}

/** Longest answer that a token comes in, in bytes. */
const longestAnswer = 64 * 1024;

/** Asks a service for a token; its own words stay here, for they are about the application's account. */
export async function askForToken(call: TokenCall): Promise<ProxyToken | Refusal> {
  const { name, target, grant, environment, signal, fetch: send } = call;
  const { method, path, body, answer, expiresInSeconds } = grant;
  const base = baseOf(name, call.base ?? grant.base ?? target.base, environment);
  const address = new URL(base + path);
  for (const [key, variable] of Object.entries(grant.query ?? {})) {
    address.searchParams.set(key, environment[variable] ?? '');
  }
  const json = body === undefined ? undefined : JSON.stringify(body);
  const { url, headers } = await withCredential(
    {
      ...{ method, url: address },
      headers: { ...target.adds, ...grant.headers, ...(json && { 'content-type': 'application/json' }) },
    },
    grant.credential ?? target.credential,
    environment,
  );
  const init: RequestInit = { method, headers, redirect: 'manual', signal };
  const response = await send(url, method === 'POST' ? { ...init, body: json ?? '' } : init);
  const text = response.ok ? await shortText(response) : '';
  if (!response.ok) void response.body?.cancel().catch(() => undefined);
  const { status } = response;
  if (status === 429 || status === 503) {
    const retryAfter = Number(response.headers.get('retry-after')) || 1;
    return { status, code: 'refused_by_service', message: 'The service grants no tokens right now', retryAfter };
  }
  const token = answer === undefined ? text : memberOf(text, answer);
  if (token) return { token, expiresInSeconds };
  return { status: 502, code: 'no_token', message: `The service granted no token (${status})` };
}

async function shortText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = '';
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length <= longestAnswer) continue;
    await reader?.cancel();
    return '';
  }
  return text + decoder.decode();
}

function memberOf(text: string, name: string): string {
  try {
    const value: unknown = JSON.parse(text);
    const member: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    return typeof member === 'string' ? member : '';
  } catch {
    return '';
  }
}

/**
 * A provider's `apiKey` in a page: asks the proxy for a short-lived token whenever one is needed, and the provider then
 * speaks to its service directly.
 *
 * @param url - The mount's path of a token, such as `/api/voice/deepgram/token`.
 * @param init - For `fetch`, such as headers that tell who the user is. Default: none.
 * @returns A function that rejects with a `VoiceError` when the proxy refuses: with its reason, and at once unless another
 *   try makes sense.
 */
export function proxyToken(url: string | URL, init: RequestInit = {}): () => Promise<string> {
  return async () => {
    const response = await fetch(url, { ...init, method: 'POST' });
    const { status } = response;
    const answer = recordOf(await response.json().catch(() => undefined));
    if (response.ok && typeof answer['token'] === 'string') return answer['token'];
    const { code, message } = recordOf(answer['error']);
    const reason = typeof message === 'string' ? `: ${message}` : '';
    const hint = code === 'path_not_listed' ? '. Is the service in the list of its option tokens?' : '';
    const facts: VoiceErrorOptions = {
      ...{ status, code: status === 401 || status === 403 ? 'unauthorized' : 'configuration' },
      recoverable: status === 408 || status === 429 || status >= 500,
    };
    // A VoiceError without its class, so that a page that loads this alone loads little.
    const error = new Error(`The proxy gave no token (${status})${reason}${hint}`);
    throw Object.assign(error, facts, { [Symbol.for('rxvoice.error')]: true });
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
