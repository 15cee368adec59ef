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
} from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { decodeBase64 } from '../../core/base64.ts';
import { VoiceError } from '../../core/errors.ts';
import { asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import { closeContext, openContext } from '../../playback/audio-context.ts';
import { keepRunning } from '../../playback/keep-running.ts';
import { resource } from '../../playback/resource.ts';
import { holdRemoteTrack } from '../../playback/media-track.ts';
import { TrackCapture } from '../../playback/track-capture.ts';
import { TrackFeed } from '../../playback/track-feed.ts';
import { eachEffect } from '../../stream/fold.ts';
import { merge } from '../../stream/merge.ts';
import { httpRequest, readText } from '../../transport/http.ts';
import type { RawSocketFactory, SocketData, SocketRequest } from '../../transport/socket.ts';
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
  const { scheduler = asyncScheduler } = options;
  return (request, { maxMessageBytes }, handler) => {
    const connection = new Subscription();
    const outgoing$ = new Subject<WireObject>();
    let state = newCall;
    let peer: Peer | undefined;

    const end = (close: { readonly code: number; readonly reason: string }, cause?: unknown): void => {
      if (connection.closed) return;
      connection.unsubscribe();
      handler.closed(close, cause);
    };
    const receive = (input: CallInput): void => {
      if (input.length > maxMessageBytes) {
        end({ code: 1009, reason: '' }, new Error(`a message of ${input.length} bytes`));
        return;
      }
      const step = receiveCall(state, input);
      [state] = step;
      eachEffect(step, (message) => handler.message(message));
    };
    const sounded$ = (feed: TrackFeed): Observable<never> =>
      race(feed.drained$.pipe(switchMap(() => timer(aheadMs, scheduler))), timer(longestWaitMs, scheduler)).pipe(
        take(1),
        ignoreElements(),
      );
    // What is committed must have arrived: messages are faster than audio.
    const sending$ = outgoing$.pipe(
      concatMap((message) =>
        peer && message['type'] === 'input_audio_buffer.commit'
          ? concat(sounded$(peer.feed), of(message))
          : of(message),
      ),
      tap((message) => {
        for (const sent of sendOverCall(state, message)) {
          if (peer?.channel.readyState === 'open') peer.channel.send(JSON.stringify(sent));
        }
      }),
    );
    const events$ = connect(request, options).pipe(
      switchMap((connected) => {
        peer = connected;
        return connected.events$;
      }),
    );
    connection.add(sending$.subscribe());
    // Reported asynchronously, like every other failure.
    queueMicrotask(() => {
      if (connection.closed) return;
      connection.add(
        events$.subscribe({
          next: (event) => {
            if (event.type === 'opened') handler.opened();
            else if (event.type === 'input') receive(event.input);
            else end({ ...broken, reason: event.reason });
          },
          error: (error: unknown) => end(broken, error),
        }),
      );
    });

    return {
      get bufferedAmount() {
        return peer?.channel.bufferedAmount ?? 0;
      },
      send(data: SocketData) {
        const message = parseJsonObject(data);
        if (message?.['type'] !== 'input_audio_buffer.append') {
          if (message) outgoing$.next(message);
          return;
        }
        const audio = decodeBase64(asString(message['audio']) ?? '');
        if (audio) peer?.feed.push(audio);
      },
      // There is no closing handshake.
      close: (code) => queueMicrotask(() => end({ code, reason: '' })),
      terminate: () => connection.unsubscribe(),
    };
  };
}

/** Connects while subscribed; everything that it opens is closed with it. */
function connect(request: SocketRequest, options: CallOptions): Observable<Peer> {
  const { provider, workletUrl, scheduler, blocked, input } = options;
  const elsewhere = "transport: 'websocket'";
  return resource(() => openContext({ provider, elsewhere, workletUrl }), closeContext).pipe(
    switchMap(
      (context) =>
        new Observable<Peer>((subscriber) => {
          const peer = new RTCPeerConnection();
          const channel = peer.createDataChannel('oai-events');
          const feed = new TrackFeed(context, input);
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
          const running$ = keepRunning(context, scheduler).pipe(
            tap(({ type }) => {
              if (type === 'suspended') blocked();
            }),
            ignoreElements(),
          );
          const heard$ = fromEvent<RTCTrackEvent>(peer, 'track').pipe(
            switchMap(
              ({ track }) =>
                new Observable<never>(() => {
                  capture.connect(track);
                  return holdRemoteTrack(track);
                }),
            ),
          );
          const events$ = merge(
            fromEvent(channel, 'open').pipe(map((): PeerEvent => ({ type: 'opened' }))),
            fromEvent<MessageEvent<unknown>>(channel, 'message').pipe(
              map(({ data }): PeerEvent => ({ type: 'input', input: typeof data === 'string' ? data : '' })),
            ),
            audio$,
            heard$,
            running$,
            ends$(peer, channel, options),
            negotiated$(peer, request, options),
          );
          subscriber.next({ channel, feed, events$ });
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
