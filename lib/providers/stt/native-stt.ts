import {
  asyncScheduler,
  concat,
  defer,
  distinctUntilChanged,
  EMPTY,
  ignoreElements,
  map,
  NEVER,
  startWith,
  Subject,
  Subscription,
  switchMap,
  takeUntil,
  type Observable,
  type ObservableInput,
} from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { microphonePermission, type MicrophonePermission } from '../../playback/microphone-permission.ts';
import { nativeVoiceSpeaks$ } from '../../playback/native-voice.ts';
import { fromInput } from '../../stream/bridge.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { OnDemand } from '../../core/on-demand.ts';
import { Provider } from '../../core/provider.ts';
import type {
  InputProvider,
  ProviderRole,
  ProviderType,
  SpeechEvent,
  STTProvider,
  TranscriptionResult,
} from '../../core/roles.ts';
import { merge } from '../../stream/merge.ts';
import { nativeRecognizer } from './native-recognition.ts';
import type { NativeSessions, NativeSTTConfig } from './native-sessions.ts';

export type { NativeSTTConfig } from './native-sessions.ts';

const rules: Readonly<Record<string, ConfigRule>> = {
  ...{ phrases: {}, track: {}, scheduler: {} },
  language: { type: 'text' },
  continuous: { type: 'boolean' },
  interimResults: { type: 'boolean' },
  maxAlternatives: { min: 1, integer: true },
  processLocally: { type: 'boolean' },
  halfDuplex: { type: 'boolean' },
  finalTimeoutMs: { min: 0 },
};

/**
 * NativeSTT: the browser's own speech recognition (W3C Web Speech API, https://webaudio.github.io/web-speech-api/). No
 * address and no credential; most browsers send the audio to their vendor's service.
 *
 * It uses the microphone itself: it is also the pipeline's input, and accepts no audio.
 */
export class NativeSTT extends Provider<NativeSTTConfig> implements STTProvider, InputProvider {
  override readonly name = 'NativeSTT' as const;
  override readonly roles: readonly ProviderRole[] = ['input', 'stt'];
  override readonly type: ProviderType = 'rest';
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16' }];
  /** Never emits: the browser captures the audio itself. */
  readonly audio$: Observable<AudioChunk> = NEVER;

  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly #permission$ = microphonePermission();
  #connected: Promise<void> | undefined;
  #session = new Subscription();
  /** What listens: from `initialize()` on. */
  #sessions: NativeSessions | undefined;
  #isSpeaking = false;
  #isPaused = false;
  readonly #changes$ = new Subject<void>();
  readonly #restarts$ = new Subject<void>();

  constructor(config: NativeSTTConfig = {}, logger?: Logger) {
    super(config, logger);
  }

