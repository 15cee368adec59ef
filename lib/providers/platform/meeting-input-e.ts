import {
  asyncScheduler,
  BehaviorSubject,
  catchError,
  defer,
  EMPTY,
  filter,
  firstValueFrom,
  fromEvent,
  ignoreElements,
  map,
  race,
  Subscription,
  switchMap,
  takeUntil,
  tap,
  timer,
  type Observable,
} from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { closeContext, keepRunning, openContext, prepareContext } from '../../playback/audio-context.ts';
import { resource } from '../../playback/resource.ts';
import { capturedFormat, holdRemoteTrack } from '../../playback/media-track.ts';
import { TrackCapture } from '../../playback/track-capture.ts';
import type { BackoffOptions } from '../../stream/backoff.ts';
import { VoiceError } from '../../core/errors.ts';
import { asObject, asString } from '../../core/guard.ts';
import type { AuthType, RemoteConfig } from '../../core/remote-provider.ts';
import { merge } from '../../stream/merge.ts';
import { retryBackoff } from '../../stream/retry-backoff.ts';
import { httpRequest, readJson } from '../../transport/http.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import { MeetingInput } from './meeting-input.ts';
import { connectPeer, type IceServer, type MeetingPeerEvent } from './meeting-peer-e.ts';
import type { MeetingSessionStatus } from './meeting-people-e.ts';

/** Configuration of {@link MeetingInputE}. */
export interface MeetingInputEConfig extends RemoteConfig {
  /** The meeting's space, such as `spaces/jQCFfuBOdN5z`; not the code in the meeting's URL. */
  readonly spaceName: string;
  /** Where the page serves `rxvoice/worklets.js`, for a strict Content-Security-Policy. Default: inlined. */
  readonly workletUrl?: string;
  /** ICE servers for the WebRTC connection. Default: Google's STUN server. */
  readonly iceServers?: readonly IceServer[];
  /** How a lost connection is retried; `false` disables reconnecting. */
  readonly reconnect?: boolean | BackoffOptions;
}

const sampleRate = 16_000;
const elsewhere = 'MeetingInputD or a phone provider';
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

/**
 * Google Meet Media API (developer preview, v2beta): audio from a meeting by WebRTC, in Chromium, receive-only.
 * `https://meet.googleapis.com`. See https://developers.google.com/workspace/meet/media-api/guides/overview.
 */
export class MeetingInputE extends MeetingInput<MeetingInputEConfig> {
  readonly name = 'MeetingInputE';
  protected override readonly defaultBaseUrl: string = 'https://meet.googleapis.com';
  protected override readonly defaultAuthType: AuthType = 'bearer';
  /** `undefined` before the service has said anything. */
  readonly #status$ = new BehaviorSubject<MeetingSessionStatus | undefined>(undefined);
  readonly #told$ = this.#status$.pipe(filter((status) => status !== undefined));
  #session: Subscription = Subscription.EMPTY;
  #leave$: Observable<unknown> | undefined;

