import type { TranscriptionResult } from '../../core/roles.ts';
import type { NativeRecognitionEvents, NativeResult } from './native-recognition.ts';

/** A final that says again what the one before it said, so soon after it, is no other one: milliseconds. */
const repeatMs = 250;

/** What {@link NativeResults} needs to know. */
export interface NativeResultsOptions {
  /** BCP 47, for the results. */
  readonly language: string;
  /** Whether finals without confidence are interims, as on Android. */
  readonly distrustsFinals: boolean;
  readonly now: () => number;
  readonly newId: () => string;
}

/**
 * Makes results of what the recognizer's sessions say: finals once, interims joined, and an interim whose final never
 * comes made final.
 */
export class NativeResults {
  readonly #options: NativeResultsOptions;
  #id: string;
  /** Words of the pending text that were made final before the recognizer did. */
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

  /** What a `result` event says that is new. */
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

  /** Makes the words that wait for their final final. */
  promote(): TranscriptionResult | undefined {
    const text = this.#pending;
    if (!text) return undefined;
    this.#pending = '';
    this.#promoted += wordsOf(text).length;
    return this.#final(text);
  }

  /** A session has ended: what follows counts from 0 again. */
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

  /** A text without the words that were promoted. */
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
      ...{ text, isFinal, utteranceComplete: isFinal, isPreflight: false, utteranceId: this.#id },
      // 0 stands for unknown.
      ...(best && best.confidence > 0 && { confidence: best.confidence }),
      metadata: { language: this.#options.language, ...(alternatives.length > 0 && { alternatives }) },
    };
  }
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}
