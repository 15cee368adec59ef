import type { SocketRefusal } from './socket.ts';

/**
 * A browser does not tell a page why an upgrade was refused. So the page asks the proxy, by a GET of the same address
 * that accepts this type: how would it refuse a socket there?
 */
export const refusalType = 'application/vnd.rxvoice.refusal+json';

/** A refusal, as the proxy knows it. */
export interface ToldRefusal extends Omit<SocketRefusal, 'body'> {
  readonly body: Uint8Array;
}

/** The answer's body; without a refusal, the socket would be accepted. */
export function writeRefusal(refusal: ToldRefusal | undefined): string {
  return JSON.stringify(refusal ? { ...refusal, body: new TextDecoder().decode(refusal.body) } : {});
}

/** The refusal in an answer; `undefined` when there is none. */
export function readRefusal(text: string): SocketRefusal | undefined {
  const { status, headers, body } = membersOf(text);
  if (typeof status !== 'number' || !Number.isInteger(status)) return undefined;
  const named = typeof headers === 'object' && headers !== null ? Object.entries(headers) : [];
  return {
    status,
    headers: Object.fromEntries(named.map(([name, value]) => [name, String(value)])),
    body: new TextEncoder().encode(typeof body === 'string' ? body : ''),
  };
}

function membersOf(text: string): { readonly [key in keyof SocketRefusal]?: unknown } {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? json : {};
  } catch {
    return {};
  }
}
