import { VoiceError } from '../core/errors.ts';
import type { CallSide } from '../features/call-sink.ts';

/** Names of what belongs to the calls of one installation. */
export interface CallSubjects {
  /** The JetStream stream of all events. */
  readonly stream: string;
  /** What it holds. */
  readonly allEvents: string;
  /** The key-value bucket of the live list. */
  readonly bucket: string;
  readonly events: (callId: string, type: string) => string;
  readonly commands: (callId: string) => string;
  /** Who listens in says so here. */
  readonly listen: (callId: string) => string;
  readonly audio: (callId: string, side: CallSide | '*') => string;
}

/** How long somebody who listens in is believed to, and how often that is said again, in milliseconds. */
export const listenLeaseMs = 6_000;
export const listenEveryMs = 2_000;

/** A call's id, as `publish()` takes it: anything else could name several calls, or another subject. */
export const isCallId = (callId: unknown): callId is string =>
  typeof callId === 'string' && /^[\w-]{1,100}$/.test(callId);

/** The names that begin with `prefix`: `rxvoice.calls.<call>.events.<type>` and so on. */
export function subjectsOf(prefix: string): CallSubjects {
  const of = (callId: string, what: string): string => `${prefix}.calls.${callId}.${what}`;
  return {
    stream: `${prefix}-events`,
    allEvents: of('*', 'events.>'),
    bucket: `${prefix}-calls`,
    events: (callId, type) => of(callId, `events.${type}`),
    commands: (callId) => of(callId, 'commands'),
    listen: (callId) => of(callId, 'listen'),
    audio: (callId, side) => of(callId, `audio.${side}`),
  };
}

/** @throws VoiceError `configuration` when the names cannot begin so. */
export function assertPrefix(who: string, prefix: string): void {
  if (/^[\w-]{1,100}$/.test(prefix)) return;
  throw new VoiceError(`${who}: prefix may contain only letters, digits, - and _, not "${prefix}"`, {
    code: 'configuration',
  });
}
