import type { SampleEncoding } from '../pcm.ts';
import { languageOf } from '../languages.ts';
import { meanConfidence, round, Transcriber } from '../transcriber.ts';
import type { Word } from '../transcriber.ts';

interface ChannelSettings {
  readonly channel: number;
  readonly encoding: SampleEncoding;
  readonly sampleRate: number;
  /** What may be said; empty: anything. */
  readonly languages: readonly string[];
  /** Silence that ends an utterance, and its longest duration, in seconds. */
  readonly endpointing: number;
  readonly longest: number;
  /** Takes what the channel has to say. */
  readonly tell: (type: string, data: Record<string, unknown>) => void;
}

/** One channel of a session: its words, and when its utterances end. */
export class EpsilonChannel {
  readonly #settings: ChannelSettings;
  readonly #transcriber: Transcriber;
  #utterance = 0;
  #speaking = false;
  #speechSince = 0;

  constructor(settings: ChannelSettings) {
    this.#settings = settings;
    this.#transcriber = new Transcriber(settings, {
      voice: (at) => this.#voice(at),
      word: () => this.#partial(),
      step: () => this.#step(),
    });
  }

  push(bytes: Uint8Array): void {
    this.#transcriber.push(bytes);
  }

  finish(): void {
    this.#transcriber.finish();
    this.#final();
  }

  #voice(at: number): void {
    if (this.#speaking) return;
    this.#speaking = true;
    this.#speechSince = at;
    this.#settings.tell('speech_start', { time: round(at), channel: this.#settings.channel });
  }

  #partial(): void {
    this.#transcript(false);
  }

  #step(): void {
    const { quiet, now, words } = this.#transcriber;
    const paused = quiet >= this.#settings.endpointing && quiet >= 0.1;
    if (words.length > 0 && (paused || now - this.#speechSince >= this.#settings.longest)) this.#final();
    if (!this.#speaking || !paused) return;
    this.#speaking = false;
    this.#settings.tell('speech_end', { time: round(now - quiet), channel: this.#settings.channel });
  }

  #final(): void {
    if (this.#transcriber.words.length === 0) return;
    this.#transcript(true);
    this.#utterance++;
    this.#speechSince = this.#transcriber.now;
    this.#transcriber.reset();
  }

  #transcript(isFinal: boolean): void {
    const { words } = this.#transcriber;
    const [first] = words;
    const last = words.at(-1);
    if (!first || !last) return;
    const confidence = isFinal ? meanConfidence(words) : 0.62;
    const shown = (each: Word): unknown => ({
      ...{ word: ` ${each.text}`, start: round(each.start), end: round(each.end) },
      confidence: isFinal ? each.confidence : 0.62,
    });
    const text = words.map((word) => ` ${word.text}`).join('');
    const utterance = {
      ...{ text, start: round(first.start), end: round(last.end) },
      ...{
        language: languageOf(text, this.#settings.languages),
        confidence,
        channel: this.#settings.channel,
        words: words.map(shown),
      },
    };
    const id = `0${this.#settings.channel}_${String(this.#utterance).padStart(8, '0')}`;
    this.#settings.tell('transcript', { id, is_final: isFinal, utterance });
  }
}
