import type { Failures } from './stt-wire.ts';

const again = { recoverable: true, retryAfterMs: 5_000 } as const;

/** What the service's errors mean, by type, and its close codes. */
export const zetaFailures: Failures = {
  not_authorised: { code: 'unauthorized', status: 401, hint: 'check the credential' },
  not_allowed: { code: 'forbidden', status: 403, hint: 'the account lacks permission' },
  invalid_message: { code: 'protocol', hint: 'it did not understand a message' },
  invalid_model: { code: 'configuration', hint: 'check language and operatingPoint' },
  invalid_language: { code: 'configuration', hint: 'check language' },
  invalid_config: { code: 'configuration', hint: 'it rejected a setting' },
  invalid_audio_type: { code: 'configuration', hint: 'it rejected the audio format' },
  invalid_output_format: { code: 'configuration', hint: 'it rejected a setting' },
  protocol_error: { code: 'protocol', hint: 'it did not expect a message' },
  timelimit_exceeded: { code: 'quota', hint: "the account's time is used up" },
  insufficient_funds: { code: 'quota', hint: "the account's funds are used up" },
  quota_exceeded: { code: 'rate_limited', ...again, hint: 'too many sessions at once' },
  job_error: { code: 'server', ...again, hint: 'reconnecting' },
  unknown_error: { code: 'server', ...again, hint: 'reconnecting' },
  data_error: { code: 'server', recoverable: true, hint: 'reconnecting' },
  buffer_error: { code: 'overloaded', recoverable: true, hint: 'audio arrived faster than it could process' },
  session_transfer: { code: 'server', recoverable: true, hint: 'reconnecting' },
  idle_timeout: { code: 'timeout', recoverable: true, hint: 'it heard nothing for too long; starting another session' },
  session_timeout: { code: 'timeout', recoverable: true, hint: 'the session reached its time limit; starting another' },
  1003: { code: 'protocol', hint: 'it did not expect a message' },
  1011: { code: 'server', ...again, hint: 'reconnecting' },
  4001: { code: 'unauthorized', hint: 'check the credential' },
  4003: { code: 'forbidden', hint: 'the account lacks permission' },
  4004: { code: 'configuration', hint: 'check language and operatingPoint' },
  4005: { code: 'rate_limited', ...again, hint: 'too many sessions at once' },
  4006: { code: 'quota', hint: "the account's time is used up" },
  4013: { code: 'server', ...again, hint: 'reconnecting' },
};
