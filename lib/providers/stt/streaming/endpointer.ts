import { durationMs, frameBytes, type PcmFormat } from '../../../audio/formats.ts';
import { rmsLevel } from '../../../audio/levels.ts';
import { PcmCarry } from '../../../audio/pcm-carry.ts';
import { decodeSamples } from '../../../audio/samples.ts';

/** Loudness from which audio counts as voice: -40 dBFS. */
const voiceLevel = 0.01;

/** Voice that is more than a click, in milliseconds. */
const leastVoiceMs = 100;

/** Finds the silence after a voice, for services that leave that to their clients. Times are of the audio. */
export class Endpointer {
  readonly #format: PcmFormat;
  readonly #silenceMs: number;
  readonly #carry: PcmCarry;
  #voiceMs: number = 0;
  #quietMs: number = 0;

  /** @param silenceMs - Silence that ends a voice, in milliseconds. */
  constructor(format: PcmFormat, silenceMs: number) {
    this.#format = format;
    this.#silenceMs = silenceMs;
    this.#carry = new PcmCarry(frameBytes(format));
  }

  /** Whether a voice was heard, and no end of it yet. */
  get isVoiced(): boolean {
    return this.#voiceMs >= leastVoiceMs;
  }

  /** Hears audio, cut anywhere; true when a voice has ended in it. */
  push(data: Uint8Array<ArrayBuffer>): boolean {
    const samples = this.#carry.push(data);
    const ms = durationMs(samples.length, this.#format);
    if (ms === 0) return false;
    if (rmsLevel(decodeSamples(samples, this.#format.encoding)) >= voiceLevel) {
      this.#voiceMs += ms;
      this.#quietMs = 0;
      return false;
    }
    this.#quietMs += ms;
    if (this.#quietMs < this.#silenceMs) return false;
    const hasEnded = this.isVoiced;
    this.reset();
    return hasEnded;
  }

  /** Forgets the voice: its end was told by somebody else. */
  reset(): void {
    this.#voiceMs = 0;
    this.#quietMs = 0;
  }
}
