/**
 * A telephone's keys, for sound that goes through a browser's calls: WebRTC stretches, shortens and conceals, which words
 * of the modem do not survive.
 */
import type { TranscriberListener, Word } from './transcriber.ts';

const rows = [697, 770, 852, 941];
const columns = [1209, 1336, 1477, 1633];
const keys = '123A456B789C*0#D';
const toneMs = 160;
const pauseMs = 120;
/** How long a key takes, in milliseconds. */
export const keyMs: number = toneMs + pauseMs;

/**
 * Keys of a telephone as mono samples; a space is a pause. A browser that plays a call conceals what came too late, and stretches or shortens
 * the rest to have its reserve again: that damages a tone of the modem's 25 ms, but takes none of these away.
 */
export function dial(number: string, rate: number): Float32Array<ArrayBuffer> {
  const length = (ms: number): number => Math.round((ms / 1000) * rate);
  const samples = new Float32Array(number.length * length(toneMs + pauseMs));
  [...number].forEach((key, index) => {
    const at = keys.indexOf(key);
    if (at < 0) return;
    const frequencies = [rows[at >> 2] ?? 0, columns[at & 3] ?? 0];
    for (let n = 0; n < length(toneMs); n++) {
      const edge = Math.min(1, n / length(5), (length(toneMs) - n) / length(5));
      const value = frequencies.reduce((sum, hz) => sum + Math.sin((2 * Math.PI * hz * n) / rate), 0);
      samples[index * length(toneMs + pauseMs) + n] = 0.3 * edge * value;
    }
  });
  return samples;
}

function powerOf(part: Float32Array, hz: number, rate: number): number {
  let [real, imaginary] = [0, 0];
  part.forEach((sample, n) => {
    real += sample * Math.cos((2 * Math.PI * hz * n) / rate);
    imaginary += sample * Math.sin((2 * Math.PI * hz * n) / rate);
  });
  return (2 * (real ** 2 + imaginary ** 2)) / part.length;
}

/** The key that sounds in 30 ms; empty for none. */
function keyOf(part: Float32Array, rate: number): string {
  const energy = part.reduce((sum, sample) => sum + sample ** 2, 0);
  const [rowPowers, columnPowers] = [rows, columns].map((tones) => tones.map((hz) => powerOf(part, hz, rate)));
  const [row, column] = [Math.max(...(rowPowers ?? [])), Math.max(...(columnPowers ?? []))];
  const isKey = energy > part.length * 1e-4 && row + column > 0.6 * energy && Math.min(row, column) > 0.1 * energy;
  return isKey ? (keys[(rowPowers?.indexOf(row) ?? 0) * 4 + (columnPowers?.indexOf(column) ?? 0)] ?? '') : '';
}

/** The keys that sound in mono samples, each for at least 50 ms; one that goes on, or comes again, counts once. */
export function dialled(samples: Float32Array, rate: number): string {
  const hop = Math.round(rate / 100);
  const window = 3 * hop;
  let number = '';
  let run = '';
  for (let at = 0; at + window <= samples.length; at += hop) {
    const key = keyOf(samples.subarray(at, at + window), rate);
    run = key !== '' && run.startsWith(key) ? run + key : key;
    if (run.length === 3 && !number.endsWith(key)) number += key;
  }
  return number;
}

/** Whether a text can be dialled: keys, and spaces for pauses. */
export const isNumber = (text: string): boolean => /^[\dA-D*# ]+$/.test(text);

/** Hears keys as they come, as a {@link Transcriber} hears the modem: one word for all up to a `reset()`. */
export class KeyEar {
  readonly #rate: number;
  readonly #listener: TranscriberListener;
  #samples: Float32Array = new Float32Array(0);
  #heard = 0;
  #lastSound = Number.NEGATIVE_INFINITY;
  #number = '';
  #run = '';

  constructor(rate: number, listener: TranscriberListener) {
    this.#rate = rate;
    this.#listener = listener;
  }

  /** Seconds of audio heard. */
  get now(): number {
    return this.#heard / this.#rate;
  }

  /** Seconds since the last key; infinite before any. */
  get quiet(): number {
    return this.now - this.#lastSound;
  }

  get words(): readonly Word[] {
    return this.#number ? [{ text: this.#number, start: 0, end: this.now, confidence: 1 }] : [];
  }

  /** Takes linear16. */
  push(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const samples = Float32Array.from({ length: bytes.length >> 1 }, (_, at) => view.getInt16(2 * at, true) / 32_768);
    const all = new Float32Array(this.#samples.length + samples.length);
    all.set(this.#samples);
    all.set(samples, this.#samples.length);
    const hop = Math.round(this.#rate / 100);
    let at = 0;
    for (; at + 3 * hop <= all.length; at += hop) {
      this.#heard += hop;
      this.#step(keyOf(all.subarray(at, at + 3 * hop), this.#rate));
    }
    this.#samples = all.slice(at);
  }

  finish(): void {
    this.#run = '';
  }

  reset(): void {
    this.#number = '';
  }

  #step(key: string): void {
    this.#run = key !== '' && this.#run.startsWith(key) ? this.#run + key : key;
    if (this.#run.length >= 3) this.#lastSound = this.now;
    if (this.#run.length === 3) {
      this.#number += this.#number.endsWith(key) ? '' : key;
      this.#listener.character?.();
    }
    this.#listener.step?.();
  }
}
