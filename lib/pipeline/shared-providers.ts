import { VoiceError } from '../core/errors.ts';
import type { ProviderContract } from '../core/roles.ts';

/** The pipelines that have initialized a provider. */
const holders = new WeakMap<ProviderContract, Set<object>>();
/** The pipeline whose conversation a provider is part of. */
const owners = new WeakMap<ProviderContract, object>();

/** Notes that a pipeline needs a provider, so that {@link release} by another one leaves it as it is. */
export function hold(provider: ProviderContract, pipeline: object): void {
  holders.set(provider, (holders.get(provider) ?? new Set()).add(pipeline));
}

/** A pipeline has done with a provider; disposes of it when no other one needs it. */
export async function release(provider: ProviderContract, pipeline: object): Promise<void> {
  const others = holders.get(provider);
  others?.delete(pipeline);
  if (!others?.size) await provider.dispose();
}

/**
 * Takes providers for one conversation: what an input captures, a speech-to-text service hears or an output plays cannot
 * be two conversations' at once (RELIABILITY.md, F62). Models and voices can.
 *
 * @throws VoiceError `configuration` when another pipeline has one of them.
 */
export function claim(providers: readonly ProviderContract[], pipeline: object): void {
  const taken = providers.find((provider) => (owners.get(provider) ?? pipeline) !== pipeline);
  if (taken) {
    const message = `${taken.name} is part of another pipeline's conversation: stop() that one first, or give each its own`;
    throw new VoiceError(message, { code: 'configuration', provider: taken.name });
  }
  for (const provider of providers) owners.set(provider, pipeline);
}

/** Gives back what {@link claim} took. */
export function unclaim(providers: readonly ProviderContract[], pipeline: object): void {
  for (const provider of providers) if (owners.get(provider) === pipeline) owners.delete(provider);
}
