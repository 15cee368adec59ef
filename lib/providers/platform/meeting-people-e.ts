import type { MeetingPresence } from '../../core/calls.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';

/** State of a session. */
export type MeetingSessionStatus = 'waiting' | 'joined' | 'disconnected';

/** The active speaker. */
export interface MeetingSpeakerE {
  readonly userId: string;
  readonly userName?: string;
}

const statuses: ReadonlyMap<unknown, MeetingSessionStatus> = new Map([
  ['STATE_WAITING', 'waiting'],
  ['STATE_JOINED', 'joined'],
  ['STATE_DISCONNECTED', 'disconnected'],
]);

/** People, and streams of theirs, to remember; any beyond have no name. */
const maxPeople = 1000;

/** A contributing source that marks the loudest speaker; not a person. */
const loudestMarker = 42;

/** The states of the session in a message of `session-control`. */
export function sessionStatuses({ resources }: WireObject): { status: MeetingSessionStatus; reason: string }[] {
  return asObjects(resources).flatMap(({ sessionStatus }) => {
    const { connectionState, disconnectReason } = asObject(sessionStatus) ?? {};
    const status = statuses.get(connectionState);
    return status ? [{ status, reason: asString(disconnectReason) ?? 'REASON_SESSION_UNHEALTHY' }] : [];
  });
}

/** Who is in a meeting, from `participants` and `media-entries` messages, and who is speaking. */
export class MeetingPeopleE {
  /** Participant key and name, by resource id. */
  readonly #participants = new Map<number, { readonly key: string; readonly name: string }>();
  /** Participant key and source, by resource id. */
  readonly #entries = new Map<number, { readonly key: string; readonly csrc: number }>();

  /** Handles a `participants` message; returns who joined and left. */
  participants(message: WireObject): MeetingPresence[] {
    const before = [...this.#participants.values()];
    this.#take(this.#participants, message, ({ participant }) => {
      const { participantKey, signedInUser, anonymousUser, phoneUser } = asObject(participant) ?? {};
      const user = asObject(signedInUser) ?? asObject(anonymousUser) ?? asObject(phoneUser);
      const key = asString(participantKey);
      return key === undefined ? undefined : { key, name: asString(user?.['displayName']) ?? '' };
    });
    const now = [...this.#participants.values()];
    const [there, here] = [before, now].map((people) => new Set(people.map(({ key }) => key)));
    return [
      ...before.filter(({ key }) => !here?.has(key)).map((person) => presenceOf('left', person)),
      ...now.filter(({ key }) => !there?.has(key)).map((person) => presenceOf('joined', person)),
    ];
  }

  /** Handles a `media-entries` message. */
  entries(message: WireObject): void {
    this.#take(this.#entries, message, ({ mediaEntry }) => {
      const { participantKey, audioCsrc } = asObject(mediaEntry) ?? {};
      const csrc = asNumber(audioCsrc);
      return csrc === undefined ? undefined : { key: asString(participantKey) ?? String(csrc), csrc };
    });
  }

  /** The person behind the loudest contributing source; `undefined` when there is none, or none we know. */
  speaker(sources: readonly { readonly source: number; readonly audioLevel?: number }[]): MeetingSpeakerE | undefined {
    const [loudest] = sources
      .filter(({ source }) => source !== loudestMarker)
      .sort((a, b) => (b.audioLevel ?? 0) - (a.audioLevel ?? 0));
    const entry = [...this.#entries.values()].find(({ csrc }) => csrc === loudest?.source);
    if (!entry) return undefined;
    const { name = '' } = [...this.#participants.values()].find(({ key }) => key === entry.key) ?? {};
    return { userId: entry.key, ...(name && { userName: name }) };
  }

  /** Each resource is a full snapshot under its id, valid until deleted. */
  #take<T>(all: Map<number, T>, message: WireObject, read: (resource: WireObject) => T | undefined): void {
    for (const { id } of asObjects(message['deletedResources'])) all.delete(asNumber(id) ?? -1);
    for (const resource of asObjects(message['resources'])) {
      const id = asNumber(resource['id']);
      const value = read(resource);
      if (id !== undefined && value !== undefined && (all.has(id) || all.size < maxPeople)) all.set(id, value);
    }
  }
}

function presenceOf(
  type: MeetingPresence['type'],
  { key, name }: { readonly key: string; readonly name: string },
): MeetingPresence {
  return { type, userId: key, ...(name && { userName: name }) };
}
