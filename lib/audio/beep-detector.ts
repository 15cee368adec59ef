import { toFloat32, type Samples } from './samples.ts';

/** A single steady tone, such as that of an answering machine. */
export interface Beep {
  /** Its pitch, in Hz. */
  readonly frequency: number;
  /** Where it begins, in milliseconds from the start of the audio; accurate to 40 ms. */
  readonly startMs: number;
  /** Where it ends, on the same clock. */
  readonly endMs: number;
}

/** Options of {@link BeepDetector}. */
export interface BeepOptions {
  /** The lowest pitch, in Hz. Default: 400. */
  readonly minHz?: number;
  /** The highest pitch, in Hz. Default: 2,000. */
  readonly maxHz?: number;
  /** The shortest beep, in milliseconds, at least 60. Default: 150. */
  readonly minMs?: number;
  /** The longest beep, in milliseconds: anything longer is a line tone, or music. Default: 3,000. */
  readonly maxMs?: number;
}

/** A block of audio that holds a tone. */
interface Tone {
  readonly hz: number;
  readonly power: number;
}

/** A beep that has ended, unless a voice follows it. */
interface Ended extends Beep {
  readonly power: number;
  readonly blocks: number;
}

const blockMs = 20;
const stepHz = 25;
/** Quieter blocks are silence: -56 dBFS, mean square. */
const minPower = 2.5e-6;
/** The share of a block's power that must be the tone's: tolerates noise 10 dB below it, but not a second tone. */
const minPurity = 0.9;
/** How far a beep's pitch may drift, in Hz or as a fraction of it, whichever is more. Held vowels drift further. */
const maxDriftHz = 3;
const maxDrift = 0.002;
/** How far the power must fall after a beep (8 dB), and within how many blocks: a voice would go on. */
const maxRest = 0.16;
const restBlocks = 2;
/** How much a beep's power may vary from its first whole block on: 1.6 dB. */
const maxChange = 1.45;

/**
 * Finds beeps in mono audio: one steady tone and nothing else, by Goertzel's filter in blocks of 20 ms. Keys (two tones
 * at once), voices, music of several parts and noise are not beeps.
 *
 * @example
 * ```ts
 * import { BeepDetector, decodeSamples } from 'rxvoice/audio';
 *
 * declare const bytes: Uint8Array<ArrayBuffer>;
 *
 * const detector = new BeepDetector(8000);
 * for (const { frequency, endMs } of detector.push(decodeSamples(bytes, 'mulaw'))) console.log(frequency, endMs);
 * ```
 */
export class BeepDetector {
  readonly #sampleRate: number;
  readonly #range: Required<BeepOptions>;
  readonly #block: Float32Array<ArrayBuffer>;
  readonly #window: Float32Array<ArrayBuffer>;
  readonly #weight: number;
  #filled = 0;
  #blocks = 0;
  /** The tones of what may become a beep. */
  #run: readonly Tone[] = [];
  #ended: Ended | undefined;

  /** @param sampleRate - Sample rate of the audio, in Hz: 8,000 or more. */
  constructor(sampleRate: number, { minHz = 400, maxHz = 2_000, minMs = 150, maxMs = 3_000 }: BeepOptions = {}) {
    this.#sampleRate = sampleRate;
    this.#range = { minHz, maxHz, minMs, maxMs };
    const length = Math.round((blockMs / 1000) * sampleRate);
    this.#block = new Float32Array(length);
    this.#window = Float32Array.from({ length }, (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (n + 0.5)) / length));
    const sum = this.#window.reduce((all, each) => all + each, 0);
    const squares = this.#window.reduce((all, each) => all + each * each, 0);
    // For a pure tone, the filter's output times this is its power.
    this.#weight = (2 * squares) / (sum * sum);
  }

