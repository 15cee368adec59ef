/** The quietest and the loudest that noise is assumed to be, in dB below full scale. */
const quietestDb = -66;
const loudestDb = -20;
/** How far above the noise a frame is as likely voiced as not, in dB; hiss needs more. */
const voiceDb = 8;
const hissDb = 14;
/** How long the noise is remembered: a voice has a pause within that time, a fan does not. */
const memoryMs = 1_800;
/** Changes of sign, in relation to the sample rate up to 16 kHz, from which a sound is hiss and not a vowel. */
const hissRate = 0.35;

/**
 * Estimates how likely it is that a frame of audio is voiced, from its energy above the noise and how often it crosses
 * zero. The noise level is the quietest of the last seconds, so that a fan or a line's hum soon counts as silence. One
 * channel; its only state is the noise level.
 */
export class EnergyDetector {
  readonly #sampleRate: number;
  readonly #minima: number[] = [];
  readonly #bucketMs = memoryMs / 6;
  #bucketFilledMs: number = 0;
  #floorDb: number | undefined;
  #levelDb: number = quietestDb;

  /** @param sampleRate - Hz, 8,000 or more. */
  constructor(sampleRate: number) {
    this.#sampleRate = sampleRate;
  }

  /** The level of the noise, in dB below full scale. */
  get floorDb(): number {
    return Math.min(loudestDb, Math.max(quietestDb, this.#floorDb ?? quietestDb));
  }

  /**
   * Takes the next frame, of 10 to 30 ms.
   *
   * @param samples - Floats, full scale at 1.
   * @returns The likelihood that it is voiced, 0 to 1.
   */
  push(samples: Float32Array): number {
    const { length } = samples;
    if (length === 0) return 0;
    let [sum, energy, crossings] = [0, 0, 0];
    for (let at = 0; at < length; at++) sum += samples[at] ?? 0;
    // A constant offset is inaudible.
    const offset = sum / length;
    let before = (samples[0] ?? 0) - offset;
    for (let at = 0; at < length; at++) {
      const sample = (samples[at] ?? 0) - offset;
      energy += sample * sample;
      if (sample < 0 !== before < 0) crossings++;
      before = sample;
    }
    const db = energy > 0 ? 10 * Math.log10(energy / length) : -Infinity;
    const ms = (length * 1_000) / this.#sampleRate;
    const hiss = (hissRate * Math.min(this.#sampleRate, 16_000) * ms) / 1_000;
    const aboveDb = db - this.floorDb - (crossings > hiss ? hissDb : voiceDb);
    this.#remember(Math.max(quietestDb, db), ms);
    return 1 / (1 + Math.exp(-aboveDb / 2));
  }

  /** The floor is the quietest moment of the last seconds, smoothed against single dips. */
  #remember(db: number, ms: number): void {
    this.#levelDb = this.#floorDb === undefined ? db : this.#levelDb + (db - this.#levelDb) * Math.min(1, ms / 40);
    const newest = this.#minima.length - 1;
    this.#bucketFilledMs += ms;
    if (newest < 0 || this.#bucketFilledMs > this.#bucketMs) {
      this.#minima.push(this.#levelDb);
      if (this.#minima.length > 6) this.#minima.shift();
      this.#bucketFilledMs = 0;
    } else {
      this.#minima[newest] = Math.min(this.#minima[newest] ?? Infinity, this.#levelDb);
    }
    this.#floorDb = Math.min(...this.#minima);
  }
}
