import { VoiceError } from '../core/errors.ts';
import type { ProviderContract } from '../core/roles.ts';

/** The pipelines that have initialized a provider. */
const holders = new WeakMap<ProviderContract, Set<object>>();
/** The pipeline whose conversation uses a provider. */
const owners = new WeakMap<ProviderContract, object>();

/** Notes that a pipeline needs a provider, so that another one's {@link release} does not dispose it. */
export function hold(provider: ProviderContract, pipeline: object): void {
  holders.set(provider, (holders.get(provider) ?? new Set()).add(pipeline));
}

/** Ends a pipeline's use of a provider; disposes it if no other pipeline needs it. */
export async function release(provider: ProviderContract, pipeline: object): Promise<void> {
  const others = holders.get(provider);
  others?.delete(pipeline);
  if (!others?.size) await provider.dispose();
}

/**
 * Claims providers for one conversation: an input, a speech-to-text service or an output cannot serve two at once
 * (RELIABILITY.md, F62). Models and voices can.
 *
 * @throws VoiceError `configuration` when another pipeline uses one of them.
 */
export function claim(providers: readonly ProviderContract[], pipeline: object): void {
  const taken = providers.find((provider) => (owners.get(provider) ?? pipeline) !== pipeline);
  if (taken) {
    const message = `${taken.name} is in use by another pipeline: stop() that one first, or give each its own`;
    throw new VoiceError(message, { code: 'configuration', provider: taken.name });
  }
  for (const provider of providers) owners.set(provider, pipeline);
}

/** Releases what {@link claim} claimed. */
export function unclaim(providers: readonly ProviderContract[], pipeline: object): void {
  for (const provider of providers) if (owners.get(provider) === pipeline) owners.delete(provider);
}
