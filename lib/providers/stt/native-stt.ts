import {
  asyncScheduler,
  concat,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  fromEvent,
  ignoreElements,
  map,
  merge,
  NEVER,
  Observable,
  of,
  repeat,
  Subject,
  Subscription,
  switchMap,
  take,
  takeUntil,
  tap,
  timer,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../audio/types.ts';
import { isAndroid, nativeVoiceSpeaks$ } from '../../browser/native-voice.ts';
import { fromInput } from '../../core/bridge.ts';
import { configProblem, type ConfigRule } from '../../core/config-rule.ts';
import { VoiceError, type VoiceErrorCode } from '../../core/errors.ts';
import { entry } from '../../core/guard.ts';
import type { Logger } from '../../core/logger.ts';
import { Provider } from '../../core/provider.ts';
import type {
  InputProvider,
  ProviderRole,
  ProviderType,
  SpeechEvent,
  STTProvider,
  TranscriptionResult,
} from '../../core/roles.ts';
import {
  nativePhrases,
  nativeRecognizer,
  type NativePhrase,
  type NativeRecognition,
  type NativeRecognitionEvents,
} from './native-recognition.ts';
import { NativeResults } from './native-results.ts';

/** Configuration of {@link NativeSTT}. */
export interface NativeSTTConfig {
  /** BCP 47. Default: `en-US`. */
  readonly language?: string;
  /** Whether a session goes on after a final result, where the browser can. Default: true. */
  readonly continuous?: boolean;
  /** Whether results come while the speaker speaks. Default: true. */
  readonly interimResults?: boolean;
  /** How many readings of a final result there may be; all but the best are in its `metadata.alternatives`. Default: 1. */
  readonly maxAlternatives?: number;
  /** Whether the audio must stay on the device; Chrome 139 with an installed language, else an error. Default: the browser's choice. */
  readonly processLocally?: boolean;
  /** What is likely to be said; Chrome 142, elsewhere without effect. */
  readonly phrases?: readonly NativePhrase[];
  /** A track to hear in place of the microphone, such as an echo-cancelled one; Chrome 135, elsewhere without effect. */
  readonly track?: MediaStreamTrack;
  /** Whether it is deaf while NativeTTS speaks: it has no echo cancellation. Default: true. */
  readonly halfDuplex?: boolean;
  /** Silence after which words whose final does not come are final, in milliseconds. Default: 1,500. */
  readonly finalTimeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const rules: Readonly<Record<string, ConfigRule>> = {
  language: { type: 'text' },
  continuous: { type: 'boolean' },
  interimResults: { type: 'boolean' },
  maxAlternatives: { min: 1, integer: true },
  processLocally: { type: 'boolean' },
  halfDuplex: { type: 'boolean' },
  finalTimeoutMs: { min: 0 },
};

/** Sessions in a row that may fail, the first pause between two, and the longest, in milliseconds. */
const maxFailures = 5;
const firstPauseMs = 200;
const maxPauseMs = 5_000;
/** A session that lasted this long was none that failed, in milliseconds. */
const healthyMs = 1_000;

interface Failure {
  readonly code: VoiceErrorCode;
  readonly recoverable?: boolean;
  readonly message: string;
}
const denied: Failure = {
  code: 'permission',
  message: 'the microphone or the speech service is not allowed: allow them for this page in the browser',
};
/** Errors after which no other session helps (W3C Web Speech API, SpeechRecognitionErrorEvent). */
const fatal: Readonly<Record<string, Failure>> = {
  'not-allowed': denied,
  'service-not-allowed': denied,
  'audio-capture': {
    code: 'device',
    recoverable: true,
    message: 'there is no microphone: plug one in, then start again',
  },
  'language-not-supported': { code: 'configuration', message: 'the browser does not know this language' },
};

/**
 * NativeSTT: the browser's own speech recognition (W3C Web Speech API, https://webaudio.github.io/web-speech-api/). No
 * address and no credential; most browsers send the audio to their maker's service.
 *
 * It hears the microphone itself: it is the pipeline's input too, and takes no audio.
 */
export class NativeSTT extends Provider<NativeSTTConfig> implements STTProvider, InputProvider {
  override readonly name = 'NativeSTT' as const;
  override readonly roles: readonly ProviderRole[] = ['input', 'stt'];
  override readonly type: ProviderType = 'rest';
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16' }];
  /** The browser captures: there is nothing to pass on. */
  readonly audio$: Observable<AudioChunk> = NEVER;

  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  readonly #results: NativeResults;
  #connected: Promise<void> | undefined;
  #session = new Subscription();
  #recognition: NativeRecognition | undefined;
  #isSpeaking = false;
  #isPaused = false;
  #takesPhrases = true;
  readonly #changes$ = new Subject<void>();
  #utterances = 0;

  constructor(config: NativeSTTConfig = {}, logger?: Logger) {
    super(config, logger);
    const { language = 'en-US' } = config;
    this.#results = new NativeResults({
      ...{ language, distrustsFinals: isAndroid(), now: () => this.#scheduler.now() },
      newId: () => `native-${++this.#utterances}`,
    });
  }

  /** Results, a final one for each thing said. Hot. */
  get transcripts$(): Observable<TranscriptionResult> {
    return this.#transcripts$.asObservable();
  }

  /** The speaker's voice, as the browser hears it, or from the first words. Hot. */
  get speech$(): Observable<SpeechEvent> {
    return this.#speech$.asObservable();
  }

  getMetadata(): AudioMetadata {
    return { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 };
  }

  /** Takes no audio: does nothing. */
  configureAudio(_metadata: AudioMetadata): void {}

  /** Takes no audio: does nothing. */
  sendAudio(_chunk: AudioChunk): void {}

  /**
   * Starts to listen, for which the browser may ask the user; resolves when it does.
   *
   * @throws VoiceError `permission`, `device`, `configuration`, `connection`: its message says what helps.
   */
  connect(): Promise<void> {
    this.#connected ??= this.#connect();
    return this.#connected;
  }

  /** As {@link NativeSTT.connect}: this input and its recognizer are one. */
  start(): Promise<void> {
    return this.connect();
  }

  /** Stops listening; words whose final has not come are made final. */
  disconnect(): Promise<void> {
    this.#connected = undefined;
    this.#session.unsubscribe();
    return Promise.resolve();
  }

  /** As {@link NativeSTT.disconnect}. */
  stop(): Promise<void> {
    return this.disconnect();
  }

  /** Hears nothing until `resume()`. */
  pause(): void {
    this.#isPaused = true;
    this.#changes$.next();
  }

  /** Hears again. */
  resume(): void {
    this.#isPaused = false;
    this.#changes$.next();
  }

  /** Asks the browser for the final result of what was said so far; listening goes on. */
  finalize(): void {
    this.#recognition?.stop();
  }

  /** Listens to the microphone for as long as `audio$` lasts, whatever it brings. Cold. */
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

  protected override onInitialize(): void {
    if (!nativeRecognizer()) {
      const message = `${this.name} needs a browser with speech recognition, such as Chrome, Edge or Safari: elsewhere use AlphaSTT`;
      throw this.error(message, { code: 'configuration' });
    }
    const problem = configProblem(this.config, rules);
    if (problem) throw this.error(`${this.name}: ${problem}`, { code: 'configuration' });
  }

  protected override async onDispose(): Promise<void> {
    await this.disconnect();
  }

  get #scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  #connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.assertReady('connect');
      let listening = false;
      const session = new Subscription();
      this.#session = session;
      this.#isPaused = false;
      session.add(() => {
        this.#emit(this.#results.endSession());
        reject(this.error(`${this.name} was stopped first`, { code: 'aborted' }));
      });
      const started = (): void => {
        listening = true;
        resolve();
      };
      session.add(
        this.#wanted$()
          .pipe(switchMap((wanted) => (wanted ? this.#sessions$(started) : EMPTY)))
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

  /** Whether to listen: not while paused, nor while the browser's own voice would be heard. */
  #wanted$(): Observable<boolean> {
    const { halfDuplex = true } = this.config;
    const changes$ = merge(nativeVoiceSpeaks$, this.#changes$);
    return changes$.pipe(
      map(() => !this.#isPaused && !(halfDuplex && nativeVoiceSpeaks$.value)),
      distinctUntilChanged(),
    );
  }

  /** One session after the other, for browsers end them as they like. */
  #sessions$(onStart: () => void): Observable<never> {
    return defer(() => {
      const run = { failures: 0, healthy: false, error: '' };
      return defer(() => {
        Object.assign(run, { healthy: false, error: '' });
        return this.#session$(run, onStart);
      }).pipe(
        repeat({
          delay: () => {
            run.failures = run.healthy ? 0 : run.failures + 1;
            if (run.failures > maxFailures) throw this.#unreachable(run.error);
            const pauseMs = run.healthy ? 0 : Math.min(maxPauseMs, firstPauseMs * 2 ** (run.failures - 1));
            return timer(pauseMs, this.#scheduler).pipe(switchMap(shown$));
          },
        }),
      );
    });
  }

  /** One session of the recognizer; completes when it has ended, and aborts it when unsubscribed. */
  #session$(run: { healthy: boolean; error: string }, onStart: () => void): Observable<never> {
    const { finalTimeoutMs = 1_500 } = this.config;
    return new Observable((subscriber) => {
      const recognition = this.#create();
      const startedAt = this.#scheduler.now();
      let quiet = Subscription.EMPTY;
      const on = <T extends keyof NativeRecognitionEvents>(
        type: T,
        listener: (event: NativeRecognitionEvents[T]) => void,
      ): void => {
        recognition.addEventListener(type, listener);
        subscriber.add(() => recognition.removeEventListener(type, listener));
      };
      on('start', onStart);
      on('speechstart', () => this.#speak(true));
      on('speechend', () => this.#speak(false));
      on('result', (event) => {
        run.healthy = true;
        const results = this.#results.read(event);
        if (this.#results.isPending || results.length > 0) this.#speak(true);
        results.forEach((result) => this.#emit(result));
        quiet.unsubscribe();
        if (!this.#results.isPending) return;
        quiet = timer(finalTimeoutMs, this.#scheduler)
          .pipe(tap(() => this.#emit(this.#results.promote())))
          .subscribe();
      });
      on('error', ({ error }) => {
        run.error = error;
        if (error === 'no-speech') run.healthy = true;
        if (error === 'phrases-not-supported' && this.#takesPhrases) {
          this.#takesPhrases = false;
          run.healthy = true;
        }
        const failure = entry(fatal, error);
        if (failure) subscriber.error(this.#failure(failure));
      });
      on('end', () => {
        if (this.#scheduler.now() - startedAt >= healthyMs && run.error !== 'network') run.healthy = true;
        subscriber.complete();
      });
      subscriber.add(() => {
        quiet.unsubscribe();
        this.#recognition = undefined;
        this.#emit(this.#results.endSession());
        this.#speak(false);
        recognition.abort();
      });
      this.#recognition = recognition;
      this.#start(recognition);
    });
  }

  #create(): NativeRecognition {
    const Recognizer = nativeRecognizer();
    if (!Recognizer) throw this.error(`${this.name}: the browser's recognizer is gone`, { code: 'internal' });
    const { language = 'en-US', continuous = true, interimResults = true, maxAlternatives = 1 } = this.config;
    const { processLocally, phrases } = this.config;
    const recognition = new Recognizer();
    Object.assign(recognition, { lang: language, continuous, interimResults, maxAlternatives });
    if (processLocally !== undefined && 'processLocally' in recognition) recognition.processLocally = processLocally;
    const taken = phrases && this.#takesPhrases && 'phrases' in recognition ? nativePhrases(phrases) : undefined;
    if (taken) recognition.phrases = taken;
    return recognition;
  }

  #start(recognition: NativeRecognition): void {
    const { track } = this.config;
    try {
      if (track?.readyState === 'live') recognition.start(track);
      else recognition.start();
    } catch (cause) {
      // It has started already: its events will come.
      if (!(cause instanceof Error && cause.name === 'InvalidStateError')) throw cause;
    }
  }

  #speak(isSpeaking: boolean): void {
    if (isSpeaking === this.#isSpeaking) return;
    this.#isSpeaking = isSpeaking;
    this.#speech$.next({ type: isSpeaking ? 'started' : 'ended' });
  }

  #emit(result: TranscriptionResult | undefined): void {
    if (!result) return;
    this.#transcripts$.next(result);
    if (result.utteranceComplete) this.#speak(false);
  }

  #failure({ message, ...options }: Failure): VoiceError {
    return this.error(`${this.name}: ${message}`, options);
  }

  #unreachable(error: string): VoiceError {
    const message =
      error === 'network'
        ? `${this.name}: the browser's speech service is not reachable: is the page offline, or the browser without one?`
        : `${this.name}: the browser ends every session at once: does another page or tab listen?`;
    return this.error(message, { code: 'connection', recoverable: true });
  }
}

/** When the page is seen: browsers end the sessions of hidden ones. */
function shown$(): Observable<unknown> {
  const page = 'document' in globalThis ? globalThis.document : undefined;
  if (page?.visibilityState !== 'hidden') return of(true);
  return fromEvent(page, 'visibilitychange').pipe(
    filter(() => page.visibilityState === 'visible'),
    take(1),
  );
}