  /** State of the session, from the service's first word on. Hot; replays the latest value. */
  get sessionStatus$(): Observable<MeetingSessionStatus> {
    return this.handOut('sessionStatus$', this.#told$);
  }

  /** Calls back with the state of the session, if there is one, and on each change; returns an unsubscribe function. */
  onSessionStatus(callback: (status: MeetingSessionStatus) => void): () => void {
    return this.listen(this.sessionStatus$, callback);
  }

  override getMetadata(): AudioMetadata {
    return capturedFormat(sampleRate);
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await prepareContext({ provider: this.name, elsewhere, workletUrl: this.config.workletUrl });
    signal.throwIfAborted();
    this.assertAuth();
    if (!/^spaces\/[^/\s]+$/.test(this.config.spaceName)) {
      throw this.error('spaceName must be of the form spaces/<id>', { code: 'configuration' });
    }
    this.begin();
    this.#status$.next(undefined);
    await new Promise<void>((resolve, reject) => {
      this.#session.unsubscribe();
      this.#session = this.#meeting$(resolve)
        .pipe(takeUntil(fromEvent(signal, 'abort')))
        .subscribe({
          error: (cause: unknown) => {
            const error = VoiceError.from(cause, { provider: this.name });
            reject(error);
            this.report(error);
            this.#finish('lost', error.message);
          },
          complete: () => resolve(),
        });
    });
  }

  protected override async onDispose(): Promise<void> {
    if (this.#leave$) {
      const answered$ = race(this.#leave$, timer(goodbyeMs, this.#scheduler));
      await firstValueFrom(answered$.pipe(catchError(() => EMPTY)), { defaultValue: undefined });
    }
    this.#session.unsubscribe();
    this.#finish('left');
    await super.onDispose();
  }

  get #scheduler(): typeof asyncScheduler | NonNullable<MeetingInputEConfig['scheduler']> {
    return this.config.scheduler ?? asyncScheduler;
  }

  /** The meeting across as many connections as it takes, on one audio context. */
  #meeting$(connected: () => void): Observable<unknown> {
    const { workletUrl, reconnect = true } = this.config;
    const backoff = reconnect === false ? { maxTries: 0 } : reconnect === true ? {} : reconnect;
    const context$ = resource(() => openContext({ provider: this.name, elsewhere, workletUrl }), closeContext);
    return context$.pipe(
      switchMap((context) => {
        const running$ = keepRunning(context, this.#scheduler).pipe(
          tap(({ type }) => type === 'suspended' && this.warn('audio until the user clicks on the page')),
          ignoreElements(),
        );
        const mix = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
        const capture$ = resource(
          () => Promise.resolve(this.#openCapture(context, mix)),
          (capture) => capture.close(),
        );
        const events$ = defer(() => this.#peer$()).pipe(
          tap((event) => this.#onEvent(event, context, mix, connected)),
          retryBackoff({ ...backoff, scheduler: this.#scheduler, onRetry: () => this.#status$.next('waiting') }),
        );
        return merge(running$, capture$.pipe(ignoreElements()), events$);
      }),
    );
  }

  #openCapture(context: AudioContext, mix: MediaStreamAudioDestinationNode): TrackCapture {
    const capture = new TrackCapture({
      context,
      sampleRate,
      // The tracks are silent until then.
      onChunk: (chunk) => this.#status$.value === 'joined' && this.capture.push(chunk),
    });
    capture.connect(mix.stream.getAudioTracks()[0]);
    return capture;
  }

  #peer$(): Observable<MeetingPeerEvent> {
    return connectPeer({
      iceServers: this.config.iceServers ?? stun,
      negotiate$: (offer) => this.#negotiate(offer),
      error: (message, options) => this.error(`${this.name}: ${message}`, options),
      scheduler: this.#scheduler,
      onLeave: (leave$) => {
        this.#leave$ = leave$;
      },
    });
  }

  #negotiate(offer: string): Observable<string> {
    const url = this.resolveUrl(`/v2beta/${this.config.spaceName}:connectActiveConference`);
    const request$ = httpRequest({
      ...this.transportOptions,
      url,
      json: { offer },
      headers: async () => ({ Authorization: await this.resolveAuthHeader() }),
      errorOf: (failure) => refusalOf(failure),
    });
    return request$.pipe(
      readJson(),
      map((answer) => {
        const sdp = asString(asObject(answer)?.['answer']);
        if (sdp !== undefined) return sdp;
        throw this.error(`${this.name}: the service gave no answer to the offer`, { code: 'protocol' });
      }),
    );
  }

  #onEvent(
    event: MeetingPeerEvent,
    context: AudioContext,
    mix: MediaStreamAudioDestinationNode,
    connected: () => void,
  ): void {
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
        this.follow(event);
        break;
      case 'status':
        if (event.reason === 'REASON_CLIENT_LEFT') this.#finish('left');
        else if (event.status === 'disconnected') this.#finish('ended', event.reason);
        else if (event.status !== this.#status$.value) this.#status$.next(event.status);
    }
  }

  #finish(reason: 'ended' | 'left' | 'lost', detail?: string): void {
    if (this.#status$.value === 'waiting' || this.#status$.value === 'joined') this.#status$.next('disconnected');
    this.end({ reason, ...(detail !== undefined && { detail }) });
    this.#session.unsubscribe();
  }
}

function refusalOf({ text }: HttpFailure): HttpErrorFacts | undefined {
  const [reason, facts] = Object.entries(refusals).find(([word]) => text.includes(word)) ?? [];
  return facts && { ...facts, reason };
}
