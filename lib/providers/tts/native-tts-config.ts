import type { SchedulerLike } from 'rxjs';

/** Configuration of `NativeTTS`. */
export interface NativeTTSConfig {
  /** Name of the voice, or part of it. Default: the browser's choice. */
  readonly voiceName?: string;
  /** BCP 47: language of the voice if no name matches, and of the text. Default: the voice's, else the browser's. */
  readonly voiceLang?: string;
  /** Speed, 0.1 to 10; 1 is the voice's own. Default: 1. */
  readonly rate?: number;
  /** Semitones, -20 to 20. Default: 0. */
  readonly pitch?: number;
  /** Longest wait in `initialize()` for the browser's list of voices, in milliseconds. Default: 2,000. */
  readonly voicesTimeoutMs?: number;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}
