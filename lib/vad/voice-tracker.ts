import type { VoiceActivity } from '../core/roles.ts';

/** When a voice starts and ends, in milliseconds of audio. */
export interface VoiceTrackerOptions {
  /** Likelihood from which a frame is voiced, 0 to 1. Default: 0.5. */
  readonly enterAt?: number;
  /** Voiced time after which a voice has started. Default: 60. */
  readonly enterMs?: number;
  /** Voiced time after which it is certainly a voice, and not a cough or a click. Default: 200. */
  readonly confirmMs?: number;
  /** Likelihood below which a frame of a voice is unvoiced, 0 to 1. Default: 0.35. */
  readonly leaveAt?: number;
  /** Unvoiced time after which a voice has ended. Default: 250. */
  readonly leaveMs?: number;
}

/** A voice, or what may become one. */
interface Voice {
  /** Where it started. */
  readonly sinceMs: number;
  /** How much of it was voiced. */
  readonly voicedMs: number;
  /** Whether it counts as started. */
  readonly isOn: boolean;
  readonly isConfirmed: boolean;
}

/**
 * Turns the likelihood that each frame is voiced into starts and ends of voices: the part of a detector that comes
 * after its model. Use it with a model of your own.
 */
export class VoiceTracker {
  readonly #options: Required<VoiceTrackerOptions>;
  #positionMs: number = 0;
  #voice: Voice | undefined;
  /** The end of the last voiced frame. */
  #voicedUntilMs: number = 0;

  constructor(options: VoiceTrackerOptions = {}) {
    const { enterAt = 0.5, enterMs = 60, confirmMs = 200, leaveAt = 0.35, leaveMs = 250 } = options;
    this.#options = { enterAt, enterMs, confirmMs, leaveAt, leaveMs };
  }

  /** Milliseconds of audio so far. */
  get positionMs(): number {
    return this.#positionMs;
  }

  /**
   * Takes the next frame.
   *
   * @param likelihood - That it is voiced, 0 to 1.
   * @param ms - Its length.
   * @returns What happened by its end, if anything.
   */
  push(likelihood: number, ms: number): VoiceActivity | undefined {
    const { enterAt, enterMs, confirmMs, leaveAt, leaveMs } = this.#options;
    const startMs = this.#positionMs;
    this.#positionMs += ms;
    const voice = this.#voice;
    // Frames whose lengths add up to a limit only but for rounding have reached it.
    const reaches = (durationMs: number, limitMs: number): boolean => durationMs >= limitMs - 1e-6;
    if (!voice?.isOn) {
      if (likelihood < enterAt) {
        this.#voice = undefined;
        return undefined;
      }
      const { sinceMs } = voice ?? { sinceMs: startMs };
      const voicedMs = this.#positionMs - sinceMs;
      const isOn = reaches(voicedMs, enterMs);
      this.#voice = { sinceMs, voicedMs, isOn, isConfirmed: false };
      this.#voicedUntilMs = this.#positionMs;
      return isOn ? { type: 'started', positionMs: sinceMs } : undefined;
    }
    const { sinceMs, isConfirmed } = voice;
    if (likelihood >= leaveAt) {
      this.#voicedUntilMs = this.#positionMs;
      if (isConfirmed) return undefined;
      // A gap is no voice: two clicks are not a word.
      const voicedMs = voice.voicedMs + ms;
      const isLongEnough = reaches(voicedMs, confirmMs);
      this.#voice = { ...voice, voicedMs, isConfirmed: isLongEnough };
      return isLongEnough ? { type: 'confirmed', positionMs: sinceMs } : undefined;
    }
    if (!reaches(this.#positionMs - this.#voicedUntilMs, leaveMs)) return undefined;
    return this.end(isConfirmed);
  }

  /** Ends a voice in progress, for example when the audio ends. */
  end(isConfirmed: boolean = this.#voice?.isConfirmed ?? false): VoiceActivity | undefined {
    const isOn = this.#voice?.isOn ?? false;
    this.#voice = undefined;
    return isOn ? { type: 'ended', positionMs: this.#voicedUntilMs, isBrief: !isConfirmed } : undefined;
  }
}
