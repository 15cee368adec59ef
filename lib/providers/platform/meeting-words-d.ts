import type { VoiceErrorCode } from '../../core/errors.ts';
import { ownEntry } from '../../core/own-entry.ts';

/** The platform's name for the state of a stream or session. */
export type MeetingStreamState =
  'inactive' | 'active' | 'interrupted' | 'terminating' | 'terminated' | 'paused' | 'resumed';

/** By the platform's numbers. */
export const streamStates: readonly MeetingStreamState[] = [
  ...(['inactive', 'active', 'interrupted', 'terminating', 'terminated', 'paused', 'resumed'] as const),
];
/** Session states 0 to 4; 5 is the end. */
export const sessionStates: readonly MeetingStreamState[] = ['inactive', 'inactive', 'active', 'paused', 'resumed'];

/** Handshake statuses that are neither a misconfiguration nor a fault of ours: message, code, and whether to retry. */
const statuses: Readonly<Record<string, readonly [string, VoiceErrorCode, boolean]>> = {
  2: ['the stream has ended or belongs to another meeting', 'not_found', false],
  3: ['the signature is wrong: check clientId and clientSecret', 'unauthorized', false],
  8: ['another connection already has this stream', 'rate_limited', true],
  9: ['this app or meeting provides no audio: check its scopes', 'forbidden', false],
  15: ['its media connection is still open', 'rate_limited', true],
  16: ['its media connection is still open', 'rate_limited', true],
  45: ['the service failed', 'server', true],
};

/** Why a stream stopped, by the platform's number. */
const stopReasons: Readonly<Record<string, string>> = {
  1: 'stopped by the host',
  2: 'stopped by the user',
  3: 'the user left',
  4: 'the user was removed',
  5: 'the host disabled the app',
  6: 'the meeting ended',
  7: 'cancelled',
  8: 'revoked: delete what was recorded',
  9: 'all apps were disabled',
  10: 'internal failure',
  11: 'timed out',
  12: 'interrupted',
  13: 'interrupted',
  14: 'interrupted',
  15: 'closed abnormally by the app',
  16: 'closed abnormally by the app',
  17: 'the app left',
  18: 'authentication failed',
  19: 'reconnected too late',
  20: 'closed by the receiver',
  23: 'stopped by an administrator',
  24: 'keep-alives were missed',
};

/** What a handshake's status means. */
export function refusalOf(status: number): { why: string; code: VoiceErrorCode; recoverable: boolean } {
  const [why, code, recoverable] = ownEntry(statuses, String(status)) ?? [
    'the request was not accepted',
    'configuration',
    false,
  ];
  return { why, code, recoverable };
}

/** Why a stream stopped, and whether reconnecting may help. */
export function stopOf(reason: number | undefined): { detail: string; isRetriable: boolean } {
  return {
    detail: ownEntry(stopReasons, String(reason)) ?? (reason ? `stopped (${reason})` : 'stopped'),
    isRetriable: reason !== undefined && reason >= 10 && reason <= 16,
  };
}
