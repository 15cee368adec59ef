import { asString, type WireObject } from '../../core/guard.ts';
import type { SocketClose } from '../../transport/reconnecting-socket.ts';
import type { Failures } from './stt-wire.ts';

/** What the service's errors mean, by code or type. Others do not affect the session. */
export const thetaFailures: Failures = {
  invalid_api_key: { code: 'unauthorized', status: 401, hint: 'the credential was rejected' },
  insufficient_quota: { code: 'quota', status: 429, hint: "the account's quota is used up" },
  rate_limit_exceeded: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many requests' },
  session_expired: { code: 'server', recoverable: true, hint: 'the session reached its time limit; starting another' },
  server_error: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  invalid_model: { code: 'configuration', hint: 'check model' },
  invalid_parameter: { code: 'configuration', hint: "it rejected the session's settings" },
  invalid_request_error: { code: 'configuration', hint: "it rejected the session's settings" },
  beta_api_shape_disabled: { code: 'configuration', hint: 'a proxy must not add the header OpenAI-Beta' },
};

/** Id of the settings message, to recognize errors about it. */
export const settingsId = 'settings';

/** The failure for an error; `undefined` for one that does not affect the session. */
export function thetaErrorKind({ code, type, event_id: about }: WireObject): string | undefined {
  const kind = [asString(code), asString(type)].find((each) => each && Object.hasOwn(thetaFailures, each));
  return kind === 'invalid_request_error' && about !== settingsId ? undefined : kind;
}

/** The failure for a close: 3000 for a credential, 4000 for a request; `undefined` for any other. */
export function thetaCloseKind({ code, reason }: SocketClose): string | undefined {
  if (code === 3_000) return 'invalid_api_key';
  if (code !== 4_000) return undefined;
  return reason.split('.').findLast((each) => Object.hasOwn(thetaFailures, each)) ?? 'invalid_request_error';
}
