import { EMPTY, ReplaySubject, switchMap, type Observable, type ObservableInput } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import { ProviderInitializationError, VoiceError } from '../core/errors.ts';
import type {
  ConnectionEvent,
  DeviceEvent,
  InputProvider,
  OutputProvider,
  PlaybackEvent,
  ProviderContract,
  ProviderRole,
  ProviderState,
} from '../core/roles.ts';

/** A browser has what the defaults need; a page that may not use it is told by them. */
export function isBrowser(): boolean {
  return 'AudioContext' in globalThis;
}

/**
 * Stands in for a provider whose code is loaded by `initialize()`: an application that never needs a default does not
 * ship it. Everything else is passed on.
 */
abstract class Understudy<P extends ProviderContract> implements ProviderContract {
  abstract readonly name: string;
  abstract readonly roles: readonly ProviderRole[];
  readonly #load: () => Promise<P>;
  readonly #loaded$ = new ReplaySubject<P>(1);
  #loading: Promise<P> | undefined;
  #provider: P | undefined;
  /** Counts disposals: a start that one of them overtook comes to nothing. */
  #disposals = 0;

  constructor(load: () => Promise<P>) {
    this.#load = load;
  }

  get state$(): Observable<ProviderState> {
    return this.relay((provider) => provider.state$);
  }

  get errors$(): Observable<VoiceError> {
    return this.relay((provider) => provider.errors$);
  }

  get connection$(): Observable<ConnectionEvent> {
    return this.relay((provider) => provider.connection$);
  }

  get device$(): Observable<DeviceEvent> {
    return this.relay((provider) => provider.device$);
  }

  async initialize(): Promise<void> {
    const disposals = this.#disposals;
    const provider = await this.#loadOnce();
    if (disposals !== this.#disposals) {
      const cause = new VoiceError('dispose() was called first', { code: 'aborted', provider: this.name });
      throw new ProviderInitializationError(this.name, cause);
    }
    await provider.initialize();
  }

  async dispose(): Promise<void> {
    this.#disposals++;
    await this.#provider?.dispose();
  }

  isReady(): boolean {
    return this.#provider?.isReady() ?? false;
  }

  protected get loaded(): P | undefined {
    return this.#provider;
  }

  /** @throws VoiceError `not_ready` before `initialize()`. */
  protected get provider(): P {
    if (this.#provider) return this.#provider;
    throw new VoiceError(`${this.name} needs to be initialized first`, { code: 'not_ready', provider: this.name });
  }

  protected relay<T>(select$: (provider: P) => Observable<T> | undefined): Observable<T> {
    return this.#loaded$.pipe(switchMap((provider) => select$(provider) ?? EMPTY));
  }

  #loadOnce(): Promise<P> {
    this.#loading ??= this.#load().then(
      (provider) => {
        this.#provider = provider;
        this.#loaded$.next(provider);
        return provider;
      },
      (cause: unknown) => {
        this.#loading = undefined;
        throw new ProviderInitializationError(this.name, cause, 'its code could not be loaded: is the page offline?');
      },
    );
    return this.#loading;
  }
}

/** The input of a pipeline in a browser that names none: the microphone (SPEC.md, What the service does). */
export class DefaultInput extends Understudy<InputProvider> implements InputProvider {
  readonly name = 'MicrophoneInput';
  readonly roles: readonly ProviderRole[] = ['input'];

  constructor(
    load: () => Promise<InputProvider> = async () => {
      const { MicrophoneInput } = await import('../providers/input/microphone-input.ts');
      return new MicrophoneInput();
    },
  ) {
    super(load);
  }

  get audio$(): Observable<AudioChunk> {
    return this.relay(({ audio$ }) => audio$);
  }

  start(): Promise<void> {
    return this.provider.start();
  }

  stop(): Promise<void> {
    return this.loaded?.stop() ?? Promise.resolve();
  }

  pause(): void {
    this.loaded?.pause();
  }

  resume(): void {
    this.loaded?.resume();
  }

  getMetadata(): AudioMetadata {
    return this.provider.getMetadata();
  }
}

/** The output of a pipeline in a browser that names none: the speaker. */
export class DefaultOutput extends Understudy<OutputProvider> implements OutputProvider {
  readonly name = 'BrowserAudioOutput';
  readonly roles: readonly ProviderRole[] = ['output'];

  constructor(
    load: () => Promise<OutputProvider> = async () => {
      const { BrowserAudioOutput } = await import('../providers/output/browser-audio-output.ts');
      return new BrowserAudioOutput();
    },
  ) {
    super(load);
  }

  get playback$(): Observable<PlaybackEvent> {
    return this.relay(({ playback$ }) => playback$);
  }

  get accepts(): readonly AudioFormat[] {
    return this.loaded?.accepts ?? [];
  }

  get positionMs(): number {
    return this.loaded?.positionMs ?? 0;
  }

  play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return this.provider.play(audio$);
  }

  enqueue(chunk: AudioChunk): void {
    this.provider.enqueue(chunk);
  }

  flush(): Promise<void> {
    return this.loaded?.flush() ?? Promise.resolve();
  }

  stop(): void {
    this.loaded?.stop();
  }

  pause(): void {
    this.loaded?.pause();
  }

  resume(): void {
    this.loaded?.resume();
  }

  setVolume(volume: number): void {
    this.loaded?.setVolume?.(volume);
  }
}
