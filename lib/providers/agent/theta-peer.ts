import {
  asyncScheduler,
  concat,
  concatMap,
  EMPTY,
  fromEvent,
  ignoreElements,
  map,
  Observable,
  of,
  race,
  Subject,
  Subscription,
  switchMap,
  take,
  tap,
  timer,
  type SchedulerLike,
} from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import { VoiceError } from '../../core/errors.ts';
import { asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import { closeContext, openContext } from '../../playback/audio-context.ts';
import { keepRunning } from '../../playback/keep-running.ts';
import { holdRemoteTrack } from '../../playback/media-track.ts';
import { TrackCapture } from '../../playback/track-capture.ts';
import { TrackFeed } from '../../playback/track-feed.ts';
import { eachEffect } from '../../stream/fold.ts';
import { merge } from '../../stream/merge.ts';
import { resource } from '../../stream/resource.ts';
import { httpRequest, readText } from '../../transport/http.ts';
import type {
  RawSocket,
  RawSocketFactory,
  RawSocketHandler,
  SocketClose,
  SocketData,
  SocketRequest,
} from '../../transport/socket.ts';
import { callFormat, newCall, receiveCall, sendOverCall, type CallInput } from './theta-call.ts';

/** What a call needs. */
export interface CallOptions extends TransportOptions {
  /** The format of the user's audio. */
  readonly input: AudioMetadata;
  /** Where the page serves `rxvoice/worklets.js`. Default: inlined. */
  readonly workletUrl: string | undefined;
  /** Told that the browser blocks audio. */
  readonly blocked: () => void;
}

/** How long a connection may be interrupted before it counts as lost, in milliseconds; the vendor's own client: 5,000. */
const graceMs = 5_000;
/**
 * How much longer audio may take to the service than a message, in milliseconds: the codec, and the reserve at the other
 * end. The vendor gives no number.
 */
const aheadMs = 300;
/** Longest wait for audio before a message, in milliseconds. */
const longestWaitMs = 5_000;
/** Longest answer, in bytes. */
const maxAnswerBytes = 256 * 1024;

/** An end that is no failure here: whoever asked for the connection decides. */
const broken = { code: 1006, reason: '' } as const;

/** What happens on a connection. */
type PeerEvent =
  | { readonly type: 'opened' }
  | { readonly type: 'input'; readonly input: CallInput }
  | { readonly type: 'ended'; readonly reason: string };

/** A connection, as long as it is subscribed to. */
interface Peer {
  readonly channel: RTCDataChannel;
  readonly feed: TrackFeed;
  readonly events$: Observable<PeerEvent>;
}

/**
 * Sockets to OpenAI's Realtime API that are really WebRTC connections: https://developers.openai.com/api/docs/guides/realtime-webrtc.
 * The data channel `oai-events` carries the messages, a track each way the audio. The offer is posted as
 * `application/sdp`, and the answer comes back.
 */
export function openCalls(options: CallOptions): RawSocketFactory {
  return (request, { maxMessageBytes }, handler) => new CallSocket(request, options, maxMessageBytes, handler);
}

/** A socket whose messages go over a data channel, and their audio over a track each way. */
class CallSocket implements RawSocket {
  readonly #scheduler: SchedulerLike;
  readonly #maxMessageBytes: number;
  readonly #handler: RawSocketHandler;
  readonly #connection = new Subscription();
  readonly #outgoing$ = new Subject<WireObject>();
  #call = newCall;
  #peer: Peer | undefined;

  constructor(request: SocketRequest, options: CallOptions, maxMessageBytes: number, handler: RawSocketHandler) {
    this.#scheduler = options.scheduler ?? asyncScheduler;
    this.#maxMessageBytes = maxMessageBytes;
    this.#handler = handler;
    const sent$ = this.#outgoing$.pipe(
      concatMap((message) => concat(this.#audioBefore(message), of(message))),
      tap((message) => this.#deliver(message)),
    );
    this.#connection.add(sent$.subscribe());
    const events$ = connect(request, options).pipe(
      tap((peer) => (this.#peer = peer)),
      switchMap((peer) => peer.events$),
    );
    // Reported asynchronously, like every other failure.
    queueMicrotask(() => {
      if (this.#connection.closed) return;
      this.#connection.add(
        events$.subscribe({
          next: (event) => this.#onEvent(event),
          error: (error: unknown) => this.#end(broken, error),
        }),
      );
    });
  }

  get bufferedAmount(): number {
    return this.#peer?.channel.bufferedAmount ?? 0;
  }

  send(data: SocketData): void {
    const message = parseJsonObject(data);
    if (message?.['type'] !== 'input_audio_buffer.append') {
      if (message) this.#outgoing$.next(message);
      return;
    }
    const audio = decodeBase64(asString(message['audio']) ?? '');
    if (audio) this.#peer?.feed.push(audio);
  }

  /** There is no closing handshake. */
  close(code: number): void {
    queueMicrotask(() => this.#end({ code, reason: '' }));
  }

  terminate(): void {
    this.#connection.unsubscribe();
  }

  #onEvent(event: PeerEvent): void {
    switch (event.type) {
      case 'opened':
        this.#handler.opened();
        break;
      case 'input':
        this.#receive(event.input);
        break;
      case 'ended':
        this.#end({ ...broken, reason: event.reason });
        break;
    }
  }

  #receive(input: CallInput): void {
    if (input.length > this.#maxMessageBytes) {
      this.#end({ code: 1009, reason: '' }, new Error(`a message of ${input.length} bytes`));
      return;
    }
    const step = receiveCall(this.#call, input);
    [this.#call] = step;
    eachEffect(step, (message) => this.#handler.message(message));
  }

  /** Completes once the service has the audio that a message commits: messages are faster than audio. */
  #audioBefore({ type }: WireObject): Observable<never> {
    if (!this.#peer || type !== 'input_audio_buffer.commit') return EMPTY;
    const arrived$ = this.#peer.feed.drained$.pipe(switchMap(() => timer(aheadMs, this.#scheduler)));
    return race(arrived$, timer(longestWaitMs, this.#scheduler)).pipe(take(1), ignoreElements());
  }

  #deliver(message: WireObject): void {
    const channel = this.#peer?.channel;
    for (const sent of sendOverCall(this.#call, message)) {
      if (channel?.readyState === 'open') channel.send(JSON.stringify(sent));
    }
  }

  #end(close: SocketClose, cause?: unknown): void {
    if (this.#connection.closed) return;
    this.#connection.unsubscribe();
    this.#handler.closed(close, cause);
  }
}

/** Connects while subscribed; everything that it opens is closed with it. */
function connect(request: SocketRequest, options: CallOptions): Observable<Peer> {
  const { provider, workletUrl } = options;
  const elsewhere = "transport: 'websocket'";
  return resource(() => openContext({ provider, elsewhere, workletUrl }), closeContext).pipe(
    switchMap((context) => peerIn(context, request, options)),
  );
}

function peerIn(context: AudioContext, request: SocketRequest, options: CallOptions): Observable<Peer> {
  return new Observable((subscriber) => {
    const peer = new RTCPeerConnection();
    const channel = peer.createDataChannel('oai-events');
    const feed = new TrackFeed(context, options.input);
    const audio$ = new Subject<PeerEvent>();
    const capture = new TrackCapture({
      context,
      sampleRate: callFormat.sampleRate,
      onChunk: ({ data }) => audio$.next({ type: 'input', input: data }),
    });
    for (const track of feed.stream.getTracks()) peer.addTrack(track, feed.stream);
    subscriber.add(() => {
      capture.close();
      channel.close();
      peer.close();
      feed.close();
    });
    const running$ = keepRunning(context, options.scheduler).pipe(
      tap(({ type }) => {
        if (type === 'suspended') options.blocked();
      }),
      ignoreElements(),
    );
    const events$ = merge(
      messages$(channel),
      audio$,
      captured$(peer, capture),
      running$,
      ends$(peer, channel, options),
      negotiated$(peer, request, options),
    );
    subscriber.next({ channel, feed, events$ });
  });
}

function messages$(channel: RTCDataChannel): Observable<PeerEvent> {
  return merge(
    fromEvent(channel, 'open').pipe(map((): PeerEvent => ({ type: 'opened' }))),
    fromEvent<MessageEvent<unknown>>(channel, 'message').pipe(
      map(({ data }): PeerEvent => ({ type: 'input', input: typeof data === 'string' ? data : '' })),
    ),
  );
}

/** Captures the service's track, the latest if there are several. */
function captured$(peer: RTCPeerConnection, capture: TrackCapture): Observable<never> {
  return fromEvent<RTCTrackEvent>(peer, 'track').pipe(
    switchMap(
      ({ track }) =>
        new Observable<never>(() => {
          capture.connect(track);
          return holdRemoteTrack(track);
        }),
    ),
  );
}

/** When a connection is lost: at once if it failed or was closed, after a while if it is interrupted. */
function ends$(
  peer: RTCPeerConnection,
  channel: RTCDataChannel,
  { scheduler = asyncScheduler }: CallOptions,
): Observable<PeerEvent> {
  const states$ = fromEvent(peer, 'connectionstatechange').pipe(map(() => peer.connectionState));
  const failed$ = states$.pipe(
    switchMap((state) =>
      state === 'failed' ? of(state) : state === 'disconnected' ? timer(graceMs, scheduler) : EMPTY,
    ),
    map(() => 'the WebRTC connection failed: does the network allow UDP?'),
  );
  const closed$ = fromEvent(channel, 'close').pipe(map(() => 'the data channel was closed'));
  return merge(failed$, closed$).pipe(map((reason) => ({ type: 'ended', reason })));
}

function negotiated$(peer: RTCPeerConnection, request: SocketRequest, options: CallOptions): Observable<never> {
  const offer$ = resource(
    () => peer.setLocalDescription().then(() => peer.localDescription?.sdp ?? ''),
    () => undefined,
  );
  return offer$.pipe(
    take(1),
    switchMap((body) =>
      httpRequest({
        ...options,
        ...{ url: request.url, method: 'POST', body, extraHeaders: request.extraHeaders },
        headers: { ...request.headers, 'Content-Type': 'application/sdp' },
      }).pipe(readText(maxAnswerBytes)),
    ),
    switchMap(async (sdp) => {
      try {
        await peer.setRemoteDescription({ type: 'answer', sdp });
      } catch (cause) {
        const message = `${options.provider}: the service's answer is no session description`;
        throw new VoiceError(message, { code: 'protocol', recoverable: true, cause, provider: options.provider });
      }
    }),
    ignoreElements(),
  );
}
