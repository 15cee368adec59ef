import { VoiceError } from './errors.ts';

/** The error with the service's id of the request, unless it has one. */
export function withRequestId(error: VoiceError, requestId: string | undefined): VoiceError {
  if (requestId === undefined || error.requestId !== undefined) return error;
  const { message, code, recoverable, provider, status, retryAfterMs, cause } = error;
  return new VoiceError(message, { code, recoverable, provider, status, retryAfterMs, cause, requestId });
}
