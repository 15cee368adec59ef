import type { OperatorFunction } from 'rxjs';
import type { TranscriptionResult } from '../core/roles.ts';
import { incremental, type IncrementalStage } from '../stream/incremental.ts';
import { FinishedUtterances } from './finished-utterances.ts';

/** A speaker's complete utterance. */
export interface Utterance {
  readonly text: string;
  /** The result that completed it. */
  readonly result: TranscriptionResult;
}

/**
 * Assembles whole utterances from a speech-to-text service's results: finals are kept until the service reports that
 * the utterance is complete.
 *
 * Results of a finished utterance are dropped: late ones by its id, repeated ones (from a service that reconnected and
 * heard the same audio again) by their id, or by the same text at the same time. Utterances without words are dropped.
 * When the source completes, words that are final but not complete form a last utterance; an error passes at once and
 * drops them.
 *
 * ```text
 * source          -i-f-j-c--c-d-|    i, j: interim; f: "book a", final
 *                                    c: "flight", complete, comes twice
 *                                    d: "please", complete
 * utterances()    -------u----v-|    u: "book a flight", v: "please"
 * ```
 *
 * @example
 * ```ts
 * import { of } from 'rxjs';
 * import { utterances } from 'rxvoice/operators';
 *
 * const interim = { text: 'book a', isFinal: false, utteranceComplete: false, isPreflight: false };
 * const whole = { text: 'Book a flight.', isFinal: true, utteranceComplete: true, isPreflight: false };
 * of(interim, whole).pipe(utterances()).subscribe(({ text }) => console.log(text)); // Book a flight.
 * ```
 */
export function utterances(): OperatorFunction<TranscriptionResult, Utterance> {
  return incremental(() => new UtteranceMerger());
}

class UtteranceMerger implements IncrementalStage<TranscriptionResult, Utterance> {
  /** The latest final result of each incomplete utterance; services without ids have one at a time. */
  readonly #open = new Map<string | undefined, TranscriptionResult>();
  readonly #finished = new FinishedUtterances();

  push(result: TranscriptionResult): readonly Utterance[] {
    if (this.#finished.has(result)) return [];
    if (result.isFinal && result.text.trim() !== '') this.#open.set(result.utteranceId, result);
    return result.utteranceComplete ? this.#finish(result) : [];
  }

  flush(): readonly Utterance[] {
    const last = [...this.#open.values()].at(-1);
    return last ? this.#finish(last) : [];
  }

  #finish(result: TranscriptionResult): readonly Utterance[] {
    // A complete utterance is final, even if the service does not mark it.
    if (result.text.trim() !== '') this.#open.set(result.utteranceId, result);
    const parts = [...this.#open.values()];
    this.#open.clear();
    for (const part of [...parts, result]) this.#finished.add(part);
    const text = parts.map((part) => part.text.trim()).join(' ');
    return text === '' ? [] : [{ text, result }];
  }
}
