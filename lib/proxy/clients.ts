import type { ProxyLimits } from './limits.ts';
import type { Refusal } from './refusal.ts';

/** Where a client's address stands; see `ProxyOptions.trustProxy`. */
export type TrustedProxy = number | string;

interface Client {
  /** How many calls it may begin now; grows with time. */
  allowance: number;
  /** When that was so, in milliseconds. */
  at: number;
  /** What it has under way. */
  calls: number;
}

/** More are not remembered: those that are not there have taken nothing for the longest. */
const mostClients = 10_000;

/** What each client takes: how many calls at once, and how many in a minute. */
export class Clients {
  readonly #limits: Pick<ProxyLimits, 'maxCallsPerClient' | 'callsPerMinute'>;
  readonly #now: () => number;
  /** Those seen last stand last. */
  readonly #clients = new Map<string, Client>();

  constructor(
    limits: Pick<ProxyLimits, 'maxCallsPerClient' | 'callsPerMinute'>,
    now: () => number = () => performance.now(),
  ) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Why a client that has tried too often is not listened to now; `undefined` if it is. */
  tired(key: string): Refusal | undefined {
    const { allowance } = this.#client(key);
    if (allowance >= 1) return undefined;
    const { callsPerMinute } = this.#limits;
    const seconds = Math.ceil(((1 - allowance) * 60) / callsPerMinute);
    return tooMany(seconds, `This client has started ${callsPerMinute} requests and sockets within a minute`);
  }

  /** Counts an attempt that begins no call. */
  spend(key: string): void {
    this.#client(key).allowance -= 1;
  }

  /** Begins a call. Gives what ends it, or why it may not begin. */
  begin(key: string): (() => void) | Refusal {
    const client = this.#client(key);
    const { maxCallsPerClient } = this.#limits;
    if (client.calls >= maxCallsPerClient) {
      return tooMany(1, `This client has ${maxCallsPerClient} requests and sockets open: end one first`);
    }
    const tired = this.tired(key);
    if (tired) return tired;
    this.spend(key);
    client.calls += 1;
    let open = true;
    return () => {
      if (open) client.calls -= 1;
      open = false;
    };
  }

  #client(key: string): Client {
    const { callsPerMinute } = this.#limits;
    const now = this.#now();
    const client = this.#clients.get(key) ?? { allowance: callsPerMinute, at: now, calls: 0 };
    client.allowance = Math.min(callsPerMinute, client.allowance + ((now - client.at) / 60_000) * callsPerMinute);
    client.at = now;
    this.#clients.delete(key);
    this.#clients.set(key, client);
    if (this.#clients.size > mostClients) this.#forget();
    return client;
  }

  #forget(): void {
    for (const [key, { calls }] of this.#clients) {
      if (calls > 0) continue;
      this.#clients.delete(key);
      return;
    }
  }
}

const tooMany = (retryAfter: number, message: string): Refusal => ({
  ...{ status: 429, code: 'too_many', message, retryAfter },
});

/** @throws Error when nothing would be found so, and all clients would share what one may take. */
export function assertTrusted(trust: TrustedProxy | undefined): void {
  if (trust === undefined || (typeof trust === 'number' && Number.isInteger(trust) && trust >= 0)) return;
  if (typeof trust === 'string' && /^[a-z][\w-]*$/i.test(trust)) return;
  throw new Error(`trustProxy must be how many proxies stand before this one, or a header's name: ${String(trust)}`);
}

/** The address of all whose address nobody tells. */
export const unknownAddress = 'unknown';

/** The address that a client's allowance goes by: of IPv6 its network, for a client has as many as it likes. */
export function clientAddress(headers: Headers, address: string | undefined, trust: TrustedProxy | undefined): string {
  return networkOf(forwarded(headers, trust) ?? address ?? '');
}

function forwarded(headers: Headers, trust: TrustedProxy | undefined): string | undefined {
  if (trust === undefined || trust === 0) return undefined;
  const hops = (headers.get(typeof trust === 'string' ? trust : 'x-forwarded-for') ?? '').split(',');
  // Whatever a client writes there itself stands before what the trusted proxies append.
  const own = hops.at(typeof trust === 'string' ? -1 : -trust)?.trim();
  return own === '' ? undefined : own;
}

function networkOf(address: string): string {
  const bare = address.replace(/^\[([^\]]*)\].*$/, '$1');
  const ipv4 = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?::\d+)?$/i.exec(bare)?.[1];
  if (ipv4 !== undefined) return ipv4;
  if (!/^[\w:.%]{2,64}$/.test(bare) || !bare.includes(':')) return unknownAddress;
  const [head = '', tail] = bare.toLowerCase().split('::', 2);
  const groups = head.split(':').filter(Boolean);
  const rest = tail === undefined ? [] : tail.split(':').filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...rest].map((group) => group.replace(/^0+(?=.)/, ''));
  return `${all.slice(0, 4).join(':')}::/64`;
}
