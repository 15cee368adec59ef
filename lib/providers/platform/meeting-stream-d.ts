import {
  EMPTY,
  filter,
  firstValueFrom,
  map,
  race,
  ReplaySubject,
  Subject,
  Subscription,
  tap,
  timer,
  type Observable,
} from 'rxjs';
import type { BackoffOptions } from '../../stream/backoff.ts';
import type { MeetingPerson, MeetingPresence } from '../../core/calls.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { merge } from '../../stream/merge.ts';
import {
  ReconnectingSocket,
  type SocketData,
  type SocketRequest,
  type ReconnectingSocketOptions,
} from '../../transport/reconnecting-socket.ts';
import { refusalOf, sessionStates, stopOf, streamStates, type MeetingStreamState } from './meeting-words-d.ts';

/** Which stream a {@link MeetingStreamD} follows, and how. */
export interface MeetingStreamDOptions {
  readonly url: URL;
  /** What names the meeting in the handshakes, which differs by product. */
  readonly identity: WireObject;
  readonly rtmsStreamId: string;
  readonly signature: string;
  /** `media_params.audio`. */
  readonly audio: WireObject;
  /** `media_params.transcript`; `undefined` without a transcript. */
  readonly transcript: WireObject | undefined;
  readonly bufferData: boolean;
  readonly transport: TransportOptions;
  readonly reconnect: boolean | BackoffOptions | undefined;
  /** Throws where a credential would cross the network unencrypted. */
  readonly assertSecure: (url: URL) => void;
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  /** The runtime's WebSocket; replaced in tests. */
  readonly sockets: Pick<ReconnectingSocketOptions, 'openSocket'>;
}

/** Events of a {@link MeetingStreamD}. */
export type MeetingStreamDEvent =
  | { readonly type: 'audio' | 'transcript'; readonly content: unknown }
  | { readonly type: 'state'; readonly state: MeetingStreamState }
  | ({ readonly type: 'speaker' } & MeetingPerson)
  | MeetingPresence
  | {
      readonly type: 'ended';
      readonly reason: 'ended' | 'left' | 'lost';
      readonly detail?: string;
      readonly error?: VoiceError;
    };

/** The platform pings every 10 s on each socket: 45 s of silence is a loss. */
const keepAlive = { intervalMs: 15_000 };

/** Longest wait for the platform to confirm the end of a stream, in milliseconds. */
const goodbyeMs = 500;

/**
 * The sockets of one stream: signaling, which leads to the audio and outlives it, and one more for the transcript,
 * without which the meeting goes on.
 */
export class MeetingStreamD {
  readonly events$: Observable<MeetingStreamDEvent>;
  /** State of the signaling socket. Hot; replays the latest value. */
  readonly connection$: Observable<ConnectionEvent>;
  /** Errors that end it, and those that it survives. Hot. */
  readonly errors$: Observable<VoiceError>;
  readonly #options: MeetingStreamDOptions;
  readonly #signaling: ReconnectingSocket;
  readonly #media: ReconnectingSocket;
  readonly #transcript: ReconnectingSocket | undefined;
  readonly #events$ = new Subject<MeetingStreamDEvent>();
  readonly #errors$ = new Subject<VoiceError>();
  /** Emits when the platform was told to send; fails when it never will be. */
  readonly #acknowledged$ = new ReplaySubject<void>(1);
  #work: Subscription = Subscription.EMPTY;
  #mediaUrl: URL | undefined;
  #transcriptUrl: URL | undefined;
  #isClosing = false;
  #isOver = false;

