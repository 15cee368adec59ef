import { refusal } from '../../transport/http-error.ts';
import type { TTSConfig, VoiceHost, WireErrors } from './voice-service.ts';

/** Creates the errors of a provider's wire. */
export function wireErrors<C extends TTSConfig>({ error, transport }: VoiceHost<C>): WireErrors {
  return {
    error,
    refusal: (message, facts) => refusal({ ...facts, text: JSON.stringify(message) }, transport()),
  };
}
