import { concat, defer, EMPTY, ignoreElements, catchError, type Observable, type SchedulerLike } from 'rxjs';
import { stallTimeout } from '../../stream/stall-timeout.ts';
import type {
  CallAgentLike,
  CallCredentialLike,
  MeetingCallLike,
  MeetingLocatorLike,
} from './meeting-call-packages.ts';

/** The meeting to join: exactly one of `meetingLink`, `meetingId`, `groupId` and `roomId`. */
export interface MeetingPlace {
  /** The meeting's address, such as `https://teams.microsoft.com/l/meetup-join/…`. */
  readonly meetingLink?: string;
  /** The meeting's id, as its invitation shows it. */
  readonly meetingId?: string;
  /** The passcode that belongs to the `meetingId`. Default: none. */
  readonly passcode?: string;
  /** The id of a group call of Azure Communication Services: a UUID. */
  readonly groupId?: string;
  /** The id of a room of Azure Communication Services. */
  readonly roomId?: string;
}

const names = ['meetingLink', 'meetingId', 'groupId', 'roomId'] as const;

/** What is wrong with the choice of a meeting, as a sentence; `undefined` if nothing. */
export function placeProblem(place: MeetingPlace): string | undefined {
  const given = names.filter((name) => place[name]);
  if (given.length === 0) return 'meetingLink is missing, or a meetingId, groupId or roomId';
  if (given.length > 1) return `${given.join(' and ')} name a meeting each: set one of them`;
  return place.passcode && !place.meetingId ? 'passcode belongs to a meetingId' : undefined;
}

/** The meeting, in the package's terms. */
export function locatorOf({
  meetingLink = '',
  meetingId,
  passcode,
  groupId,
  roomId,
}: MeetingPlace): MeetingLocatorLike {
  if (meetingId) return { meetingId, ...(passcode && { passcode }) };
  if (groupId) return { groupId };
  return roomId ? { roomId } : { meetingLink };
}

/** The package's objects of one call. */
export interface MeetingCallParts {
  readonly credential: CallCredentialLike;
  readonly agent?: CallAgentLike;
  readonly call?: MeetingCallLike;
}

/** Longest wait for each step of leaving, in milliseconds. */
const stepMs = 5_000;

/** Hangs up, then releases the agent, then the credential: each needs the next one to do so. Never fails. Cold. */
export function leave({ credential, agent, call }: MeetingCallParts, scheduler: SchedulerLike): Observable<never> {
  const step$ = (work: () => Promise<void> | void): Observable<never> =>
    defer(() => work() ?? EMPTY).pipe(
      stallTimeout({ firstMs: stepMs, scheduler }),
      catchError(() => EMPTY),
      ignoreElements(),
    );
  return concat(
    step$(() => (call && call.state !== 'Disconnected' ? call.hangUp() : undefined)),
    step$(() => agent?.dispose()),
    step$(() => credential.dispose()),
  );
}
