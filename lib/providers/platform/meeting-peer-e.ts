import {
  catchError,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  from,
  fromEvent,
  ignoreElements,
  interval,
  map,
  mergeMap,
  Observable,
  of,
  type SchedulerLike,
  switchMap,
  take,
  takeUntil,
  takeWhile,
  tap,
  throwError,
  timer,
} from 'rxjs';
import type { MeetingPresence } from '../../core/calls.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { asArray, asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import { merge } from '../../stream/merge.ts';
import {
  MeetingPeopleE,
  type MeetingSessionStatus,
  type MeetingSpeakerE,
  sessionStatuses,
} from './meeting-people-e.ts';

/** Events of one connection. */
export type MeetingPeerEvent =
  /** The service has answered. */
  | { readonly type: 'connected' }
  | { readonly type: 'track'; readonly track: MediaStreamTrack }
  | { readonly type: 'status'; readonly status: MeetingSessionStatus; readonly reason?: string }
  | ({ readonly type: 'speaker' } & MeetingSpeakerE)
  | MeetingPresence;

/** An `RTCIceServer`, for projects without the DOM's types too. */
export interface IceServer {
  readonly urls: string | string[];
  readonly username?: string;
  readonly credential?: string;
}

/** What a connection needs. */
export interface MeetingPeerOptions {
  readonly iceServers: readonly IceServer[];
  /** Exchanges an offer for the service's answer. */
  readonly negotiate$: (offer: string) => Observable<string>;
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  readonly scheduler: SchedulerLike;
  /**
   * Called with a stream that leaves the meeting, completing once the service acknowledges it; `undefined` when
   * disconnected.
   */
  readonly onLeave: (leave: Observable<unknown> | undefined) => void;
}

/** Ends after which reconnecting is pointless. */
const finalReasons = new Set(['REASON_CLIENT_LEFT', 'REASON_USER_STOPPED', 'REASON_CONFERENCE_ENDED']);

const channelNames = ['session-control', 'media-stats', 'media-entries', 'participants'] as const;
type ChannelName = (typeof channelNames)[number];

/** Streams that the service fills with the loudest speakers. */
const audioStreams = 3;
const speakerMs = 250;

/** Longest wait for the channels after the answer, in milliseconds: a network that blocks media fails silently. */
const openMs = 30_000;

/**
 * One connection to a meeting: three audio streams and four data channels. Completes when the meeting ends; fails when
 * reconnecting may help. Unsubscribing closes it. Cold.
 */
