import { messageOf, VoiceError, withChanges } from '../core/errors.ts';

/** The error as one of the provider: its message names it, unless the error names a provider already. */
export function errorOf(provider: string, cause: unknown): VoiceError {
  const known = VoiceError.is(cause) ? cause : undefined;
  if (known?.provider !== undefined) return known;
  const message = messageOf(cause);
  const named = message.startsWith(`${provider}: `) ? message : `${provider}: ${message}`;
  return withChanges(VoiceError.from(cause), { provider, cause }, named);
}

/** Whether a service could not be reached, so that it may be reached later. */
export function isAway(error: unknown): boolean {
  return VoiceError.is(error) && /^(connection|overloaded|timeout)$/.test(error.code);
}