  /** Results, with one final for each utterance. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.handOut('transcripts$', this.#transcripts$);
  }

  /** The speaker's voice, as reported by the browser, or from the first words on. Hot. */
  get speech$(): Observable<SpeechEvent> {
    return this.handOut('speech$', this.#speech$);
  }

  /** Whether the page may use the microphone, now and after every change. Does not ask the user. Cold. */
  get permission$(): Observable<MicrophonePermission> {
    return this.handOut('permission$', this.#permission$);
  }

  getMetadata(): AudioMetadata {
    return { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };
  }

  /** Does nothing: accepts no audio. */
  configureAudio(_metadata: AudioMetadata): void {}

  /** Does nothing: accepts no audio. */
  sendAudio(_chunk: AudioChunk): void {}

  /**
   * Starts listening, for which the browser may ask the user; resolves once it has begun.
   *
   * @throws VoiceError `permission`, `device`, `configuration`, `connection`: its message says what to do.
   */
  connect(): Promise<void> {
    this.#connected ??= this.#connect();
    return this.#connected;
  }

  /** Same as {@link NativeSTT.connect}: input and recognizer are one. */
  start(): Promise<void> {
    return this.connect();
  }

  /** Stops listening; pending words become final. */
  disconnect(): Promise<void> {
    this.#connected = undefined;
    this.#session.unsubscribe();
    return Promise.resolve();
  }

  /** Same as {@link NativeSTT.disconnect}. */
  stop(): Promise<void> {
    return this.disconnect();
  }

  /** Stops listening until `resume()`. */
  pause(): void {
    this.#isPaused = true;
    this.#changes$.next();
  }

  /** Resumes listening. */
  resume(): void {
    this.#isPaused = false;
    this.#changes$.next();
  }

  /** Asks the browser for the final result so far; listening continues. */
  finalize(): void {
    this.#sessions?.finalize();
  }

  /** Listens to the microphone for as long as `audio$` lasts, ignoring its audio. Cold. */
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    return defer(() => {
      const ended$ = new Subject<void>();
      const listening$ = concat(
        defer(() => this.connect()).pipe(ignoreElements()),
        fromInput(audio$).pipe(ignoreElements()),
        defer(() => this.disconnect()).pipe(ignoreElements()),
        defer(() => {
          ended$.next();
          return EMPTY;
        }),
      );
      return merge(this.transcripts$.pipe(takeUntil(ended$)), listening$);
    });
  }

  protected override configProblem(): string | undefined {
    return configProblem(this.config, rules);
  }

  protected override async onInitialize(): Promise<void> {
    if (!nativeRecognizer()) {
      const message = `${this.name} needs a browser with speech recognition, such as Chrome, Edge, Safari or Firefox 160; elsewhere use AlphaSTT`;
      throw this.error(message, { code: 'configuration' });
    }
    this.assertConfig();
    const { NativeSessions } = await new OnDemand(this.name, () => import('./native-sessions.ts')).load();
    this.#sessions ??= new NativeSessions(() => this.config, this.config.scheduler ?? asyncScheduler, {
      voice: (isSpeaking) => this.#speak(isSpeaking),
      result: (result) => this.#emit(result),
      error: (message, options) => this.error(`${this.name}: ${message}`, options),
    });
  }

  /** A session's settings are fixed: the next one has the new ones, at once. */
  protected override onConfigUpdate(): void {
    this.#restarts$.next();
  }

  protected override async onDispose(): Promise<void> {
    await this.disconnect();
  }

  #connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.assertReady('connect');
      let listening = false;
      const session = new Subscription();
      this.#session = session;
      this.#isPaused = false;
      session.add(() => {
        this.#sessions?.end();
        reject(this.error(`${this.name} was stopped first`, { code: 'aborted' }));
      });
      const started = (): void => {
        listening = true;
        resolve();
      };
      session.add(
        this.#restarts$
          .pipe(
            startWith(undefined),
            switchMap(() => this.#wanted$()),
            // `initialize()` has set it.
            switchMap((wanted) => (wanted ? this.#sessions?.listen$(started) : undefined) ?? EMPTY),
          )
          .subscribe({
            error: (cause: unknown) => {
              const error = VoiceError.from(cause, { provider: this.name });
              if (listening) this.report(error);
              reject(error);
              void this.disconnect();
            },
          }),
      );
    });
  }

  /** Whether to listen: not while paused, nor while the browser's own voice is audible. */
  #wanted$(): Observable<boolean> {
    const { halfDuplex = true } = this.config;
    const changes$ = merge(nativeVoiceSpeaks$, this.#changes$);
    return changes$.pipe(
      map(() => !this.#isPaused && !(halfDuplex && nativeVoiceSpeaks$.value)),
      distinctUntilChanged(),
    );
  }

  #speak(isSpeaking: boolean): void {
    if (isSpeaking === this.#isSpeaking) return;
    this.#isSpeaking = isSpeaking;
    this.#speech$.next({ type: isSpeaking ? 'started' : 'ended' });
  }

  #emit(result: TranscriptionResult): void {
    this.#transcripts$.next(result);
    if (result.utteranceComplete) this.#speak(false);
  }
}
