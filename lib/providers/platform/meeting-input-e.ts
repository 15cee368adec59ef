import { BehaviorSubject, filter, fromEvent, Subscription, takeUntil, type Observable } from 'rxjs';
import type { AudioMetadata } from '../../audio/types.ts';
import { capturedFormat } from '../../playback/media-track.ts';
import type { BackoffOptions } from '../../stream/backoff.ts';
import { remoteRules } from '../../core/remote-rules.ts';
import { reconnectRules } from '../../stream/reconnect-rules.ts';
import { configProblem } from '../../core/config-rule.ts';
import { VoiceError } from '../../core/errors.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { AuthType, RemoteConfig } from '../../core/remote-provider.ts';
import { MeetingInput, type MeetingEnd } from './meeting-input.ts';
import type { IceServer } from './meeting-peer-e.ts';
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
  /** From `initialize()` on. */
  #meeting: { leave(): Promise<void> } | undefined;

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

  protected override configProblem(): string | undefined {
    const own = { spaceName: {}, workletUrl: {}, iceServers: {} };
    return configProblem(this.config, { ...remoteRules, ...reconnectRules, ...own });
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    const { MeetingSessionE } = await new OnDemand(this.name, () => import('./meeting-session-e.ts')).load();
    const meeting = new MeetingSessionE({
      ...{ name: this.name, sampleRate, status$: this.#status$, warn: this.warn },
      config: () => this.config,
      transport: () => this.transportOptions,
      url: (path) => this.resolveUrl(path),
      authorization: () => this.resolveAuthHeader(),
      error: (message, options) => this.error(`${this.name}: ${message}`, options),
      hear: (chunk) => this.capture.push(chunk),
      follow: (event) => this.follow(event),
      finish: (reason, detail) => this.#finish(reason, detail),
    });
    await meeting.prepare();
    signal.throwIfAborted();
    // Before the credential, whose key may be misspelt.
    this.assertConfig();
    this.assertAuth();
    if (!/^spaces\/[^/\s]+$/.test(this.config.spaceName)) {
      throw this.error('spaceName must be of the form spaces/<id>', { code: 'configuration' });
    }
    this.#meeting = meeting;
    this.begin();
    this.#status$.next(undefined);
    await new Promise<void>((resolve, reject) => {
      this.#session.unsubscribe();
      this.#session = meeting
        .connect$(resolve)
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
    await this.#meeting?.leave();
    this.#session.unsubscribe();
    this.#finish('left');
    await super.onDispose();
  }

  #finish(reason: MeetingEnd['reason'], detail?: string): void {
    if (this.#status$.value === 'waiting' || this.#status$.value === 'joined') this.#status$.next('disconnected');
    this.end({ reason, ...(detail !== undefined && { detail }) });
    this.#session.unsubscribe();
  }
}
