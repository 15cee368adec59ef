import {
  asyncScheduler,
  catchError,
  defer,
  filter,
  finalize,
  fromEvent,
  map,
  of,
  ReplaySubject,
  retry,
  skip,
  startWith,
  Subject,
  Subscription,
  switchMap,
  take,
  tap,
  throwError,
  timer,
  type Observable,
} from 'rxjs';
import { durationMs } from '../../audio/formats.ts';
import type { AudioChunk } from '../../audio/types.ts';
import { holdAudioSession } from '../../playback/audio-session.ts';
import { microphonePermission, type MicrophonePermission } from '../../playback/microphone-permission.ts';
import { trackEvents$ } from '../../playback/media-track.ts';
import type { TrackCapture } from '../../playback/track-capture.ts';
import { misspeltKey } from '../../core/misspelt-key.ts';
import { messageOf, VoiceError, type VoiceErrorCode } from '../../core/errors.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { ConnectionEvent } from '../../core/roles.ts';
import { merge } from '../../stream/merge.ts';
import { resource } from '../../stream/resource.ts';
import { TrackInput, type TrackInputConfig } from './track-input.ts';

/** Configuration of {@link MicrophoneInput}. */
export interface MicrophoneInputConfig extends TrackInputConfig {
  /** Sample rate delivered, in Hz; the device keeps its own. Default: 16,000. */
  readonly sampleRate?: number;
  /**
   * The preferred microphone's `deviceId`, from `navigator.mediaDevices.enumerateDevices()`; a change by
   * `updateConfig()` takes effect at once. Default: the system's choice.
   */
  readonly deviceId?: string;
  /** Whether the browser cancels what the page plays; without it the agent hears itself. Default: true. */
  readonly echoCancellation?: boolean;
  /** Whether the browser suppresses noise. Default: true. */
  readonly noiseSuppression?: boolean;
  /** Whether the browser levels the volume. Default: true. */
  readonly autoGainControl?: boolean;
}

/** Interval between searches for a lost microphone, in milliseconds (docs/faults.md, F52). */
const searchMs = 1_000;

/** Keys that the browser takes when it opens a microphone. */
const constrained = ['deviceId', 'echoCancellation', 'noiseSuppression', 'autoGainControl'];

/** Duration of pure zeros that no real room produces, in milliseconds (F54). */
const zerosMs = 5_000;

const keys: Readonly<Record<keyof MicrophoneInputConfig, true>> = {
  ...{ workletUrl: true, scheduler: true, sampleRate: true, deviceId: true },
  ...{ echoCancellation: true, noiseSuppression: true, autoGainControl: true },
};

interface Refusal {
  readonly code: VoiceErrorCode;
  readonly recoverable: boolean;
  readonly message: string;
}
/** What the browser's rejections mean (W3C Media Capture and Streams, getUserMedia). */
const refusals: Readonly<Record<string, Refusal>> = {
  NotAllowedError: {
    code: 'permission',
    recoverable: false,
    message:
      'the microphone is blocked: allow it for this page in the browser (next to the address) and in the system, ' +
      'and put allow="microphone" on an iframe',
  },
  SecurityError: {
    code: 'permission',
    recoverable: false,
    message: 'the page may not use the microphone: its Permissions-Policy forbids it',
  },
  NotFoundError: { code: 'device', recoverable: true, message: 'no microphone found: plug one in, then start again' },
  NotReadableError: {
    code: 'device',
    recoverable: true,
    message: 'the microphone delivers no audio: close other applications that use it, or plug it in again',
  },
};

/**
 * The user's microphone, in a browser (W3C Media Capture and Web Audio). No service; needs a page on https or
 * localhost.
 *
 * An unplugged microphone is replaced by the preferred one, else by the system's default, as soon as there is one. One
 * that the user takes away is opened again when the user gives it back.
 */
export class MicrophoneInput extends TrackInput<MicrophoneInputConfig> {
  override readonly name = 'MicrophoneInput' as const;
  protected override readonly sampleRate: number;
  readonly #connection$ = new ReplaySubject<ConnectionEvent>(1);
  readonly #permission$ = microphonePermission();
  /** The configuration chooses another microphone, or other constraints. */
  readonly #chosen$ = new Subject<void>();
  /** Waits for a permission that was withdrawn. */
  #withdrawn = Subscription.EMPTY;
  #zerosMs = 0;
  #isMuted = false;

  constructor(config: MicrophoneInputConfig = {}, logger?: ConstructorParameters<typeof TrackInput>[1]) {
    super(config, logger);
    this.sampleRate = config.sampleRate ?? 16_000;
  }

