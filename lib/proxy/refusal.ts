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

export const busy: Refusal = {
  status: 503,
  code: 'busy',
  message: 'The proxy is full: try again later',
  retryAfter: 1,
};
export const unanswered: Refusal = { status: 504, code: 'no_answer', message: 'Authentication took too long' };
/** Only the log shows it: the client is not there to read it. */
export const hasLeft: Refusal = { status: 499, code: 'gone', message: 'The client has gone' };
export const unknownUser: Refusal = {
  status: 401,
  code: 'not_authorized',
  message: 'The proxy does not know this user',
};
export const noName: Refusal = {
  ...{ status: 500, code: 'internal' },
  message: 'The proxy cannot tell users apart: authenticate must return a name, true or false',
};
export const unreachable: Refusal = { status: 502, code: 'unreachable', message: 'The service cannot be reached' };
export const internal: Refusal = { status: 500, code: 'internal', message: 'The proxy failed' };
export const noSocket: Refusal = {
  ...{ status: 426, code: 'no_socket' },
  message:
    "Sockets go to upgrade() on Node's servers; elsewhere, name the service in tokens and use proxyToken() in pages",
};
export const bodyRead: Refusal = {
  ...{
    status: 500,
    code: 'body_read',
    message: 'Something has already read the body: mount the proxy before body parsers',
  },
};

/** Whether a page of another origin must not read it. */
export function isHidden({ code }: Refusal): boolean {
  return code === 'origin_refused' || code === 'bad_target';
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
