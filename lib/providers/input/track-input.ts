import { defer, Subject, Subscription, switchMap, type Observable, type SchedulerLike } from 'rxjs';
import { canResample } from '../../audio/formats.ts';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import { closeContext, openContext, prepareContext, type ContextOptions } from '../../playback/audio-context.ts';
import { capturedFormat } from '../../playback/media-track.ts';
import type * as CaptureCode from '../../playback/track-capture.ts';
import { VoiceError } from '../../core/errors.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { Provider } from '../../core/provider.ts';
import type { DeviceEvent, InputProvider, ProviderRole, ProviderType } from '../../core/roles.ts';
import { Capture } from '../../playback/capture.ts';
import { resource } from '../../stream/resource.ts';

/** Configuration of every input that captures a browser's media track. */
export interface TrackInputConfig {
  /**
   * Where the page serves the package's file `rxvoice/worklets.js`, for pages whose Content-Security-Policy forbids
   * `blob:` scripts. Default: the AudioWorklet is inlined.
   */
  readonly workletUrl?: string;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const elsewhere = 'BufferInput or a phone provider';

/** Shared by inputs that capture a browser's media tracks: one session from `start()` to `stop()`, at a fixed rate. */
export abstract class TrackInput<C extends TrackInputConfig> extends Provider<C> implements InputProvider {
  readonly roles: readonly ProviderRole[] = ['input'];
  readonly type: ProviderType = 'rest';
  readonly #device$ = new Subject<DeviceEvent>();
  readonly #capture = new Capture();
  #started: Promise<void> | undefined;
  #session = new Subscription();

  /** Sample rate of `audio$`, in Hz. */
  protected abstract readonly sampleRate: number;

  /** Captured audio from `start()` on: linear16, mono; `timestamp` is its offset in all the audio captured. Hot. */
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#capture.audio$);
  }

  /** Changes of the device or track, and whether the browser lets its audio flow. Hot. */
  get device$(): Observable<DeviceEvent> {
    return this.handOut('device$', this.#device$);
  }

  getMetadata(): AudioMetadata {
    return capturedFormat(this.sampleRate);
  }

  /**
   * Starts capturing; resolves once it has begun.
   *
   * @throws VoiceError `permission`, `device`, `configuration`: its message says what the user can do.
   */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  /** Stops capturing. */
  stop(): Promise<void> {
    this.#started = undefined;
    this.#session.unsubscribe();
    this.#capture.stop();
    return Promise.resolve();
  }

  /** Drops captured audio until `resume()`. */
  pause(): void {
    this.#capture.pause();
  }

  /** Resumes delivering audio. */
  resume(): void {
    this.#capture.resume();
  }

  /** Feeds tracks to the capture while subscribed; emits when one is being captured. */
  protected abstract tracks$(capture: CaptureCode.TrackCapture): Observable<unknown>;

  /** Called with each frame before it is delivered. */
  protected onChunk(_chunk: AudioChunk): void {}

  /** Called when a capture has failed for good. */
  protected onLost(_error: VoiceError): void {}

  /** Publishes an event of the device. */
  protected tell(event: DeviceEvent): void {
    this.#device$.next(event);
    if (event.type === 'suspended') {
      const message = `${this.name}: the browser blocks audio until the user clicks, taps or presses a key`;
      this.report(this.error(message, { code: 'permission', recoverable: true }));
    }
  }

  protected override async onInitialize(_signal: AbortSignal): Promise<void> {
    this.assertConfig();
    if (!canResample(48_000, this.sampleRate)) {
      const message = `${this.name} cannot deliver ${this.sampleRate} Hz: use 8000, 16000, 24000 or 48000`;
      throw this.error(message, { code: 'configuration' });
    }
    await Promise.all([prepareContext(this.#contextOptions), this.#loadCapture()]);
  }

  protected override onDispose(): Promise<void> {
    return this.stop();
  }

  get #contextOptions(): ContextOptions {
    return { provider: this.name, elsewhere, workletUrl: this.config.workletUrl };
  }

  #start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.assertReady('start');
      const session = new Subscription();
      this.#session = session;
      session.add(() => reject(this.error(`${this.name}.stop() was called first`, { code: 'aborted' })));
      this.#capture.start();
      let capturing = false;
      session.add(
        this.#captured$().subscribe({
          next: () => {
            capturing = true;
            resolve();
          },
          error: (cause: unknown) => {
            const error = VoiceError.from(cause, { provider: this.name });
            if (capturing) this.report(error);
            reject(error);
            void this.stop();
            if (capturing) this.onLost(error);
          },
        }),
      );
    });
  }

  #captured$(): Observable<unknown> {
    const context$ = resource(() => openContext(this.#contextOptions), closeContext);
    return context$.pipe(
      switchMap((context) => this.#capture$(context)),
      switchMap((capture) => this.tracks$(capture)),
    );
  }

  #loadCapture(): Promise<typeof CaptureCode> {
    return new OnDemand(this.name, () => import('../../playback/track-capture.ts')).load();
  }

  #capture$(context: AudioContext): Observable<CaptureCode.TrackCapture> {
    const options = {
      ...{ context, sampleRate: this.sampleRate, scheduler: this.config.scheduler },
      onChunk: (chunk: AudioChunk): void => {
        this.onChunk(chunk);
        this.#capture.push(chunk);
      },
      onDevice: (event: DeviceEvent): void => this.tell(event),
    };
    return defer(() => this.#loadCapture()).pipe(switchMap((code) => code.openCapture(options)));
  }
}
