import { durationMs, isPcmLike, type PcmFormat } from '../../../audio/formats.ts';
import { rmsLevel } from '../../../audio/levels.ts';
import { decodeSamples } from '../../../audio/samples.ts';

/** Loudness from which audio counts as voice: -40 dBFS. */
const voiceLevel = 0.01;

/** The share of the limit that passes before anything is measured: a live service answers long before. */
const unmeasured = 0.25;

/** Counts the voice that a service was sent and has not answered, in audio time (RELIABILITY.md, F10). */
export class VoiceWatch {
  #unansweredMs: number = 0;
  #alarms: number = 0;

  /** How often in a row it was too much. */
  get alarms(): number {
    return this.#alarms;
  }

  /** Audio was sent; true when the voice in it makes more than `limitMs` without an answer. */
  sent(frames: readonly Uint8Array<ArrayBuffer>[], format: PcmFormat, limitMs: number): boolean {
    if (!isPcmLike(format.encoding)) return false;
    for (const frame of frames) {
      const isEarly = this.#unansweredMs < limitMs * unmeasured;
      if (isEarly || rmsLevel(decodeSamples(frame, format.encoding)) >= voiceLevel) {
        this.#unansweredMs += durationMs(frame.length, format);
      }
    }
    if (this.#unansweredMs < limitMs) return false;
    this.#unansweredMs = 0;
    this.#alarms += 1;
    return true;
  }

  /** The service has said something. */
  answered(): void {
    this.#unansweredMs = 0;
    this.#alarms = 0;
  }

  /** Another connection has not been asked anything yet. */
  restart(): void {
    this.#unansweredMs = 0;
  }
}
