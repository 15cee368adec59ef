import { encodeText } from './modem.ts';
import { writeSamples } from './pcm.ts';
import type { SampleEncoding } from './pcm.ts';
import type { Timers } from './timers.ts';

/** How a talker speaks. */
export interface TalkerOptions {
  readonly encoding: SampleEncoding;
  readonly sampleRate: number;
  /** Length of one piece of audio, in milliseconds. */
  readonly chunkMs: number;
  /** Multiple of real time at which pieces come; 0 is as fast as it goes. */
  readonly realtimeFactor: number;
  readonly timers: Timers;
  readonly send: (bytes: Uint8Array<ArrayBuffer>) => void;
}

/** Speaks texts one after the other, in pieces, as a streaming text-to-speech service does. */
export class Talker {
  readonly #options: TalkerOptions;
  readonly #queue: (string | (() => void))[] = [];
  #generation = 0;
  #running = false;

  constructor(options: TalkerOptions) {
    this.#options = options;
  }

  /** Whether something is being said or waits to be. */
  get busy(): boolean {
    return this.#running;
  }

  /** Says a text after all that was said before. */
  say(text: string): void {
    this.#queue.push(text);
    this.#start();
  }

  /** Runs once everything said before has been sent; never, when that is cleared. */
  afterwards(action: () => void): void {
    this.#queue.push(action);
    this.#start();
  }

  /** Falls silent at once and forgets what waits. */
  clear(): void {
    this.#generation++;
    this.#queue.length = 0;
    this.#running = false;
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run(this.#generation);
  }

  async #run(generation: number): Promise<void> {
    const { encoding, sampleRate, chunkMs, realtimeFactor, timers, send } = this.#options;
    const isOver = (): boolean => generation !== this.#generation;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (typeof next === 'function') {
        next();
        if (isOver()) return;
        continue;
      }
      const samples = encodeText(next, sampleRate);
      const length = Math.round((chunkMs / 1000) * sampleRate);
      for (let at = 0; at < samples.length; at += length) {
        const piece = samples.subarray(at, at + length);
        await timers.sleep(realtimeFactor > 0 ? ((piece.length / sampleRate) * 1000) / realtimeFactor : 0);
        if (isOver()) return;
        send(writeSamples(piece, encoding));
      }
    }
    this.#running = false;
  }
}
