import { damaged, ModemDecoder } from './modem.ts';
import { readWav, SampleReader } from './pcm.ts';
import type { SampleEncoding } from './pcm.ts';

/** A word that the transcriber made out. Times are seconds of the audio that it was given. */
export interface Word {
  /** As it was said: with its case and punctuation. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** 0 to 1: low where the audio was damaged. */
  readonly confidence: number;
}

/** The raw format of the audio that comes. */
export interface AudioSettings {
  readonly encoding: SampleEncoding;
  readonly sampleRate: number;
  readonly channels?: number;
}

/** What a transcriber tells its service, in the order of the audio. */
export interface TranscriberListener {
  /** Sound after silence, at a time in seconds. */
  voice?(at: number): void;
  /** A character was added to `words`. */
  character?(): void;
  /** A word is complete: a space or a pause of 100 ms came after it. */
  word?(): void;
  /** Every 10 ms of audio. */
  step?(): void;
}

const none = new Int16Array(0);
/** Silence that ends a word, in seconds. */
const wordBreak = 0.1;
const stepSeconds = 0.01;

/**
 * Decodes the modem's voice as a speech-to-text service hears it: words as they come, and the silence since. All times
 * are times of the audio, however fast it arrives and however it is cut into messages.
 */
export class Transcriber {
  readonly #reader: SampleReader;
  readonly #decoder: ModemDecoder;
  readonly #rate: number;
  readonly #listener: TranscriberListener;
  #pending: Int16Array = none;
  #steps = 0;
  #words: Word[] = [];
  #open: Word | undefined;

  constructor({ encoding, sampleRate, channels = 1 }: AudioSettings, listener: TranscriberListener) {
    this.#reader = new SampleReader(encoding, channels);
    this.#decoder = new ModemDecoder(sampleRate);
    this.#rate = sampleRate;
    this.#listener = listener;
  }

  /** Seconds of audio heard. */
  get now(): number {
    return this.#decoder.position / this.#rate;
  }

  /** Seconds since the last sound; infinite before any. */
  get quiet(): number {
    return this.now - this.#decoder.lastSound / this.#rate;
  }

  /** The complete words since the last `reset()`. */
  get words(): readonly Word[] {
    return this.#words;
  }

  push(bytes: Uint8Array): void {
    const samples = this.#reader.read(bytes);
    const all = this.#pending.length === 0 ? samples : new Int16Array(this.#pending.length + samples.length);
    if (all !== samples) {
      all.set(this.#pending);
      all.set(samples, this.#pending.length);
    }
    // A listener may end the utterance in the middle of it.
    this.#pending = none;
    let from = 0;
    for (;;) {
      const length = this.#nextStep() - this.#decoder.position;
      if (from + length > all.length) break;
      this.#step(all.subarray(from, from + length));
      from += length;
    }
    this.#pending = all.slice(from);
  }

  /** Hears what is left, and ends the last word. */
  finish(): void {
    const rest = this.#pending;
    this.#pending = none;
    if (rest.length > 0) this.#step(rest);
    this.#closeWord();
  }

  /** Forgets the words up to now. */
  reset(): void {
    this.#words = [];
  }

  #nextStep(): number {
    return Math.round((this.#steps + 1) * stepSeconds * this.#rate);
  }

  #step(samples: Int16Array): void {
    this.#steps++;
    for (const event of this.#decoder.push(samples)) {
      if (event.type === 'voice') this.#listener.voice?.(event.at / this.#rate);
      if (event.type === 'character') this.#add(event.character, event.start / this.#rate, event.end / this.#rate);
    }
    if (this.#open && this.quiet >= wordBreak) this.#closeWord();
    this.#listener.step?.();
  }

  #add(character: string, start: number, end: number): void {
    if (/\s/.test(character)) {
      this.#closeWord();
      return;
    }
    if (this.#open && start - this.#open.end >= wordBreak) this.#closeWord();
    const text = (this.#open?.text ?? '') + character;
    this.#open = { text, start: this.#open?.start ?? start, end, confidence: text.includes(damaged) ? 0.35 : 0.99 };
    this.#listener.character?.();
  }

  #closeWord(): void {
    if (!this.#open) return;
    this.#words.push(this.#open);
    this.#open = undefined;
    this.#listener.word?.();
  }
}

/** The words joined to a sentence. */
export function sentence(words: readonly Word[]): string {
  return words.map(({ text }) => text).join(' ');
}

/** Mean confidence of some words; 0 for none. */
export function meanConfidence(words: readonly Word[]): number {
  if (words.length === 0) return 0;
  return round(words.reduce((sum, { confidence }) => sum + confidence, 0) / words.length);
}

/** A time or a confidence as services print it. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** A word without case and punctuation, as services print it that were not asked for either. */
export function plain(text: string): string {
  return text.toLowerCase().replace(/^[^\p{L}\p{N}\uFFFD]+|[^\p{L}\p{N}\uFFFD]+$/gu, '') || text.toLowerCase();
}

/**
 * The format of a recording that says so itself: a WAV file.
 *
 * @returns `undefined` when the bytes are no WAV file that the sandbox can read.
 */
export function sniffWav(head: Uint8Array): { settings: AudioSettings; samples: Uint8Array<ArrayBuffer> } | undefined {
  const wav = readWav(head);
  if (!wav) return undefined;
  const view = new Uint8Array(wav.samples.buffer, wav.samples.byteOffset, wav.samples.byteLength);
  return { settings: { encoding: 'linear16', sampleRate: wav.sampleRate }, samples: view };
}
