/** One alternative of a result (W3C Web Speech API). */
export interface NativeAlternative {
  readonly transcript: string;
  /** 0 to 1. */
  readonly confidence: number;
}

/** One result: its alternatives, best first. */
export interface NativeResult extends ArrayLike<NativeAlternative> {
  readonly isFinal: boolean;
}

/** The events of a recognizer, and their payloads. */
export interface NativeRecognitionEvents {
  readonly start: object;
  readonly speechstart: object;
  readonly speechend: object;
  readonly result: { readonly resultIndex: number; readonly results: ArrayLike<NativeResult> };
  readonly error: { readonly error: string };
  readonly end: object;
}

/** The browser's recognizer (W3C Web Speech API); missing from TypeScript's DOM types. */
export interface NativeRecognition {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  maxAlternatives: number;
  processLocally?: boolean;
  phrases?: unknown;
  start(track?: MediaStreamTrack): void;
  stop(): void;
  abort(): void;
  addEventListener<T extends keyof NativeRecognitionEvents>(
    type: T,
    listener: (event: NativeRecognitionEvents[T]) => void,
  ): void;
  removeEventListener<T extends keyof NativeRecognitionEvents>(
    type: T,
    listener: (event: NativeRecognitionEvents[T]) => void,
  ): void;
}

interface SpeechGlobals {
  readonly SpeechRecognition?: new () => NativeRecognition;
  readonly webkitSpeechRecognition?: new () => NativeRecognition;
  readonly SpeechRecognitionPhrase?: new (phrase: string, boost: number) => unknown;
}

/** The browser's recognizer, if it has one. */
export function nativeRecognizer(): (new () => NativeRecognition) | undefined {
  const { SpeechRecognition, webkitSpeechRecognition } = globalThis as SpeechGlobals;
  return SpeechRecognition ?? webkitSpeechRecognition;
}

/** Phrases in the recognizer's form; empty where unsupported. */
export function nativePhrases(phrases: readonly NativePhrase[]): readonly unknown[] | undefined {
  const { SpeechRecognitionPhrase } = globalThis as SpeechGlobals;
  return SpeechRecognitionPhrase && phrases.map(({ phrase, boost = 1 }) => new SpeechRecognitionPhrase(phrase, boost));
}

/** A phrase that is likely to be said. */
export interface NativePhrase {
  /** The words. */
  readonly phrase: string;
  /** How strongly to favor it, 0 to 10. Default: 1. */
  readonly boost?: number;
}
