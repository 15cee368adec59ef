/** Why a request is turned down. */
export interface Refusal {
  readonly status: number;
  /** For programs, such as `path_not_listed`. */
  readonly code: string;
  /** For people; shown to the client, so without anything that it does not know. */
  readonly message: string;
  /** When another try makes sense, in seconds. */
  readonly retryAfter?: number;
}

export function isRefusal(value: object): value is Refusal {
  return 'code' in value && 'status' in value;
}

/** A browser that is led to an address of the proxy neither runs nor keeps what it finds there. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
};

/** A refusal as an answer: its headers, and its JSON. */
export function refusalAnswer({ code, message, retryAfter }: Refusal): {
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer>;
} {
  const body = new TextEncoder().encode(JSON.stringify({ error: { type: 'proxy', code, message } }));
  return {
    headers: {
      ...safeHeaders,
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
      'content-type': 'application/json',
      'content-length': String(body.length),
    },
    body,
  };
}
