import {
  defer,
  filter,
  fromEvent,
  Observable,
  of,
  repeat,
  Subscription,
  switchMap,
  take,
  tap,
  timer,
  type SchedulerLike,
} from 'rxjs';
import type { VoiceError, VoiceErrorCode } from '../../core/errors.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { TranscriptionResult } from '../../core/roles.ts';
import {
  nativePhrases,
  nativeRecognizer,
  type NativePhrase,
  type NativeRecognition,
  type NativeRecognitionEvents,
} from './native-recognition.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import { isAndroid } from '../../playback/native-voice.ts';
import { NativeResults } from './native-results.ts';

/** Most failed sessions in a row; the first pause between them and the longest, in milliseconds. */
const maxFailures = 5;
const firstPauseMs = 200;
const maxPauseMs = 5_000;
/** A session that lasted this long did not fail, in milliseconds. */
const healthyMs = 1_000;

interface Failure {
  readonly code: VoiceErrorCode;
  readonly recoverable?: boolean;
  readonly message: string;
}
const denied: Failure = {
  code: 'permission',
  message: 'the microphone or the speech service is blocked: allow them for this page in the browser',
};
/** Errors after which retrying is pointless (W3C Web Speech API, SpeechRecognitionErrorEvent). */
const fatal: Readonly<Record<string, Failure>> = {
  'not-allowed': denied,
  'service-not-allowed': denied,
  'audio-capture': {
    code: 'device',
    recoverable: true,
    message: 'no microphone found: plug one in, then start again',
  },
  'language-not-supported': { code: 'configuration', message: 'the browser does not support this language' },
};

function unreachable(error: string): Failure {
  const message =
    error === 'network'
      ? "the browser's speech service is unreachable: is the page offline, or does this browser have none?"
      : 'the browser ends every session at once: is another page or tab listening?';
  return { code: 'connection', recoverable: true, message };
}

/** Configuration of `NativeSTT`. */
export interface NativeSTTConfig {
  /** BCP 47. Default: `en-US`. */
  readonly language?: string;
  /** Whether a session continues after a final result, where the browser supports it. Default: true. */
  readonly continuous?: boolean;
  /** Whether interim results are reported. Default: true. */
  readonly interimResults?: boolean;
  /** Maximum alternatives of a final result; all but the best are in its `metadata.alternatives`. Default: 1. */
  readonly maxAlternatives?: number;
  /**
   * Whether the audio must stay on the device; Chrome 139 and Firefox 160 with an installed language, else an error.
   * Default: the browser's choice.
   */
  readonly processLocally?: boolean;
  /** Phrases to expect; Chrome 142, elsewhere ignored. */
  readonly phrases?: readonly NativePhrase[];
  /** A track to use instead of the microphone, such as an echo-cancelled one; Chrome 135 and Firefox 160, elsewhere ignored. */
  readonly track?: MediaStreamTrack;
  /** Whether to stop listening while NativeTTS speaks, as there is no echo cancellation. Default: true. */
  readonly halfDuplex?: boolean;
  /** Silence after which pending words are promoted to final, in milliseconds. Default: 1,500. */
  readonly finalTimeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** What {@link NativeSessions} reports to, even while ending. */
export interface NativeListener {
  /** The speaker's voice started or stopped. */
  voice(isSpeaking: boolean): void;
  /** A result. */
  result(result: TranscriptionResult): void;
  /** Creates the provider's error for a failure. */
  error(message: string, options: { readonly code: VoiceErrorCode; readonly recoverable?: boolean }): VoiceError;
}

/** What has happened in a session so far. */
interface Run {
  healthy: boolean;
  error: string;
}

/** The browser recognizer's sessions, one after the other, since browsers end them at will. */
export class NativeSessions {
  readonly #config: () => NativeSTTConfig;
  readonly #scheduler: SchedulerLike;
  readonly #results: NativeResults;
  readonly #listener: NativeListener;
  #recognition: NativeRecognition | undefined;
  #takesPhrases = true;
  #utterances = 0;

