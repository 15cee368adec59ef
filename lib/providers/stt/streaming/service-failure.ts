import type { VoiceErrorCode } from '../../../core/errors.ts';

/** What a failure means, and what to do about it. */
export interface Failure {
  readonly code: VoiceErrorCode;
  /** The HTTP status that it stands for. */
  readonly status?: number;
  /** Whether another connection may do better. Default: false. */
  readonly recoverable?: boolean;
  /** How long the service wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly hint: string;
}

/** A service's failures, by its word or code for them. */
export type Failures = Readonly<Record<string, Failure>>;

/** What a failure is that no table has. */
export const unknownFailure: Failure = { code: 'server', recoverable: true, hint: 'it is connected to anew' };
