import { BehaviorSubject } from 'rxjs';

/** Whether the browser's own voice speaks: what a recognizer that hears the loudspeaker must know. */
export const nativeVoiceSpeaks$: BehaviorSubject<boolean> = /* @__PURE__ */ new BehaviorSubject<boolean>(false);

/** Whether the page runs on Android, whose browsers keep less of the Web Speech API's promises. */
export function isAndroid(): boolean {
  return 'navigator' in globalThis && /Android/i.test(navigator.userAgent);
}