  /** @param config - Read by each session. */
  constructor(config: () => NativeSTTConfig, scheduler: SchedulerLike, listener: NativeListener) {
    this.#config = config;
    this.#scheduler = scheduler;
    this.#listener = listener;
    this.#results = new NativeResults({
      language: () => config().language ?? 'en-US',
      distrustsFinals: isAndroid(),
      now: () => scheduler.now(),
      newId: () => `native-${++this.#utterances}`,
    });
  }

  /** Listens until unsubscribed; fails when retrying is pointless. */
  listen$(onStart: () => void): Observable<never> {
    return defer(() => {
      let failures = 0;
      let run: Run = { healthy: false, error: '' };
      return defer(() => this.#session$((run = { healthy: false, error: '' }), onStart)).pipe(
        repeat({
          delay: () => {
            failures = run.healthy ? 0 : failures + 1;
            if (failures > maxFailures) throw this.#error(unreachable(run.error));
            const pauseMs = run.healthy ? 0 : Math.min(maxPauseMs, firstPauseMs * 2 ** (failures - 1));
            return timer(pauseMs, this.#scheduler).pipe(switchMap(shown$));
          },
        }),
      );
    });
  }

  /** Promotes pending words to final: no session follows. */
  end(): void {
    this.#tell(this.#results.endSession());
  }

  /** Asks the session for the final result so far. */
  finalize(): void {
    this.#recognition?.stop();
  }

  /** One session; completes when it has ended, aborts it when unsubscribed. */
  #session$(run: Run, onStart: () => void): Observable<never> {
    const { finalTimeoutMs = 1_500 } = this.#config();
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
      on('speechstart', () => this.#listener.voice(true));
      on('speechend', () => this.#listener.voice(false));
      on('result', (event) => {
        run.healthy = true;
        const results = this.#results.read(event);
        if (this.#results.isPending || results.length > 0) this.#listener.voice(true);
        results.forEach((result) => this.#listener.result(result));
        quiet.unsubscribe();
        if (!this.#results.isPending) return;
        quiet = patientTimer(finalTimeoutMs, this.#scheduler)
          .pipe(tap(() => this.#tell(this.#results.promote())))
          .subscribe();
      });
      on('error', ({ error }) => {
        run.error = error;
        if (error === 'no-speech') run.healthy = true;
        if (error === 'phrases-not-supported' && this.#takesPhrases) {
          this.#takesPhrases = false;
          run.healthy = true;
        }
        const failure = ownEntry(fatal, error);
        if (failure) subscriber.error(this.#error(failure));
      });
      on('end', () => {
        if (this.#scheduler.now() - startedAt >= healthyMs && run.error !== 'network') run.healthy = true;
        subscriber.complete();
      });
      subscriber.add(() => {
        quiet.unsubscribe();
        this.#recognition = undefined;
        this.end();
        this.#listener.voice(false);
        recognition.abort();
      });
      this.#recognition = recognition;
      this.#start(recognition);
    });
  }

  #create(): NativeRecognition {
    const Recognizer = nativeRecognizer();
    if (!Recognizer) throw this.#listener.error("the browser's recognizer has disappeared", { code: 'internal' });
    const { language = 'en-US', continuous = true, interimResults = true, maxAlternatives = 1 } = this.#config();
    const { processLocally, phrases } = this.#config();
    const recognition = new Recognizer();
    Object.assign(recognition, { lang: language, continuous, interimResults, maxAlternatives });
    if (processLocally !== undefined && 'processLocally' in recognition) recognition.processLocally = processLocally;
    const taken = phrases && this.#takesPhrases && 'phrases' in recognition ? nativePhrases(phrases) : undefined;
    if (taken) recognition.phrases = taken;
    return recognition;
  }

  #start(recognition: NativeRecognition): void {
    const { track } = this.#config();
    try {
      if (track?.readyState === 'live') recognition.start(track);
      else recognition.start();
    } catch (cause) {
      // Already started: its events will arrive.
      if (!(cause instanceof Error && cause.name === 'InvalidStateError')) throw cause;
    }
  }

  #tell(result: TranscriptionResult | undefined): void {
    if (result) this.#listener.result(result);
  }

  #error({ message, ...options }: Failure): VoiceError {
    return this.#listener.error(message, options);
  }
}

/** Emits when the page becomes visible: browsers end the sessions of hidden pages. */
function shown$(): Observable<unknown> {
  const page = 'document' in globalThis ? globalThis.document : undefined;
  if (page?.visibilityState !== 'hidden') return of(true);
  return fromEvent(page, 'visibilitychange').pipe(
    filter(() => page.visibilityState === 'visible'),
    take(1),
  );
}
