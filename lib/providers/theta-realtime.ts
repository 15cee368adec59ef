import type { AudioEncoding } from '../audio/types.ts';
import { asString, type WireObject } from '../core/guard.ts';
import type { SocketCredentials } from '../core/remote-provider.ts';
import type { SocketClose } from '../transport/reconnecting-socket.ts';
import type { Failures } from './stt/stt-wire.ts';

/** Whom OpenAI bills. */
export interface ThetaAccount {
  /** The organization to bill. */
  readonly organizationId?: string;
  /** The project to bill. */
  readonly projectId?: string;
}

/** A bearer; in browsers the service's subprotocols. */
export function thetaCredentials(key: string, { organizationId, projectId }: ThetaAccount): SocketCredentials {
  return {
    headers: {
      Authorization: `Bearer ${key}`,
      ...(organizationId && { 'OpenAI-Organization': organizationId }),
      ...(projectId && { 'OpenAI-Project': projectId }),
    },
    protocols: [
      ...['realtime', `openai-insecure-api-key.${key}`],
      ...(organizationId ? [`openai-organization.${organizationId}`] : []),
      ...(projectId ? [`openai-project.${projectId}`] : []),
    ],
  };
}

/** How OpenAI's realtime services detect the end of what the user says. */
export interface ThetaTurnDetection {
  /** How the end is detected: by silence, or by meaning. Default: `server_vad`. */
  readonly type?: 'server_vad' | 'semantic_vad' | (string & {});
  /** How loud a voice must be, 0 to 1; `server_vad` only. Default: the service's, 0.5. */
  readonly threshold?: number;
  /** Audio to include before a voice, in milliseconds; `server_vad` only. Default: the service's, 300. */
  readonly prefixPaddingMs?: number;
  /** Silence that ends what the user says, in milliseconds; `server_vad` only. Default: 500. */
  readonly silenceDurationMs?: number;
  /** How soon a turn may end; `semantic_vad` only. Default: the service's, `auto`. */
  readonly eagerness?: 'low' | 'medium' | 'high' | 'auto' | (string & {});
}

/** The same as the wire has it. */
export function thetaTurnDetection({ type = 'server_vad', ...options }: ThetaTurnDetection): WireObject {
  const { threshold, prefixPaddingMs, silenceDurationMs, eagerness } = options;
  return type === 'semantic_vad'
    ? { type, eagerness }
    : { type, threshold, prefix_padding_ms: prefixPaddingMs, silence_duration_ms: silenceDurationMs };
}

/** Formats as the wire has them. */
export const thetaFormats: Readonly<Partial<Record<AudioEncoding, WireObject>>> = {
  linear16: { type: 'audio/pcm', rate: 24_000 },
  mulaw: { type: 'audio/pcmu' },
  alaw: { type: 'audio/pcma' },
};

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
