import { responseError } from '../../transport/http-error.ts';
import type { TTSConfig, VoiceErrors, VoiceHost, WireErrors } from './voice-service.ts';

/** A provider whose error responses mean what a wire says, which may be loaded late. */
export function withErrorsOf<C extends TTSConfig>(wire: VoiceErrors<C>, host: VoiceHost<C>): VoiceHost<C> {
  const { transport, provider } = host;
  return {
    ...host,
    transport: () => ({ ...transport(), errorOf: (failure) => wire.errorOf?.(failure, provider.config) }),
  };
}

/** Creates the errors of a provider's wire. */
export function wireErrors<C extends TTSConfig>({ error, transport }: VoiceHost<C>): WireErrors {
  return {
    error,
    refusal: (message, facts) => responseError({ ...facts, text: JSON.stringify(message) }, transport()),
  };
}
