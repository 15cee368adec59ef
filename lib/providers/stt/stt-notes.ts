import type { Translation } from '../../core/roles.ts';

/** A translation of what was said. It comes after the words, a final one often after their utterance. */
export interface SpeechTranslation extends Translation {
  /** Whether it will not change anymore. */
  readonly isFinal: boolean;
  /** Where the words that it translates begin and end, in milliseconds from the start of the audio. */
  readonly startMs?: number;
  readonly endMs?: number;
  readonly speaker?: string;
}

/** A sound that is not speech. */
export interface SoundEvent {
  readonly type: 'started' | 'ended';
  /** The service's name for it, such as `music`. */
  readonly sound: string;
  /** Where it started or ended, in milliseconds from the start of the audio. */
  readonly positionMs?: number;
  /** 0 to 1; of a start. */
  readonly confidence?: number;
}

/** What a service tells besides its results. */
export type STTNote =
  | { readonly type: 'translation'; readonly translation: SpeechTranslation }
  | { readonly type: 'sound'; readonly event: SoundEvent };
