import { BehaviorSubject } from 'rxjs';

/** Whether the browser's own voice speaks: what a recognizer that hears the loudspeaker must know. */
export const nativeVoiceSpeaks$: BehaviorSubject<boolean> = /* @__PURE__ */ new BehaviorSubject<boolean>(false);

/** Whether the page runs on Android, whose browsers keep less of the Web Speech API's promises. */
export function isAndroid(): boolean {
  return 'navigator' in globalThis && /Android/i.test(navigator.userAgent);
}

/**
 * Whether a pause of the browser's voice is its end: on Android that of the utterance, on Linux (Speech Dispatcher) that of
 * the voice, which then says nothing more until the system restarts it. A remote voice does not know of pauses.
 */
export function breaksWhenPaused(voice: SpeechSynthesisVoice | undefined): boolean {
  return voice?.localService === false || ('navigator' in globalThis && /Android|Linux/i.test(navigator.userAgent));
}
