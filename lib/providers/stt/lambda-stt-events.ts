import { asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import { decodeEventStream, encodeEventStream, type EventStreamValue } from '../../transport/aws-event-stream.ts';
import type { SocketData } from '../../transport/reconnecting-socket.ts';
import type { Failure, Failures } from './stt-wire.ts';

const text = (value: string): EventStreamValue => ({ type: 'string', value });
const headers: ReadonlyMap<string, EventStreamValue> = new Map([
  [':event-type', text('AudioEvent')],
  [':message-type', text('event')],
  [':content-type', text('application/octet-stream')],
]);

/** Audio in the service's framing. */
export function lambdaAudio(audio: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return encodeEventStream({ headers, payload: audio });
}

/** An event's `type` and `body`, or an `exception` or `error` with its `name` and `message`. */
export function lambdaMessage(data: SocketData): WireObject | undefined {
  if (typeof data === 'string') return undefined;
  try {
    const { headers: given, payload } = decodeEventStream(data);
    const header = (name: string): string | undefined => asString(given.get(`:${name}`)?.value);
    const kind = header('message-type');
    const body = parseJsonObject(payload) ?? {};
    if (kind === 'event') return { type: header('event-type'), body };
    const name = header('exception-type') ?? header('error-code') ?? 'an error';
    return { type: kind, name, message: asString(body['Message']) ?? header('error-message') ?? '' };
  } catch {
    return undefined;
  }
}

const credential: Failure = {
  code: 'unauthorized',
  status: 403,
  hint: "check the credentials, the region, and this machine's clock",
};

/** What the service's exceptions mean. */
export const lambdaFailures: Failures = {
  BadRequestException: { code: 'configuration', status: 400, hint: 'check that the configuration matches the audio' },
  RequestTimedOut: { code: 'timeout', status: 400, recoverable: true, hint: 'it received no audio for 15 s' },
  UnrecognizedClientException: credential,
  InvalidSignatureException: credential,
  SignatureDoesNotMatch: credential,
  ExpiredTokenException: credential,
  IncompleteSignatureException: credential,
  MissingAuthenticationTokenException: credential,
  AccessDeniedException: {
    code: 'forbidden',
    status: 403,
    hint: 'the credentials must allow transcribe:StartStreamTranscriptionWebSocket',
  },
  ResourceNotFoundException: { code: 'not_found', status: 404, hint: 'no such vocabulary or model' },
  ConflictException: { code: 'configuration', status: 409, hint: 'a newer session uses the same sessionId' },
  LimitExceededException: { code: 'rate_limited', status: 429, recoverable: true, hint: 'too many sessions at once' },
  InternalFailureException: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  InternalFailure: { code: 'server', status: 500, recoverable: true, hint: 'it failed' },
  ServiceUnavailableException: { code: 'overloaded', status: 503, recoverable: true, hint: 'it is overloaded' },
};

/** The name of what an exception means, where its message says more than its type. */
export function lambdaKind(name: string, message: string): string {
  if (name !== 'BadRequestException') return name;
  if (message.startsWith('Your request timed out')) return 'RequestTimedOut';
  return /signature/i.test(message) ? 'InvalidSignatureException' : name;
}
