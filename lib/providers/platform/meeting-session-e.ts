import {
  asyncScheduler,
  catchError,
  defer,
  EMPTY,
  firstValueFrom,
  ignoreElements,
  map,
  race,
  switchMap,
  tap,
  timer,
  type BehaviorSubject,
  type Observable,
} from 'rxjs';
import type { AudioChunk } from '../../audio/types.ts';
import type { MeetingPresence } from '../../core/calls.ts';
import type { VoiceError, VoiceErrorOptions } from '../../core/errors.ts';
import { asObject, asString } from '../../core/guard.ts';
import type { TransportOptions } from '../../core/remote-provider.ts';
import { closeContext, openContext, prepareContext, type ContextOptions } from '../../playback/audio-context.ts';
import { holdRemoteTrack } from '../../playback/media-track.ts';
import { openCapture } from '../../playback/track-capture.ts';
import { merge } from '../../stream/merge.ts';
import { resource } from '../../stream/resource.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import { httpRequest, readJson } from '../../transport/http.ts';
import type { MeetingInputEConfig } from './meeting-input-e.ts';
import type { MeetingEnd } from './meeting-input.ts';
import { connectPeer, type IceServer, type MeetingPeerEvent } from './meeting-peer-e.ts';
import type { MeetingSessionStatus, MeetingSpeakerE } from './meeting-people-e.ts';

const stun: readonly IceServer[] = [{ urls: 'stun:stun.l.google.com:19302' }];

/** Longest wait for the service to acknowledge that we leave, in milliseconds. */
const goodbyeMs = 1000;

/** What the service's error reasons mean, wherever they appear in its answer. */
const refusals: Readonly<Record<string, HttpErrorFacts>> = {
  NO_ACTIVE_CONFERENCE: { code: 'not_found', recoverable: false },
  INVALID_OFFER: { code: 'protocol', recoverable: false },
  INCOMPATIBLE_DEVICE: { code: 'forbidden', recoverable: false },
  // One client per conference: the service drops that of a crashed page after half a minute.
  CONNECTIONS_EXHAUSTED: { code: 'rate_limited', recoverable: true, retryAfterMs: 30_000 },
};

/** The provider's side of a {@link MeetingSessionE}. */
export interface MeetingHostE {
  readonly name: string;
  readonly config: () => Readonly<MeetingInputEConfig>;
  /** Sample rate of the audio, in Hz. */
  readonly sampleRate: number;
  readonly transport: () => TransportOptions;
  readonly url: (path: string) => URL;
  readonly authorization: () => Promise<string | undefined>;
  readonly error: (message: string, options: Omit<VoiceErrorOptions, 'provider'>) => VoiceError;
  /** Reports each kind of ignored message once. */
  readonly warn: (kind: string) => void;
  readonly status$: BehaviorSubject<MeetingSessionStatus | undefined>;
  readonly hear: (chunk: AudioChunk) => void;
  readonly follow: (event: MeetingPresence | ({ readonly type: 'speaker' } & MeetingSpeakerE)) => void;
  readonly finish: (reason: MeetingEnd['reason'], detail?: string) => void;
}

/** One meeting: its connections, and the capture of what is said. */
export class MeetingSessionE {
  readonly #host: MeetingHostE;
  readonly #options: ContextOptions;
  #leave$: Observable<unknown> | undefined;

  constructor(host: MeetingHostE) {
    this.#host = host;
    const { workletUrl } = host.config();
    this.#options = { provider: host.name, elsewhere: 'MeetingInputD or a phone provider', workletUrl };
  }

  /**
   * Prepares what a connection needs.
   *
   * @throws VoiceError `configuration` where the browser has no Web Audio.
   */
  prepare(): Promise<void> {
    return prepareContext(this.#options);
  }

  /** Leaves the meeting, if connected; resolves once the service acknowledges it, or after a second. */
  async leave(): Promise<void> {
    if (!this.#leave$) return;
    const answered$ = race(this.#leave$, timer(goodbyeMs, this.#host.config().scheduler ?? asyncScheduler));
    await firstValueFrom(answered$.pipe(catchError(() => EMPTY)), { defaultValue: undefined });
  }

  /** The meeting across as many connections as it takes, on one audio context. */
  connect$(connected: () => void): Observable<unknown> {
    const { config, sampleRate, status$, hear, warn } = this.#host;
    const { reconnect = true, scheduler = asyncScheduler } = config();
    const backoff = reconnect === false ? { maxTries: 0 } : reconnect === true ? {} : reconnect;
    const context$ = resource(() => openContext(this.#options), closeContext);
    return context$.pipe(
      switchMap((context) => {
        const mix = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
        const capture$ = openCapture({
          ...{ context, sampleRate, scheduler },
          // The tracks are silent until then.
          onChunk: (chunk) => status$.value === 'joined' && hear(chunk),
          onDevice: ({ type }) => type === 'suspended' && warn('audio until the user clicks on the page'),
        }).pipe(tap((capture) => capture.connect(mix.stream.getAudioTracks()[0])));
        const events$ = defer(() => this.#peer$()).pipe(
          tap((event) => this.#onEvent(event, context, mix, connected)),
          retryBackoff({ ...backoff, scheduler, onRetry: () => status$.next('waiting') }),
        );
        return merge(capture$.pipe(ignoreElements()), events$);
      }),
    );
  }

  #peer$(): Observable<MeetingPeerEvent> {
    const { iceServers = stun, scheduler = asyncScheduler } = this.#host.config();
    return connectPeer({
      iceServers,
      negotiate$: (offer) => this.#negotiate(offer),
      error: this.#host.error,
      scheduler,
      onLeave: (leave$) => {
        this.#leave$ = leave$;
      },
    });
  }

  #negotiate(offer: string): Observable<string> {
    const { config, transport, url, authorization, error } = this.#host;
    const request$ = httpRequest({
      ...transport(),
      url: url(`/v2beta/${config().spaceName}:connectActiveConference`),
      json: { offer },
      headers: async () => ({ Authorization: await authorization() }),
      errorOf: (failure) => refusalOf(failure),
    });
    return request$.pipe(
      readJson(),
      map((answer) => {
        const sdp = asString(asObject(answer)?.['answer']);
        if (sdp !== undefined) return sdp;
        throw error('the service gave no answer to the offer', { code: 'protocol' });
      }),
    );
  }

  #onEvent(
    event: MeetingPeerEvent,
    context: AudioContext,
    mix: MediaStreamAudioDestinationNode,
    connected: () => void,
  ): void {
    const { status$, follow, finish } = this.#host;
    switch (event.type) {
      case 'connected':
        connected();
        break;
      case 'track': {
        const source = context.createMediaStreamSource(new MediaStream([event.track]));
        const release = holdRemoteTrack(event.track);
        source.connect(mix);
        event.track.addEventListener('ended', () => {
          source.disconnect();
          release();
        });
        break;
      }
      case 'speaker':
      case 'joined':
      case 'left':
        follow(event);
        break;
      case 'status':
        if (event.reason === 'REASON_CLIENT_LEFT') finish('left');
        else if (event.status === 'disconnected') finish('ended', event.reason);
        else if (event.status !== status$.value) status$.next(event.status);
    }
  }
}

function refusalOf({ text }: HttpFailure): HttpErrorFacts | undefined {
  const [reason, facts] = Object.entries(refusals).find(([word]) => text.includes(word)) ?? [];
  return facts && { ...facts, reason };
}
