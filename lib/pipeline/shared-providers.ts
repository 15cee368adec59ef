import type { SchedulerLike } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { ProviderContract } from '../core/roles.ts';
import { farewell } from './farewell.ts';
import type { Roles } from './roles.ts';

/** The pipelines that have initialized a provider. */
const holders = new WeakMap<ProviderContract, Set<object>>();
/** The pipeline whose conversation uses a provider. */
const owners = new WeakMap<ProviderContract, object>();

/** Notes that a pipeline needs a provider, so that {@link release} by another does not dispose it. */
export function hold(provider: ProviderContract, pipeline: object): void {
  holders.set(provider, (holders.get(provider) ?? new Set()).add(pipeline));
}

/** Ends a pipeline's use of a provider; disposes it if no other pipeline needs it. */
export async function release(provider: ProviderContract, pipeline: object, scheduler: SchedulerLike): Promise<void> {
  const others = holders.get(provider);
  others?.delete(pipeline);
  if (!others?.size) await farewell(() => provider.dispose(), scheduler);
}

/** Providers that serve one conversation at a time (docs/faults.md, F62). Models and voices serve several. */
function exclusiveRoles({ input, output, listener }: Roles): readonly ProviderContract[] {
  return [input, output, listener];
}

/**
 * Claims the input, the output and the listener for one conversation.
 *
 * @throws VoiceError `configuration` when another pipeline uses one of them.
 */
export function claim(roles: Roles, pipeline: object): void {
  const providers = exclusiveRoles(roles);
  const taken = providers.find((provider) => (owners.get(provider) ?? pipeline) !== pipeline);
  if (taken) {
    const message = `${taken.name} is in use by another pipeline: stop() that one first, or give each its own`;
    throw new VoiceError(message, { code: 'configuration', provider: taken.name });
  }
  for (const provider of providers) owners.set(provider, pipeline);
}

/** Releases what {@link claim} claimed. */
export function unclaim(roles: Roles, pipeline: object): void {
  for (const provider of exclusiveRoles(roles)) if (owners.get(provider) === pipeline) owners.delete(provider);
}
