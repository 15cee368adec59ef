import { filter, firstValueFrom, race, ReplaySubject, Subject, Subscription, tap, timer, type Observable } from 'rxjs';
import type { BackoffOptions } from '../../stream/backoff.ts';
import type { MeetingPerson, MeetingPresence } from '../../core/calls.ts';
import type { VoiceError, VoiceErrorCode, VoiceErrorOptions } from '../../core/errors.ts';
import {
  ownEntry,
  asNumber,
  asObject,
  asObjects,
  parseJsonObject,
  asString,
  type WireObject,
} from '../../core/guard.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { merge } from '../../stream/merge.ts';
import {
  ReconnectingSocket,
  type SocketData,
  type ReconnectingSocketOptions,
} from '../../transport/reconnecting-socket.ts';

/** The platform's name for the state of a stream or session. */
export type MeetingStreamState =
  'inactive' | 'active' | 'interrupted' | 'terminating' | 'terminated' | 'paused' | 'resumed';

/** By the platform's numbers. */
const streamStates: readonly MeetingStreamState[] = [
  ...(['inactive', 'active', 'interrupted', 'terminating', 'terminated', 'paused', 'resumed'] as const),
];
/** Session states 0 to 4; 5 is the end. */
const sessionStates: readonly MeetingStreamState[] = ['inactive', 'inactive', 'active', 'paused', 'resumed'];

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

/** Which stream a {@link MeetingStreamD} follows, and how. */
export interface MeetingStreamDOptions {
  readonly url: URL;
  readonly meetingUuid: string;
  /** Of a Video SDK session. */
  readonly sessionId: string | undefined;
  readonly rtmsStreamId: string;
  readonly signature: string;
  /** `media_params.audio`. */
  readonly audio: WireObject;
  readonly bufferData: boolean;
  readonly transport: TransportOptions;
  readonly reconnect: boolean | BackoffOptions | undefined;
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  /** The runtime's WebSocket; replaced in tests. */
  readonly sockets: Pick<ReconnectingSocketOptions, 'openSocket'>;
}

/** Events of a {@link MeetingStreamD}. */
export type MeetingStreamDEvent =
  | { readonly type: 'audio'; readonly content: unknown }
  | { readonly type: 'state'; readonly state: MeetingStreamState }
  | ({ readonly type: 'speaker' } & MeetingPerson)
  | MeetingPresence
  | {
      readonly type: 'ended';
      readonly reason: 'ended' | 'left' | 'lost';
      readonly detail?: string;
      readonly error?: VoiceError;
    };

/** The platform pings every 10 s on both sockets: 45 s of silence is a loss. */
const keepAlive = { intervalMs: 15_000 };

/** Longest wait for the platform to confirm the end of a stream, in milliseconds. */
const goodbyeMs = 500;

/** The two sockets of one stream: signaling, which leads to media and outlives it. */
export class MeetingStreamD {
  readonly events$: Observable<MeetingStreamDEvent>;
  /** State of the signaling socket. Hot; replays the latest value. */
  readonly connection$: Observable<ConnectionEvent>;
  /** Errors that reconnecting recovers from. Hot. */
  readonly errors$: Observable<VoiceError>;
  readonly #options: MeetingStreamDOptions;
  readonly #signaling: ReconnectingSocket;
  readonly #media: ReconnectingSocket;
  readonly #events$ = new Subject<MeetingStreamDEvent>();
  /** Emits when the platform was told to send; fails when it never will be. */
  readonly #acknowledged$ = new ReplaySubject<void>(1);
  #work: Subscription = Subscription.EMPTY;
  #mediaUrl: URL | undefined;
  #isClosing = false;
  #isOver = false;

