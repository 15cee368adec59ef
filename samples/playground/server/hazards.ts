import { serviceNames, type FaultKind, type Sandbox, type ServiceName } from '../../sandbox/index.ts';
import type { Forward } from './forward.ts';

/** What can be done to a service of the sandbox from the page. */
export type Hazard = 'drop' | 'slow' | 'stall' | 'rate-limit' | 'expired-key' | 'clear';

/** How late a slow service answers, in milliseconds: late enough to be felt, early enough for every time-out. */
const slowMs = 4_000;

/** What each hazard lets the sandbox do: once, but for a key, which stays expired until `clear`. */
const faults: Readonly<Record<Exclude<Hazard, 'clear'>, FaultKind>> = {
  drop: { kind: 'refuse' },
  slow: { kind: 'slowAccept', ms: slowMs },
  stall: { kind: 'stall', after: 0 },
  'rate-limit': { kind: 'status', status: 429, retryAfter: 1 },
  'expired-key': { kind: 'status', status: 401 },
};

/** Something that the page asks for in a way that is not understood. */
export class BadHazard extends Error {}

/**
 * Does a hazard to a service.
 *
 * @param asked - `{ hazard, service, path }`: the path is the service's below the sandbox, for its open sockets.
 */
export function applyHazard(asked: unknown, sandbox: Sandbox, sockets: Forward): { readonly dropped: number } {
  const { hazard, service, path } = asked as { hazard?: unknown; service?: unknown; path?: unknown };
  if (!isService(service)) throw new BadHazard('no such service');
  if (hazard === 'clear') {
    sandbox.clearFaults(service);
    return { dropped: 0 };
  }
  if (typeof hazard !== 'string' || !Object.hasOwn(faults, hazard)) throw new BadHazard('no such hazard');
  const fault = faults[hazard as keyof typeof faults];
  const dropped = hazard === 'drop' && typeof path === 'string' && path.length > 1 ? sockets.drop(path) : 0;
  // Where a socket was open, that was the connection to be cut.
  if (dropped === 0) sandbox.setFault(service, hazard === 'expired-key' ? fault : { ...fault, times: 1 });
  return { dropped };
}

function isService(name: unknown): name is ServiceName {
  return (serviceNames as readonly unknown[]).includes(name);
}