  constructor(options: MeetingStreamDOptions) {
    this.#options = options;
    const { url, transport, reconnect, sockets, audio, transcript, assertSecure } = options;
    const { provider } = transport;
    const shared: Pick<ReconnectingSocketOptions, 'provider' | 'classifyClose'> & Partial<ReconnectingSocketOptions> = {
      ...transport,
      ...sockets,
      provider,
      keepAlive,
      reconnect,
      classifyClose: () => (this.#isClosing ? 'normal' : 'retry'),
    };
    this.#signaling = new ReconnectingSocket({
      ...shared,
      request: () => Promise.resolve({ url }),
      opening: () => [this.#handshake(1, 1, { buffer_data: options.bufferData })],
      isReady: (data) => isAccepted(data, 2),
    });
    /** Where the platform says that the media are, which the handshake with its signature goes to. */
    const given = (address: URL = url): Promise<SocketRequest> => {
      assertSecure(address);
      return Promise.resolve({ url: address });
    };
    // The addresses are known before these are opened.
    this.#media = new ReconnectingSocket({
      ...shared,
      request: () => given(this.#mediaUrl),
      opening: () => [this.#mediaHandshake(1, { audio })],
      isReady: (data) => isAccepted(data, 4),
      maxMessageBytes: 16 * 1024 * 1024,
    });
    this.#transcript =
      transcript &&
      new ReconnectingSocket({
        ...shared,
        request: () => given(this.#transcriptUrl),
        opening: () => [this.#mediaHandshake(8, { transcript })],
        isReady: (data) => isAccepted(data, 4),
      });
    this.connection$ = this.#signaling.connection$;
    const lost$ = this.#transcript?.errors$.pipe(map((error) => this.#withoutTranscript(error))) ?? EMPTY;
    this.errors$ = merge(this.#signaling.errors$, this.#media.errors$, lost$, this.#errors$);
    this.events$ = this.#events$.asObservable();
  }

  /** Resolves when audio is flowing. */
  async open(): Promise<void> {
    const transcript = this.#transcript;
    const transcript$ = transcript
      ? merge(
          transcript.messages$.pipe(tap((data) => this.#receive(transcript, data))),
          transcript.connection$.pipe(tap(({ type }) => type === 'connected' && this.#beReady())),
        )
      : EMPTY;
    this.#work = merge(
      transcript$,
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
    const { identity, rtmsStreamId: rtms_stream_id, signature } = this.#options;
    return JSON.stringify({ msg_type, protocol_version: 1, sequence, ...identity, rtms_stream_id, signature, ...body });
  }

  /** A socket carries one kind of media: 1 is audio, 8 the transcript. */
  #mediaHandshake(media_type: number, media_params: WireObject): string {
    return this.#handshake(3, 0, { media_type, payload_encryption: false, media_params });
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
    17: ({ content }) => this.#events$.next({ type: 'transcript', content }),
  };

  #answered(message: WireObject, session: ReconnectingSocket): void {
    const status = asNumber(message['status_code']) ?? 0;
    if (status !== 0) {
      session.reconnect(this.#refusal(status));
      return;
    }
    if (session !== this.#signaling) return;
    const address = addressIn(message, 'audio');
    if (!address) {
      session.reconnect(
        this.#options.error('the meeting gives no address for audio: check the scopes of the app', {
          code: 'forbidden',
        }),
      );
      return;
    }
    const isFirst = this.#mediaUrl === undefined;
    this.#mediaUrl = address;
    if (isFirst) this.#media.open().catch(() => undefined);
    else this.#media.reconnect();
    this.#openTranscript(addressIn(message, 'transcript'));
  }

  #openTranscript(address: URL | undefined): void {
    if (!this.#transcript) return;
    const isFirst = this.#transcriptUrl === undefined;
    if (address) this.#transcriptUrl = address;
    if (address && isFirst) this.#transcript.open().catch(() => undefined);
    else if (address) this.#transcript.reconnect();
    else if (isFirst) {
      const missing = 'the meeting gives no address for its transcript: check the scopes of the app';
      this.#errors$.next(this.#options.error(missing, { code: 'forbidden', recoverable: true }));
    }
  }

  #withoutTranscript(cause: VoiceError): VoiceError {
    if (cause.recoverable) return cause;
    const { code, status } = cause;
    const options = { code, recoverable: true, cause, ...(status !== undefined && { status }) };
    return this.#options.error('the meeting goes on without its transcript', options);
  }

  #refusal(status: number): VoiceError {
    const { why, ...options } = refusalOf(status);
    return this.#options.error(`the meeting refused the connection: ${why} (${status})`, { ...options, status });
  }

  #acknowledge(): void {
    // 2: the active speaker, 3 and 4: who joins and leaves. 1 and 7 arrive unasked.
    const events = [2, 3, 4].map((event_type) => ({ event_type, subscribe: true }));
    this.#send(this.#signaling, { msg_type: 5, events });
    this.#beReady();
    this.#acknowledged$.next();
  }

  /** A media socket is ready: the platform may send. */
  #beReady(): void {
    this.#send(this.#signaling, { msg_type: 7, rtms_stream_id: this.#options.rtmsStreamId });
  }

  #event(event: WireObject): void {
    const { event_type, participants, media_type } = event;
    if (event_type === 7) {
      if (media_type !== 8) this.#media.reconnect();
      if (media_type !== 1) this.#transcript?.reconnect();
    } else if (event_type === 2) this.#tell('speaker', event);
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
    void this.#transcript?.close();
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

/** The address of a kind of media; `undefined` where the app may not have it. */
function addressIn(message: WireObject, kind: string): URL | undefined {
  const addresses = asObject(asObject(message['media_server'])?.['server_urls']) ?? {};
  const address = asString(addresses[kind]) ?? asString(addresses['all']);
  return address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
}