  constructor(options: MeetingStreamDOptions) {
    this.#options = options;
    const { url, transport, reconnect, sockets } = options;
    const shared: Pick<ReconnectingSocketOptions, 'classifyClose'> & Partial<ReconnectingSocketOptions> = {
      ...transport,
      ...sockets,
      keepAlive,
      reconnect,
      classifyClose: () => (this.#isClosing ? 'normal' : 'retry'),
    };
    this.#signaling = new ReconnectingSocket({
      ...shared,
      provider: transport.provider,
      request: () => Promise.resolve({ url }),
      opening: () => [this.#handshake(1, 1, { session_id: options.sessionId, buffer_data: options.bufferData })],
      isReady: (data) => isAccepted(data, 2),
    });
    this.#media = new ReconnectingSocket({
      ...shared,
      provider: transport.provider,
      // Known before this session is opened.
      request: () => Promise.resolve({ url: this.#mediaUrl ?? url }),
      opening: () => [
        this.#handshake(3, 0, { media_type: 1, payload_encryption: false, media_params: { audio: options.audio } }),
      ],
      isReady: (data) => isAccepted(data, 4),
      maxMessageBytes: 16 * 1024 * 1024,
    });
    this.connection$ = this.#signaling.connection$;
    this.errors$ = merge(this.#signaling.errors$, this.#media.errors$);
    this.events$ = this.#events$.asObservable();
  }

  /** Resolves when audio is flowing. */
  async open(): Promise<void> {
    this.#work = merge(
      this.#signaling.messages$.pipe(tap((data) => this.#receive(this.#signaling, data))),
      this.#media.messages$.pipe(tap((data) => this.#receive(this.#media, data))),
      this.#signaling.connection$.pipe(tap((event) => this.#watch(event))),
      this.#media.connection$.pipe(
        tap((event) => {
          this.#watch(event);
          if (event.type === 'connected') this.#acknowledge();
        }),
      ),
    ).subscribe();
    // Its failure arrives as an event.
    this.#signaling.open().catch(() => undefined);
    await firstValueFrom(this.#acknowledged$, { defaultValue: undefined });
  }

