import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';

/** Where a session is. */
export type MeetingSessionStatus = 'waiting' | 'joined' | 'disconnected';

/** Who speaks. */
export interface MeetingSpeakerE {
  readonly userId: string;
  readonly userName?: string;
}

const statuses: ReadonlyMap<unknown, MeetingSessionStatus> = new Map([
  ['STATE_WAITING', 'waiting'],
  ['STATE_JOINED', 'joined'],
  ['STATE_DISCONNECTED', 'disconnected'],
]);

/** People, and streams of theirs, that are kept; those beyond have no name. */
const maxPeople = 1000;

/** A contributing source that marks the loudest speaker, and is none. */
const loudestMarker = 42;

/** The states of the session in a message of `session-control`. */
export function sessionStatuses({ resources }: WireObject): { status: MeetingSessionStatus; reason: string }[] {
  return asObjects(resources).flatMap(({ sessionStatus }) => {
    const { connectionState, disconnectReason } = asObject(sessionStatus) ?? {};
    const status = statuses.get(connectionState);
    return status ? [{ status, reason: asString(disconnectReason) ?? 'REASON_SESSION_UNHEALTHY' }] : [];
  });
}

/** Who is in a meeting, by the messages of `participants` and `media-entries`, and who of them speaks. */
export class MeetingPeopleE {
  /** By the resource's id: the participant's key and name. */
  readonly #participants = new Map<number, { readonly key: string; readonly name: string }>();
  /** By the resource's id: the participant's key and source. */
  readonly #entries = new Map<number, { readonly key: string; readonly csrc: number }>();

  /** Takes a message of `participants`. */
  participants(message: WireObject): void {
    this.#take(this.#participants, message, ({ participant }) => {
      const { participantKey, signedInUser, anonymousUser, phoneUser } = asObject(participant) ?? {};
      const user = asObject(signedInUser) ?? asObject(anonymousUser) ?? asObject(phoneUser);
      const key = asString(participantKey);
      return key === undefined ? undefined : { key, name: asString(user?.['displayName']) ?? '' };
    });
  }

  /** Takes a message of `media-entries`. */
  entries(message: WireObject): void {
    this.#take(this.#entries, message, ({ mediaEntry }) => {
      const { participantKey, audioCsrc } = asObject(mediaEntry) ?? {};
      const csrc = asNumber(audioCsrc);
      return csrc === undefined ? undefined : { key: asString(participantKey) ?? String(csrc), csrc };
    });
  }

  /** Whose source is the loudest of those that contribute; `undefined` for nobody's, and nobody who is known. */
  speaker(sources: readonly { readonly source: number; readonly audioLevel?: number }[]): MeetingSpeakerE | undefined {
    const [loudest] = sources
      .filter(({ source }) => source !== loudestMarker)
      .sort((a, b) => (b.audioLevel ?? 0) - (a.audioLevel ?? 0));
    const entry = [...this.#entries.values()].find(({ csrc }) => csrc === loudest?.source);
    if (!entry) return undefined;
    const { name = '' } = [...this.#participants.values()].find(({ key }) => key === entry.key) ?? {};
    return { userId: entry.key, ...(name && { userName: name }) };
  }

  /** Resources are snapshots by their id, until they are deleted. */
  #take<T>(all: Map<number, T>, message: WireObject, read: (resource: WireObject) => T | undefined): void {
    for (const { id } of asObjects(message['deletedResources'])) all.delete(asNumber(id) ?? -1);
    for (const resource of asObjects(message['resources'])) {
      const id = asNumber(resource['id']);
      const value = read(resource);
      if (id !== undefined && value !== undefined && (all.has(id) || all.size < maxPeople)) all.set(id, value);
    }
  }
}