export function connectPeer(options: MeetingPeerOptions): Observable<MeetingPeerEvent> {
  return new Observable((subscriber) => {
    const peer = new RTCPeerConnection({ bundlePolicy: 'max-bundle', iceServers: [...options.iceServers] });
    // The order matters: the service rejects any other.
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
      messages$(name).pipe(mergeMap(({ resources }) => asObjects(resources)));

    const status$ = messages$('session-control').pipe(
      mergeMap((message) => sessionStatuses(message)),
      mergeMap(({ status, reason }): Observable<MeetingPeerEvent> => {
        if (status !== 'disconnected') return of({ type: 'status', status });
        return finalReasons.has(reason)
          ? of({ type: 'status', status, reason })
          : throwError(() => lost(options, reason));
      }),
    );
    const control = channels.get('session-control');
    const open$ = control ? fromEvent(control, 'open') : EMPTY;
    const opened$: Observable<MeetingPeerEvent> = open$.pipe(map(() => ({ type: 'status', status: 'waiting' })));
    const broken$ = merge(
      fromEvent(peer, 'connectionstatechange').pipe(filter(() => peer.connectionState === 'failed')),
      control ? fromEvent(control, 'close') : EMPTY,
    ).pipe(mergeMap(() => throwError(() => lost(options, 'the connection failed'))));
    const stuck$ = timer(openMs, options.scheduler).pipe(
      mergeMap(() => throwError(() => lost(options, 'no media arrives: does the network allow UDP?'))),
      takeUntil(open$),
    );
    const tracks$: Observable<MeetingPeerEvent> = fromEvent<RTCTrackEvent>(peer, 'track').pipe(
      map(({ track }) => ({ type: 'track', track })),
    );
    const stats$ = resources$('media-stats').pipe(
      map(({ configuration }) => readStatsWanted(asObject(configuration) ?? {})),
      switchMap((wanted) =>
        wanted.intervalSeconds > 0
          ? interval(wanted.intervalSeconds * 1000, options.scheduler).pipe(
              mergeMap(() => from(peer.getStats()).pipe(catchError(() => EMPTY))),
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
      mergeMap((): Observable<MeetingPeerEvent> => merge(of({ type: 'connected' } as const), stuck$)),
    );
    const people = new MeetingPeopleE();
    const known$: Observable<MeetingPeerEvent> = merge(
      messages$('participants').pipe(mergeMap((message) => people.participants(message))),
      messages$('media-entries').pipe(
        tap((message) => people.entries(message)),
        ignoreElements(),
      ),
    );
    const speaker$ = interval(speakerMs, options.scheduler).pipe(
      map(() => people.speaker(transceivers.flatMap(({ receiver }) => receiver.getContributingSources()))),
      filter((speaker) => speaker !== undefined),
      distinctUntilChanged((before, after) => before.userId === after.userId && before.userName === after.userName),
      map((speaker): MeetingPeerEvent => ({ type: 'speaker', ...speaker })),
    );

    const left$ = messages$('session-control').pipe(
      filter(({ response }) => asObject(response)?.['leave'] !== undefined),
    );
    const leave$ = defer(() => {
      if (control?.readyState !== 'open') return EMPTY;
      const said$ = new Observable<never>(() => say('session-control', { leave: {} }));
      return merge(left$, said$).pipe(take(1));
    });
    options.onLeave(leave$);
    subscriber.add(() => {
      options.onLeave(undefined);
      for (const channel of channels.values()) channel.close();
      peer.close();
    });
    subscriber.add(
      merge(opened$, status$, broken$, tracks$, stats$, known$, speaker$, answered$)
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

/** Which statistics the service wants, and how often. */
export interface StatsWanted {
  /** Seconds between uploads, 1 to 3600; 0 for none. */
  readonly intervalSeconds: number;
  /** Keys by report type. */
  readonly keys: ReadonlyMap<string, readonly string[]>;
}

/** Longest time between uploads: a timer longer than 24 days would fire at once, endlessly. */
const longestSeconds = 3600;

/** Reads the service's `configuration`. */
export function readStatsWanted(configuration: WireObject): StatsWanted {
  const allowlist = Object.entries(asObject(configuration['allowlist']) ?? {});
  const keys = allowlist.map(([type, value]): [string, string[]] => {
    const entry = asObject(value) ?? {};
    // The service's own sample types it as `key` but reads `keys`.
    return [type, [...asArray(entry['keys']), ...asArray(entry['key'])].flatMap((key) => asString(key) ?? [])];
  });
  const seconds = asNumber(configuration['uploadIntervalSeconds']) ?? 0;
  return { intervalSeconds: seconds > 0 ? Math.min(Math.max(seconds, 1), longestSeconds) : 0, keys: new Map(keys) };
}

/** The sections of an upload: the wanted keys of each wanted report, under the service's names. */
export function statsSections(reports: Iterable<WireObject>, { keys }: StatsWanted): WireObject[] {
  return [...reports].flatMap((report) => {
    const type = asString(report['type']) ?? '';
    const wanted = (keys.get(type) ?? []).filter((key) => key !== 'id' && report[key] !== undefined);
    if (wanted.length === 0) return [];
    const values = Object.fromEntries(wanted.map((key) => [snakeCase(key), report[key]]));
    return [{ id: report['id'], [type.replaceAll('-', '_')]: values }];
  });
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