  /** Takes more audio; returns the beeps that ended in it. */
  push(samples: Samples): Beep[] {
    const beeps: Beep[] = [];
    for (const sample of toFloat32(samples)) {
      this.#block[this.#filled] = sample;
      this.#filled += 1;
      if (this.#filled < this.#block.length) continue;
      this.#filled = 0;
      const shaped = this.#shaped();
      const power = shaped.reduce((sum, sample) => sum + sample * sample, 0);
      const tone = power < minPower * shaped.length ? undefined : this.#toneOf(shaped, power);
      const beep = this.#isOver(power);
      if (beep) beeps.push(beep);
      this.#follow(tone);
      this.#blocks += 1;
    }
    return beeps;
  }

  /** The beep before this block, if it was one: a beep falls silent at once. */
  #isOver(power: number): Beep | undefined {
    if (!this.#ended) return undefined;
    const { power: before, blocks, ...beep } = this.#ended;
    const isOver = power < before * maxRest;
    this.#ended = isOver || blocks === restBlocks ? undefined : { ...this.#ended, blocks: blocks + 1 };
    return isOver ? beep : undefined;
  }

  /** Takes the next block, a tone or not. */
  #follow(tone: Tone | undefined): void {
    const run = this.#run;
    if (tone && goesOn(run, tone)) {
      // Too long to be a beep: only its pitch still matters.
      if (run.length * blockMs <= this.#range.maxMs) this.#run = [...run, tone];
      return;
    }
    this.#run = tone ? [tone] : [];
    // Whole blocks within a beep: one less than fit.
    const isLong = run.length >= Math.max(2, Math.floor(this.#range.minMs / blockMs) - 1);
    if (!isLong || run.length * blockMs > this.#range.maxMs) return;
    const mean = (of: (tone: Tone) => number): number => run.reduce((sum, each) => sum + of(each), 0) / run.length;
    this.#ended = {
      frequency: mean(({ hz }) => hz),
      startMs: (this.#blocks - run.length) * blockMs,
      endMs: this.#blocks * blockMs,
      power: mean(({ power }) => power),
      // The end of a beep may fill part of a block.
      blocks: 0,
    };
  }

  /** The block without its mean, faded in and out. */
  #shaped(): Float32Array<ArrayBuffer> {
    const mean = this.#block.reduce((sum, sample) => sum + sample, 0) / this.#block.length;
    return this.#block.map((sample, n) => (sample - mean) * (this.#window[n] ?? 0));
  }

  /** The tone of a block, if it holds one. */
  #toneOf(shaped: Float32Array<ArrayBuffer>, total: number): Tone | undefined {
    const { minHz, maxHz } = this.#range;
    let [best, bestHz] = [0, 0];
    for (let hz = minHz - stepHz; hz <= maxHz + stepHz; hz += stepHz) {
      const power = this.#powerAt(shaped, hz);
      if (power > best) [best, bestHz] = [power, hz];
    }
    if (this.#weight * best < (minPurity - 0.05) * total) return undefined;
    // In decibels, the window's main lobe is close to a parabola.
    const [left, middle, right] = [bestHz - stepHz, bestHz, bestHz + stepHz].map((hz) =>
      Math.log(this.#powerAt(shaped, hz) + 1e-12),
    ) as [number, number, number];
    const bend = left - 2 * middle + right;
    const hz = bestHz + (bend < 0 ? ((left - right) / (2 * bend)) * stepHz : 0);
    if (hz < minHz - maxDriftHz || hz > maxHz + maxDriftHz) return undefined;
    const power = this.#weight * this.#powerAt(shaped, hz);
    return power >= minPurity * total ? { hz, power } : undefined;
  }

  /** Goertzel's filter: the power at one frequency. */
  #powerAt(samples: Float32Array<ArrayBuffer>, hz: number): number {
    const factor = 2 * Math.cos((2 * Math.PI * hz) / this.#sampleRate);
    let [last, before] = [0, 0];
    for (const sample of samples) [last, before] = [sample + factor * last - before, last];
    return last * last + before * before - factor * last * before;
  }
}

/** Whether a tone continues the earlier ones: the same pitch, and as loud. */
function goesOn(run: readonly Tone[], { hz, power }: Tone): boolean {
  const [first] = run;
  if (!first) return true;
  // The first block may hold only the beginning of it.
  const [reference] = run.slice(1, 2);
  const change = power / (reference ?? { power }).power;
  const drift = Math.max(maxDriftHz, first.hz * maxDrift);
  return Math.abs(hz - first.hz) <= drift && change < maxChange && change > 1 / maxChange;
}