  /** Ends the stream: tells the platform, waits for its confirmation, closes the media socket first. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isClosing = true;
    if (this.#signaling.isReady) {
      const answered$ = this.#signaling.messages$.pipe(filter((data) => parseJsonObject(data)?.['msg_type'] === 22));
      const said = firstValueFrom(race(answered$, timer(goodbyeMs, this.#options.transport.scheduler)), {
        defaultValue: undefined,
      });
      this.#send(this.#signaling, { msg_type: 21, rtms_stream_id: this.#options.rtmsStreamId });
      await said;
    }
    this.#finish({ type: 'ended', reason: 'left' });
  }

  #handshake(msg_type: number, sequence: number, body: WireObject): string {
    const { meetingUuid: meeting_uuid, rtmsStreamId: rtms_stream_id, signature } = this.#options;
    return JSON.stringify({
      msg_type,
      protocol_version: 1,
      sequence,
      meeting_uuid,
      rtms_stream_id,
      signature,
      ...body,
    });
  }

  #send(session: ReconnectingSocket, message: WireObject): void {
    session.send(JSON.stringify(message));
  }

  #receive(session: ReconnectingSocket, data: SocketData): void {
    const message = parseJsonObject(data);
    const handler = ownEntry(this.#handlers, String(message?.['msg_type']));
    if (message) handler?.(message, session);
  }

  readonly #handlers: Readonly<Record<string, (message: WireObject, session: ReconnectingSocket) => void>> = {
    2: (message, session) => this.#answered(message, session),
    4: (message, session) => this.#answered(message, session),
    6: ({ event }) => this.#event(asObject(event) ?? {}),
    8: ({ state, reason }) => this.#state(streamStates[asNumber(state) ?? -1], asNumber(reason)),
    9: ({ state, stop_reason, reason }) =>
      this.#state(
        state === 5 ? 'terminated' : sessionStates[asNumber(state) ?? -1],
        asNumber(stop_reason) ?? asNumber(reason),
      ),
    12: ({ timestamp }, session) => this.#send(session, { msg_type: 13, timestamp }),
    14: ({ content }) => this.#events$.next({ type: 'audio', content }),
  };

  #answered(message: WireObject, session: ReconnectingSocket): void {
    const status = asNumber(message['status_code']) ?? 0;
    if (status !== 0) {
      session.reconnect(this.#refusal(status));
      return;
    }
    if (session === this.#media) return;
    const addresses = asObject(asObject(message['media_server'])?.['server_urls']) ?? {};
    const address = asString(addresses['audio']) ?? asString(addresses['all']);
    if (address === undefined || !URL.canParse(address)) {
      session.reconnect(
        this.#options.error('the meeting gives no address for audio: check the scopes of the app', {
          code: 'forbidden',
        }),
      );
      return;
    }
    const isFirst = this.#mediaUrl === undefined;
    this.#mediaUrl = new URL(address);
    if (isFirst) this.#media.open().catch(() => undefined);
    else this.#media.reconnect();
  }

  #refusal(status: number): VoiceError {
    const { why, ...options } = refusalOf(status);
    return this.#options.error(`the meeting refused the connection: ${why} (${status})`, { ...options, status });
  }

  #acknowledge(): void {
    const { rtmsStreamId: rtms_stream_id } = this.#options;
    // 2: the active speaker, 3 and 4: who joins and leaves. 1 and 7 arrive unasked.
    const events = [2, 3, 4].map((event_type) => ({ event_type, subscribe: true }));
    this.#send(this.#signaling, { msg_type: 5, events });
    this.#send(this.#signaling, { msg_type: 7, rtms_stream_id });
    this.#acknowledged$.next();
  }

  #event(event: WireObject): void {
    const { event_type, participants } = event;
    if (event_type === 7) this.#media.reconnect();
    else if (event_type === 2) this.#tell('speaker', event);
    else if (event_type === 3 || event_type === 4) {
      for (const person of asObjects(participants)) this.#tell(event_type === 3 ? 'joined' : 'left', person);
    }
  }

  #tell(type: 'speaker' | 'joined' | 'left', { user_id, user_name }: WireObject): void {
    const userId = asString(user_id) ?? asNumber(user_id);
    const userName = asString(user_name);
    if (userId !== undefined) this.#events$.next({ type, userId: String(userId), ...(userName && { userName }) });
  }

  #state(state: MeetingStreamState | undefined, reason: number | undefined): void {
    if (!state) return;
    this.#events$.next({ type: 'state', state });
    if (state !== 'terminated') return;
    const { detail, isRetriable } = stopOf(reason);
    if (!isRetriable) {
      this.#finish({ type: 'ended', reason: 'ended', detail });
      return;
    }
    const options = { code: 'connection', recoverable: true, ...(reason !== undefined && { status: reason }) } as const;
    this.#signaling.reconnect(this.#options.error(`the stream was lost: ${detail} (${reason})`, options));
  }

  /** When either socket ends, so does the other. */
  #watch(event: ConnectionEvent): void {
    if (event.type !== 'lost') return;
    this.#acknowledged$.error(event.error);
    this.#finish({ type: 'ended', reason: 'lost', error: event.error });
  }

  #finish(end: MeetingStreamDEvent & { type: 'ended' }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isClosing = true;
    this.#work.unsubscribe();
    void this.#media.close();
    void this.#signaling.close();
    this.#acknowledged$.error(this.#options.error('the meeting ended first', { code: 'aborted' }));
    this.#events$.next(end);
    this.#events$.complete();
  }
}

function isAccepted(data: SocketData, type: number): boolean {
  const message = parseJsonObject(data);
  return message?.['msg_type'] === type && (asNumber(message['status_code']) ?? 0) === 0;
}

/** What a handshake's status means. */
function refusalOf(status: number): { why: string; code: VoiceErrorCode; recoverable: boolean } {
  const [why, code, recoverable] = ownEntry(statuses, String(status)) ?? [
    'the request was not accepted',
    'configuration',
    false,
  ];
  return { why, code, recoverable };
}

/** Why a stream stopped, and whether reconnecting may help. */
function stopOf(reason: number | undefined): { detail: string; isRetriable: boolean } {
  return {
    detail: ownEntry(stopReasons, String(reason)) ?? (reason ? `stopped (${reason})` : 'stopped'),
    isRetriable: reason !== undefined && reason >= 10 && reason <= 16,
  };
}
