import { asyncScheduler, defer, Observable, Subscription, switchMap, tap, timer, type SchedulerLike } from 'rxjs';
import { VoiceError, type VoiceErrorCode } from '../../core/errors.ts';
import { ownEntry } from '../../core/own-entry.ts';

/** Events of one utterance of the browser's voice. */
export type NativeUtteranceEvent =
  | { readonly type: 'start' }
  /** The character at `index` sounds now; the word has `length` characters, if the browser reports it. */
  | { readonly type: 'boundary'; readonly index: number; readonly length: number }
  | { readonly type: 'end' };

/** How one utterance is spoken. */
export interface NativeUtteranceOptions {
  readonly text: string;
  readonly voice: SpeechSynthesisVoice | undefined;
  readonly lang: string | undefined;
  /** 0.1 to 10. */
  readonly rate: number;
  /** 0 to 2. */
  readonly pitch: number;
  readonly scheduler?: SchedulerLike | undefined;
}

/** Longest waits for the start, and from then or the last word to the end, in milliseconds; then it is given up. */
const startTimeoutMs = 3_000;
const endTimeoutMs = 16_000;
/** An utterance that follows a `cancel()` sooner than this is lost in some browsers, in milliseconds. */
const cancelMs = 10;

/** When the window's voice was last cancelled, shared by all its utterances. */
let cancelledAt = -Infinity;

/** What the browser's errors mean (W3C Web Speech API, SpeechSynthesisErrorEvent); others are `device`. */
const codes: Readonly<Record<string, VoiceErrorCode>> = {
  network: 'connection',
  'language-unavailable': 'configuration',
  'voice-unavailable': 'configuration',
  'text-too-long': 'overflow',
  'invalid-argument': 'configuration',
  'not-allowed': 'permission',
};

/** Silences the window's voice, and makes it usable again. */
export function cancelNativeSpeech(scheduler: SchedulerLike = asyncScheduler): void {
  const { speechSynthesis } = globalThis;
  const wasPaused = speechSynthesis.paused;
  speechSynthesis.cancel();
  // A pause outlives cancel(): the next utterance would wait forever.
  if (wasPaused) speechSynthesis.resume();
  cancelledAt = scheduler.now();
}

/**
 * Speaks one text with the browser's voice. Cold: unsubscribing silences it. An utterance about which the browser falls
 * silent is given up and counts as spoken: Chrome's remote voices stop after 15 s without any event.
 *
 * Errors: VoiceError; `permission` if the page needs a user gesture first.
 */
export function nativeUtterance(options: NativeUtteranceOptions): Observable<NativeUtteranceEvent> {
  const { text, voice, lang, rate, pitch, scheduler = asyncScheduler } = options;
  return defer(() => {
    const waitMs = cancelledAt + cancelMs - scheduler.now();
    const spoken$ = new Observable<NativeUtteranceEvent>((subscriber) => {
      const { speechSynthesis } = globalThis;
      const utterance = new SpeechSynthesisUtterance(text);
      utterance.voice = voice ?? null;
      if (lang !== undefined) utterance.lang = lang;
      utterance.rate = rate;
      utterance.pitch = pitch;
      let watchdog = Subscription.EMPTY;
      let isOver = false;
      const over = (finish: () => void): void => {
        isOver = true;
        finish();
      };
      const give = (): void => {
        // While paused, the browser's silence means nothing.
        if (speechSynthesis.paused) watch(endTimeoutMs);
        else {
          subscriber.next({ type: 'end' });
          subscriber.complete();
        }
      };
      const watch = (ms: number): void => {
        watchdog.unsubscribe();
        watchdog = timer(ms, scheduler).pipe(tap(give)).subscribe();
      };
      utterance.onstart = () => {
        watch(endTimeoutMs);
        subscriber.next({ type: 'start' });
      };
      utterance.onboundary = ({ charIndex, charLength }) => {
        watch(endTimeoutMs);
        subscriber.next({ type: 'boundary', index: charIndex, length: charLength });
      };
      utterance.onend = () =>
        over(() => {
          subscriber.next({ type: 'end' });
          subscriber.complete();
        });
      utterance.onerror = ({ error }) => over(() => subscriber.error(failure(error)));
      subscriber.add(() => {
        watchdog.unsubscribe();
        utterance.onstart = utterance.onboundary = utterance.onend = utterance.onerror = null;
        if (!isOver) cancelNativeSpeech(scheduler);
      });
      watch(startTimeoutMs);
      speechSynthesis.speak(utterance);
    });
    return waitMs > 0 ? timer(waitMs, scheduler).pipe(switchMap(() => spoken$)) : spoken$;
  });
}

function failure(error: string): VoiceError {
  const message =
    error === 'not-allowed'
      ? 'the browser speaks only after the user has clicked, tapped or pressed a key: call unlock() in the handler of that'
      : `the browser's voice failed: ${error}`;
  return new VoiceError(`NativeTTS: ${message}`, {
    code: ownEntry(codes, error) ?? 'device',
    recoverable: error !== 'invalid-argument' && error !== 'text-too-long',
    provider: 'NativeTTS',
  });
}
