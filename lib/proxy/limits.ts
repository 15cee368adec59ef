/** How much of the proxy its clients may use. */
export interface ProxyLimits {
  /** Bytes of a request's body. Default: 16 MiB. */
  readonly maxBodyBytes: number;
  /** Bytes of a body that is signed, and held for it. Default: 1 MiB. */
  readonly maxSignedBodyBytes: number;
  /** Bytes of a socket's message. Default: 16 MiB. */
  readonly maxMessageBytes: number;
  /** Requests and sockets at once, of all clients. Default: 64. */
  readonly maxCalls: number;
  /** Requests and sockets at once, of one client. Default: 16. */
  readonly maxCallsPerClient: number;
  /** Requests and new sockets of one client in any minute. Default: 300. */
  readonly callsPerMinute: number;
  /**
   * Longest wait for `authenticate`, and for a service to accept a socket, in milliseconds. Default: 10,000.
   */
  readonly connectMs: number;
  /** Longest time that a request's body may take, in milliseconds. Default: 30,000. */
  readonly bodyMs: number;
  /** Longest silence of a request or its answer, in milliseconds. Default: 60,000. */
  readonly idleMs: number;
  /** Longest silence of a socket in both directions, in milliseconds. Default: 300,000. */
  readonly socketIdleMs: number;
}

const defaultLimits: ProxyLimits = {
  maxBodyBytes: 16 * 1024 * 1024,
  maxSignedBodyBytes: 1024 * 1024,
  maxMessageBytes: 16 * 1024 * 1024,
  maxCalls: 64,
  maxCallsPerClient: 16,
  callsPerMinute: 300,
  connectMs: 10_000,
  bodyMs: 30_000,
  idleMs: 60_000,
  socketIdleMs: 300_000,
};

/** The longest that a timer can wait, and more than anything is counted to. */
export const most: number = 2 ** 31 - 1;

/** @throws Error when a limit is unknown, or not a number of at least 1: it would limit nothing. */
export function limitsOf(given: Partial<ProxyLimits> = {}): ProxyLimits {
  const set = Object.entries(given).filter(([, value]: [string, unknown]) => value !== undefined);
  for (const [name, value] of set) {
    if (!Object.hasOwn(defaultLimits, name)) throw new Error(`limits has no ${name}`);
    if (typeof value !== 'number' || !(value >= 1)) throw new Error(`The limit ${name} must be a number of at least 1`);
  }
  return { ...defaultLimits, ...Object.fromEntries(set.map(([name, value]) => [name, Math.min(value, most)])) };
}
