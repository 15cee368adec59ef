import {
  EMPTY,
  filter,
  from,
  fromEvent,
  interval,
  map,
  merge,
  mergeMap,
  Observable,
  of,
  startWith,
  switchMap,
  takeWhile,
  tap,
  throwError,
  type SchedulerLike,
} from 'rxjs';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { num, obj, objs, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import { readStatsWanted, statsSections } from './meeting-stats-e.ts';

/** Where a session is. */
export type MeetingSessionStatus = 'waiting' | 'joined' | 'disconnected';

/** What happens on one connection. */
export type MeetingPeerEvent =
  /** The service has answered. */
  | { readonly type: 'connected' }
  | { readonly type: 'track'; readonly track: MediaStreamTrack }
  | { readonly type: 'status'; readonly status: MeetingSessionStatus; readonly reason?: string }
  | { readonly type: 'speaker'; readonly userId: string; readonly userName?: string };

/** What a connection needs. */
export interface MeetingPeerOptions {
  readonly iceServers: readonly RTCIceServer[];
  /** Gives the service an offer, and its answer back. */
  readonly negotiate$: (offer: string) => Observable<string>;
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  readonly scheduler: SchedulerLike;
  /** Gets what says goodbye while the connection is there. */
  readonly onLeave: (leave: (() => void) | undefined) => void;
}

const statuses: Readonly<Record<string, MeetingSessionStatus>> = {
  STATE_WAITING: 'waiting',
  STATE_JOINED: 'joined',
  STATE_DISCONNECTED: 'disconnected',
};

/** Ends for which another connection is of no use. */
const finalReasons = new Set(['REASON_CLIENT_LEFT', 'REASON_USER_STOPPED', 'REASON_CONFERENCE_ENDED']);

const channelNames = ['session-control', 'media-stats', 'media-entries', 'participants'] as const;
type ChannelName = (typeof channelNames)[number];

/** The streams that the service fills with whoever is loudest. */
const audioStreams = 3;
const speakerMs = 250;
/** A contributing source that marks the loudest speaker, and is none. */
const loudestMarker = 42;

/**
 * One connection to a meeting: three audio streams and four data channels. Completes at an end of the meeting's, fails
 * when another connection may do better. Unsubscribing closes it. Cold.
 */
export function connectPeer(options: MeetingPeerOptions): Observable<MeetingPeerEvent> {
  return new Observable((subscriber) => {
    const peer = new RTCPeerConnection({ bundlePolicy: 'max-bundle', iceServers: [...options.iceServers] });
    // In this order: the service refuses any other.
    const transceivers = Array.from({ length: audioStreams }, () =>
      peer.addTransceiver('audio', { direction: 'recvonly' }),
    );
    const channels = new Map(channelNames.map((name) => [name, peer.createDataChannel(name, { ordered: true })]));
    const messages$ = (name: ChannelName): Observable<WireObject> => {
      const channel = channels.get(name);
      if (!channel) return EMPTY;
      const texts$ = fromEvent<MessageEvent<unknown>>(channel, 'message');
      return texts$.pipe(
        map(({ data }) => (typeof data === 'string' ? parseJsonObject(data) : undefined)),
        filter((message) => message !== undefined),
      );
    };
    const requests = new Map<ChannelName, number>();
    const say = (name: ChannelName, request: WireObject): void => {
      const channel = channels.get(name);
      if (channel?.readyState !== 'open') return;
      const requestId = (requests.get(name) ?? 0) + 1;
      requests.set(name, requestId);
      channel.send(JSON.stringify({ request: { requestId, ...request } }));
    };
    const resources$ = (name: ChannelName): Observable<WireObject> =>
      messages$(name).pipe(mergeMap(({ resources }) => objs(resources)));

    const status$ = resources$('session-control').pipe(
      map(({ sessionStatus }) => obj(sessionStatus) ?? {}),
      mergeMap(({ connectionState, disconnectReason }): Observable<MeetingPeerEvent> => {
        const status = statuses[str(connectionState) ?? ''];
        const reason = str(disconnectReason) ?? 'REASON_SESSION_UNHEALTHY';
        if (!status) return EMPTY;
        if (status !== 'disconnected') return of({ type: 'status', status });
        return finalReasons.has(reason)
          ? of({ type: 'status', status, reason })
          : throwError(() => lost(options, reason));
      }),
    );
    const control = channels.get('session-control');
    const opened$: Observable<MeetingPeerEvent> = control
      ? fromEvent(control, 'open').pipe(map(() => ({ type: 'status', status: 'waiting' })))
      : EMPTY;
    const broken$ = merge(
      fromEvent(peer, 'connectionstatechange').pipe(filter(() => peer.connectionState === 'failed')),
      control ? fromEvent(control, 'close') : EMPTY,
    ).pipe(mergeMap(() => throwError(() => lost(options, 'the connection failed'))));
    const tracks$: Observable<MeetingPeerEvent> = fromEvent<RTCTrackEvent>(peer, 'track').pipe(
      map(({ track }) => ({ type: 'track', track })),
    );
    const stats$ = resources$('media-stats').pipe(
      map(({ configuration }) => readStatsWanted(obj(configuration) ?? {})),
      switchMap((wanted) =>
        wanted.intervalSeconds > 0
          ? interval(wanted.intervalSeconds * 1000, options.scheduler).pipe(
              mergeMap(() => peer.getStats()),
              map((reports) => statsSections(reportsOf(reports), wanted)),
              filter((sections) => sections.length > 0),
              tap((sections) => say('media-stats', { uploadMediaStats: { sections } })),
            )
          : EMPTY,
      ),
      mergeMap(() => EMPTY),
    );
    const answered$ = from(offerOf(peer)).pipe(
      switchMap((offer) => options.negotiate$(offer)),
      switchMap((sdp) => peer.setRemoteDescription({ type: 'answer', sdp })),
      map((): MeetingPeerEvent => ({ type: 'connected' })),
    );

    options.onLeave(() => say('session-control', { leave: {} }));
    subscriber.add(() => {
      options.onLeave(undefined);
      for (const channel of channels.values()) channel.close();
      peer.close();
    });
    subscriber.add(
      merge(opened$, status$, broken$, tracks$, stats$, speakers$(transceivers, messages$, options), answered$)
        .pipe(takeWhile((event) => !(event.type === 'status' && event.status === 'disconnected'), true))
        .subscribe(subscriber),
    );
  });
}

function lost({ error }: MeetingPeerOptions, reason: string): VoiceError {
  return error(`the meeting was lost: ${reason}`, { code: 'connection', recoverable: true });
}

async function offerOf(peer: RTCPeerConnection): Promise<string> {
  await peer.setLocalDescription();
  return peer.localDescription?.sdp ?? '';
}

function reportsOf(reports: RTCStatsReport): WireObject[] {
  const all: WireObject[] = [];
  reports.forEach((report: WireObject) => all.push(report));
  return all;
}

/** Who speaks: the contributing sources of the streams, by what the service tells of participants. */
function speakers$(
  transceivers: readonly RTCRtpTransceiver[],
  messages$: (name: ChannelName) => Observable<WireObject>,
  { scheduler }: MeetingPeerOptions,
): Observable<MeetingPeerEvent> {
  const names = new Map<string, string>();
  const entries = new Map<number, { readonly csrc: number; readonly participant: string }>();
  const participants$ = messages$('participants').pipe(
    tap(({ resources }) => {
      for (const { participant } of objs(resources)) {
        const { participantKey, signedInUser, anonymousUser, phoneUser } = obj(participant) ?? {};
        const user = obj(signedInUser) ?? obj(anonymousUser) ?? obj(phoneUser);
        const key = str(participantKey);
        if (key !== undefined && names.size < 1000) names.set(key, str(user?.['displayName']) ?? '');
      }
    }),
  );
  const entries$ = messages$('media-entries').pipe(
    tap(({ resources, deletedResources }) => {
      for (const { id } of objs(deletedResources)) entries.delete(num(id) ?? -1);
      for (const { id, mediaEntry } of objs(resources)) {
        const { audioCsrc, participantKey } = obj(mediaEntry) ?? {};
        const [at, csrc] = [num(id), num(audioCsrc)];
        if (at === undefined || csrc === undefined || entries.size >= 1000) continue;
        entries.set(at, { csrc, participant: str(participantKey) ?? String(csrc) });
      }
    }),
  );
  let last: string | undefined;
  const looked$ = interval(speakerMs, scheduler).pipe(
    mergeMap((): Observable<MeetingPeerEvent> => {
      const sources = transceivers.flatMap(({ receiver }) => receiver.getContributingSources());
      const loudest = sources
        .filter(({ source }) => source !== loudestMarker)
        .sort((a, b) => (b.audioLevel ?? 0) - (a.audioLevel ?? 0))[0];
      const entry = [...entries.values()].find(({ csrc }) => csrc === loudest?.source);
      if (!entry || entry.participant === last) return EMPTY;
      last = entry.participant;
      const userName = names.get(entry.participant);
      return of({ type: 'speaker', userId: entry.participant, ...(userName && { userName }) });
    }),
  );
  return merge(merge(participants$, entries$).pipe(mergeMap(() => EMPTY)), looked$).pipe(
    startWith(undefined),
    filter((event) => event !== undefined),
  );
}