  /**
   * The device: `connected` when it delivers, `reconnecting` while searching for a lost one. Hot; replays the latest
   * value.
   */
  get connection$(): Observable<ConnectionEvent> {
    return this.handOut('connection$', this.#connection$);
  }

  override start(): Promise<void> {
    this.#withdrawn.unsubscribe();
    return super.start();
  }

  override stop(): Promise<void> {
    this.#withdrawn.unsubscribe();
    return super.stop();
  }

  protected override configProblem(): string | undefined {
    return misspeltKey(this.config, Object.keys(keys));
  }

  /** A running session takes another microphone, and other constraints, at once. */
  protected override onConfigUpdate(changed: Partial<MicrophoneInputConfig>): void {
    super.onConfigUpdate(changed);
    if (constrained.some((key) => key in changed)) this.#chosen$.next();
  }

  /** Whether the page may use the microphone, now and after every change. Does not ask the user. Cold. */
  get permission$(): Observable<MicrophonePermission> {
    return this.handOut('permission$', this.#permission$);
  }

  protected override tracks$(capture: TrackCapture): Observable<unknown> {
    const { scheduler = asyncScheduler } = this.config;
    const { mediaDevices } = navigator;
    const changes$ = fromEvent(mediaDevices, 'devicechange');
    /** Searches since a microphone was last connected; `undefined` before the first. */
    let attempt: number | undefined;
    const microphone$ = resource(
      () => this.#opened(),
      (stream) => stream.getTracks().forEach((track) => track.stop()),
    ).pipe(
      catchError((cause: unknown) => throwError(() => this.#refusal(cause))),
      map((stream) => stream.getAudioTracks()[0]),
      switchMap((track) => (track ? this.#captured$(track, capture) : throwError(() => this.#lost()))),
      tap(() => {
        attempt = 0;
      }),
      retry({
        delay: (cause: VoiceError) => {
          this.#searchOn(cause, attempt === undefined ? undefined : ++attempt);
          return merge(timer(searchMs, scheduler), changes$);
        },
      }),
    );
    // Another microphone, or other constraints, take the place of what is open.
    const chosen$ = this.#chosen$.pipe(
      startWith(undefined),
      switchMap(() => microphone$),
    );
    const changed$ = changes$.pipe(
      tap(() => this.tell({ type: 'changed' })),
      switchMap(() => []),
    );
    return defer(() => {
      const release = holdAudioSession('play-and-record');
      this.#connection$.next({ type: 'connecting' });
      return merge(chosen$, changed$).pipe(
        finalize(() => {
          release();
          this.#connection$.next({ type: 'closed' });
        }),
      );
    });
  }

  /** Nobody is asked again: only what the user grants unasked is taken. */
  protected override onLost({ code }: VoiceError): void {
    if (code !== 'permission') return;
    const granted$ = this.#permission$.pipe(
      skip(1),
      filter((permission) => permission === 'granted'),
      take(1),
      tap(() => {
        this.start().catch((cause: unknown) => this.onLost(VoiceError.from(cause)));
      }),
    );
    this.#withdrawn = granted$.subscribe();
  }

  /** Reports a microphone that delivers only zeros: turned off by its switch or by the system. */
  protected override onChunk({ data, metadata }: AudioChunk): void {
    const wasSilent = this.#zerosMs >= zerosMs;
    const isZero = data.every((byte) => byte === 0);
    this.#zerosMs = isZero && metadata ? this.#zerosMs + durationMs(data.length, metadata) : 0;
    if (wasSilent && !isZero) this.tell({ type: 'unmuted' });
    if (wasSilent || this.#zerosMs < zerosMs) return;
    this.tell({ type: 'silent', forMs: this.#zerosMs });
    if (this.#isMuted) return;
    const message = `${this.name}: the microphone has delivered nothing but zeros for ${zerosMs / 1000} s: is it muted?`;
    this.report(this.error(message, { code: 'device', recoverable: true }));
  }

  #captured$(track: MediaStreamTrack, capture: TrackCapture): Observable<unknown> {
    const events$ = trackEvents$(track).pipe(
      tap((event) => {
        this.#isMuted = event.type === 'muted';
        this.tell(event);
        if (event.type !== 'lost') return;
        capture.connect(undefined);
        throw this.#lost();
      }),
    );
    return defer(() => {
      capture.connect(track);
      this.#zerosMs = 0;
      this.#isMuted = track.muted;
      this.#connection$.next({ type: 'connected' });
      this.tell({ type: 'found', label: track.label });
      return merge(of(track), events$);
    });
  }

  /** Announces a search for another microphone, or throws where that is pointless. */
  #searchOn(cause: VoiceError, attempt: number | undefined): void {
    if (attempt === undefined || !cause.recoverable) {
      this.#connection$.next({ type: 'lost', error: cause });
      throw cause;
    }
    // One error per loss, however long the search.
    if (attempt === 1) this.report(cause);
    this.#connection$.next({ type: 'reconnecting', attempt, delayMs: searchMs, error: cause });
  }

  /** The chosen microphone, else any: for one that is merely preferred, Chromium opens the default one. */
  #opened(): Promise<MediaStream> {
    const { mediaDevices } = navigator;
    const { deviceId } = this.config;
    const audio = this.#preferences();
    if (!deviceId) return mediaDevices.getUserMedia({ audio });
    return mediaDevices.getUserMedia({ audio: { ...audio, deviceId: { exact: deviceId } } }).catch((cause: unknown) => {
      if (nameOf(cause) === 'OverconstrainedError') return mediaDevices.getUserMedia({ audio });
      throw cause;
    });
  }

  /** Preferences, not requirements: one that no device meets would be an error. */
  #preferences(): MediaTrackConstraints {
    const { echoCancellation = true, noiseSuppression = true, autoGainControl = true } = this.config;
    return { echoCancellation, noiseSuppression, autoGainControl, channelCount: { ideal: 1 } };
  }

  #lost(): VoiceError {
    const message = `${this.name}: the microphone was unplugged or taken away: looking for another`;
    return this.error(message, { code: 'device', recoverable: true });
  }

  #refusal(cause: unknown): VoiceError {
    const unknown = { code: 'device', recoverable: true, message: `no microphone: ${messageOf(cause)}` } as const;
    const { message, ...options } = ownEntry(refusals, nameOf(cause)) ?? unknown;
    return this.error(`${this.name}: ${message}`, { ...options, cause });
  }
}

/** The name of a browser's rejection; older ones reject with what is no Error. */
function nameOf(cause: unknown): string {
  return String(Reflect.get(Object(cause) as object, 'name'));
}
