import {
  asyncScheduler,
  defer,
  EMPTY,
  filter,
  fromEvent,
  interval,
  of,
  race,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { ownEntry } from '../../core/own-entry.ts';
import { merge } from '../../stream/merge.ts';
import { patientTimer } from '../../stream/patient-timer.ts';

/** Interval between checks of the list of voices, in milliseconds: some browsers do not announce it. */
const pollMs = 250;

/** The voice to use, and its language setting. */
export interface NativeVoiceChoice {
  readonly voice: SpeechSynthesisVoice | undefined;
  /** BCP 47. */
  readonly lang: string | undefined;
}

/** The browser's voices, as far as loaded. */
export function nativeVoices(): readonly SpeechSynthesisVoice[] {
  return globalThis.speechSynthesis.getVoices();
}

/** Emits when the browser has voices, or the wait is over. */
export function nativeVoicesKnown$(timeoutMs: number, scheduler: SchedulerLike = asyncScheduler): Observable<unknown> {
  return defer(() => {
    const { speechSynthesis } = globalThis;
    const changes$ = 'addEventListener' in speechSynthesis ? fromEvent(speechSynthesis, 'voiceschanged') : EMPTY;
    const looks$ = merge(of(0), changes$, interval(pollMs, scheduler));
    return race(looks$.pipe(filter(() => nativeVoices().length > 0)), patientTimer(timeoutMs, scheduler));
  });
}

/** The voice by name, else by language, else none: then the browser chooses. */
export function chooseNativeVoice(name: string | undefined, language: string | undefined): NativeVoiceChoice {
  const voice =
    (name === undefined ? undefined : nativeVoiceNamed(name)) ??
    (language === undefined ? undefined : voiceSpeaking(language));
  return { voice, lang: voice ? bcp47(voice.lang) : language };
}

/** The voice of this name, else the first whose name contains it, ignoring case. */
export function nativeVoiceNamed(name: string): SpeechSynthesisVoice | undefined {
  const voices = nativeVoices();
  const wanted = name.toLowerCase();
  return (
    voices.find((voice) => voice.name === name) ?? voices.find((voice) => voice.name.toLowerCase().includes(wanted))
  );
}

function voiceSpeaking(language: string): SpeechSynthesisVoice | undefined {
  // `fi` is not `fil`.
  const wanted = `${language.toLowerCase()}-`;
  const voices = nativeVoices().filter(({ lang }) => `${bcp47(lang).toLowerCase()}-`.startsWith(wanted));
  return voices.find((voice) => voice.default) ?? voices[0];
}

/** The regions of two letters that do not begin their names of three. */
const regions: Readonly<Record<string, string>> = {
  ...{ AUT: 'AT', CHL: 'CL', CHN: 'CN', DNK: 'DK', IRL: 'IE', KOR: 'KR', MEX: 'MX', POL: 'PL', PRT: 'PT' },
  ...{ SWE: 'SE', TUR: 'TR', UKR: 'UA' },
};

/** On Android, Chrome's voices say `en_US`, and Firefox's `eng-USA-f000`. */
function bcp47(lang: string): string {
  const tag = lang.replaceAll('_', '-');
  const [, language, region] = /^([a-z]{3})-([A-Z]{3})\b/.exec(tag) ?? [];
  if (language === undefined || region === undefined) return tag;
  return `${Intl.getCanonicalLocales(language)[0] ?? language}-${ownEntry(regions, region) ?? region.slice(0, 2)}`;
}
