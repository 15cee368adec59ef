import { withChanges, type VoiceError } from './errors.ts';

/** The error with the service's id of the request, unless it has one. */
export function withRequestId(error: VoiceError, requestId: string | undefined): VoiceError {
  return requestId === undefined || error.requestId !== undefined ? error : withChanges(error, { requestId });
}
