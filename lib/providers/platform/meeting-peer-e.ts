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

type ChannelName = 'session-control' | 'media-stats' | 'media-entries' | 'participants';

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
    const peer = new MeetingPeer(options);
    options.onLeave(peer.leave$);
    subscriber.add(() => {
      options.onLeave(undefined);
      peer.close();
    });
    subscriber.add(peer.event$.subscribe(subscriber));
  });
}

/** The connection, open from the start. */
class MeetingPeer {
  readonly #options: MeetingPeerOptions;
  readonly #peer: RTCPeerConnection;
  readonly #audio: readonly RTCRtpTransceiver[];
  readonly #channels: Readonly<Record<ChannelName, Channel>>;
  readonly #people = new MeetingPeopleE();

  constructor(options: MeetingPeerOptions) {
    this.#options = options;
    const peer = new RTCPeerConnection({ bundlePolicy: 'max-bundle', iceServers: [...options.iceServers] });
    this.#peer = peer;
    // The order matters: the service rejects any other.
    this.#audio = Array.from({ length: audioStreams }, () => peer.addTransceiver('audio', { direction: 'recvonly' }));
    this.#channels = {
      'session-control': new Channel(peer, 'session-control'),
      'media-stats': new Channel(peer, 'media-stats'),
      'media-entries': new Channel(peer, 'media-entries'),
      participants: new Channel(peer, 'participants'),
    };
  }

  /** Everything that happens, until the meeting ends. Subscribing negotiates. */
  get event$(): Observable<MeetingPeerEvent> {
    return merge(
      this.#opened$,
      this.#status$,
      this.#broken$,
      this.#track$,
      this.#statsUploads$,
      this.#presence$,
      this.#speaker$,
      this.#negotiated$,
    ).pipe(takeWhile((event) => !(event.type === 'status' && event.status === 'disconnected'), true));
  }

  /** Leaves the meeting; completes once the service acknowledges it. */
  get leave$(): Observable<unknown> {
    const control = this.#channels['session-control'];
    return defer(() => {
      if (!control.isOpen) return EMPTY;
      const left$ = control.message$.pipe(filter(({ response }) => asObject(response)?.['leave'] !== undefined));
      const said$ = new Observable<never>(() => control.request({ leave: {} }));
      return merge(left$, said$).pipe(take(1));
    });
  }

  close(): void {
    for (const channel of Object.values(this.#channels)) channel.close();
    this.#peer.close();
  }

  get #opened$(): Observable<MeetingPeerEvent> {
    return this.#channels['session-control'].open$.pipe(map(() => ({ type: 'status', status: 'waiting' })));
  }

  get #status$(): Observable<MeetingPeerEvent> {
    return this.#channels['session-control'].message$.pipe(
      mergeMap((message) => sessionStatuses(message)),
      mergeMap(({ status, reason }): Observable<MeetingPeerEvent> => {
        if (status !== 'disconnected') return of({ type: 'status', status });
        return finalReasons.has(reason) ? of({ type: 'status', status, reason }) : this.#lost$(reason);
      }),
    );
  }

  get #broken$(): Observable<never> {
    const failed$ = fromEvent(this.#peer, 'connectionstatechange').pipe(
      filter(() => this.#peer.connectionState === 'failed'),
    );
    return merge(failed$, this.#channels['session-control'].closed$).pipe(
      mergeMap(() => this.#lost$('the connection failed')),
    );
  }

  get #track$(): Observable<MeetingPeerEvent> {
    return fromEvent<RTCTrackEvent>(this.#peer, 'track').pipe(map(({ track }) => ({ type: 'track', track })));
  }

  /** Sends the service the statistics that it wants. */
  get #statsUploads$(): Observable<never> {
    const channel = this.#channels['media-stats'];
    return channel.message$.pipe(
      mergeMap(({ resources }) => asObjects(resources)),
      map(({ configuration }) => readStatsWanted(asObject(configuration) ?? {})),
      switchMap((wanted) => (wanted.intervalSeconds > 0 ? this.#statsSections$(wanted) : EMPTY)),
      tap((sections) => channel.request({ uploadMediaStats: { sections } })),
      ignoreElements(),
    );
  }

  #statsSections$(wanted: StatsWanted): Observable<WireObject[]> {
    return interval(wanted.intervalSeconds * 1000, this.#options.scheduler).pipe(
      mergeMap(() => from(this.#peer.getStats()).pipe(catchError(() => EMPTY))),
      map((reports) => statsSections(reportsOf(reports), wanted)),
      filter((sections) => sections.length > 0),
    );
  }

  get #presence$(): Observable<MeetingPeerEvent> {
    const { participants, 'media-entries': entries } = this.#channels;
    return merge(
      participants.message$.pipe(mergeMap((message) => this.#people.participants(message))),
      entries.message$.pipe(
        tap((message) => this.#people.entries(message)),
        ignoreElements(),
      ),
    );
  }

  get #speaker$(): Observable<MeetingPeerEvent> {
    return interval(speakerMs, this.#options.scheduler).pipe(
      map(() => this.#people.speaker(this.#audio.flatMap(({ receiver }) => receiver.getContributingSources()))),
      filter((speaker) => speaker !== undefined),
      distinctUntilChanged((before, after) => before.userId === after.userId && before.userName === after.userName),
      map((speaker): MeetingPeerEvent => ({ type: 'speaker', ...speaker })),
    );
  }

  /** Exchanges the descriptions; fails if the channels do not open soon after. */
  get #negotiated$(): Observable<MeetingPeerEvent> {
    const stuck$ = timer(openMs, this.#options.scheduler).pipe(
      mergeMap(() => this.#lost$('no media arrives: does the network allow UDP?')),
      takeUntil(this.#channels['session-control'].open$),
    );
    return defer(() => offerOf(this.#peer)).pipe(
      switchMap((offer) => this.#options.negotiate$(offer)),
      switchMap((sdp) => this.#peer.setRemoteDescription({ type: 'answer', sdp })),
      mergeMap((): Observable<MeetingPeerEvent> => merge(of({ type: 'connected' } as const), stuck$)),
    );
  }

  #lost$(reason: string): Observable<never> {
    const { error } = this.#options;
    return throwError(() => error(`the meeting was lost: ${reason}`, { code: 'connection', recoverable: true }));
  }
}

/** A data channel: JSON, both ways. */
class Channel {
  readonly #channel: RTCDataChannel;
  #requests = 0;

  constructor(peer: RTCPeerConnection, name: ChannelName) {
    this.#channel = peer.createDataChannel(name, { ordered: true });
  }

  get isOpen(): boolean {
    return this.#channel.readyState === 'open';
  }

  get open$(): Observable<unknown> {
    return fromEvent(this.#channel, 'open');
  }

  get closed$(): Observable<unknown> {
    return fromEvent(this.#channel, 'close');
  }

  /** The service's messages; what is no JSON object is dropped. */
  get message$(): Observable<WireObject> {
    return fromEvent<MessageEvent<unknown>>(this.#channel, 'message').pipe(
      map(({ data }) => (typeof data === 'string' ? parseJsonObject(data) : undefined)),
      filter((message) => message !== undefined),
    );
  }

  /** Sends a numbered request; does nothing before the channel opens. */
  request(request: WireObject): void {
    if (!this.isOpen) return;
    this.#requests += 1;
    this.#channel.send(JSON.stringify({ request: { requestId: this.#requests, ...request } }));
  }

  close(): void {
    this.#channel.close();
  }
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
