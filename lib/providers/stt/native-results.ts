import type { TranscriptionResult } from '../../core/roles.ts';
import type { NativeRecognitionEvents, NativeResult } from './native-recognition.ts';

/** A final that repeats the one before within this time is a duplicate, in milliseconds. */
const repeatMs = 250;

/** Options of {@link NativeResults}. */
export interface NativeResultsOptions {
  /** BCP 47, for the results. */
  readonly language: () => string;
  /** Whether finals without confidence are really interims, as on Android. */
  readonly distrustsFinals: boolean;
  readonly now: () => number;
  readonly newId: () => string;
}

/**
 * Converts the recognizer's results: each final once, interims joined, and an interim whose final never arrives
 * promoted to final.
 */
export class NativeResults {
  readonly #options: NativeResultsOptions;
  #id: string;
  /** Words of the pending text that were promoted to final before the recognizer did so. */
  #promoted = 0;
  /** The pending text, without what was promoted. */
  #pending = '';
  #lastFinal = { text: '', at: -Infinity };

  constructor(options: NativeResultsOptions) {
    this.#options = options;
    this.#id = options.newId();
  }

  /** Whether there are words that are not final. */
  get isPending(): boolean {
    return this.#pending !== '';
  }

  /** Returns what is new in a `result` event. */
  read({ resultIndex, results }: NativeRecognitionEvents['result']): TranscriptionResult[] {
    const said: TranscriptionResult[] = [];
    const interims: string[] = [];
    for (let index = resultIndex; index < results.length; index++) {
      const result = results[index];
      const best = result?.[0];
      if (!result || !best) continue;
      if (!this.#isFinal(result)) {
        interims.push(best.transcript);
        continue;
      }
      const text = this.#rest(best.transcript);
      this.#promoted = Math.max(0, this.#promoted - wordsOf(best.transcript).length);
      this.#pending = '';
      if (text && !this.#isRepeated(text)) said.push(this.#final(text, result));
    }
    const pending = this.#rest(interims.join(' '));
    if (interims.length === 0) return said;
    if (pending && pending !== this.#pending) said.push(this.#result(pending, false));
    this.#pending = pending;
    return said;
  }

  /** Promotes pending words to final. */
  promote(): TranscriptionResult | undefined {
    const text = this.#pending;
    if (!text) return undefined;
    this.#pending = '';
    this.#promoted += wordsOf(text).length;
    return this.#final(text);
  }

  /** Ends a session: the next one's results are numbered from 0. */
  endSession(): TranscriptionResult | undefined {
    const result = this.promote();
    this.#promoted = 0;
    return result;
  }

  #isFinal(result: NativeResult): boolean {
    return result.isFinal && !(this.#options.distrustsFinals && result[0]?.confidence === 0);
  }

  #isRepeated(text: string): boolean {
    return text === this.#lastFinal.text && this.#options.now() - this.#lastFinal.at < repeatMs;
  }

  /** A text without the promoted words. */
  #rest(text: string): string {
    return wordsOf(text).slice(this.#promoted).join(' ');
  }

  #final(text: string, result?: NativeResult): TranscriptionResult {
    this.#lastFinal = { text, at: this.#options.now() };
    const final = this.#result(text, true, result);
    this.#id = this.#options.newId();
    return final;
  }

  #result(text: string, isFinal: boolean, result?: NativeResult): TranscriptionResult {
    const [best, ...others] = Array.from(result ?? []);
    const alternatives = others.map(({ transcript, confidence }) => ({ text: transcript.trim(), confidence }));
    return {
      text,
      isFinal,
      utteranceComplete: isFinal,
      isPreflight: false,
      utteranceId: this.#id,
      // 0 means unknown.
      ...(best && best.confidence > 0 && { confidence: best.confidence }),
      metadata: { language: this.#options.language(), ...(alternatives.length > 0 && { alternatives }) },
    };
  }
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}
