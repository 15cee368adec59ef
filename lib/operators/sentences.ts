import type { OperatorFunction } from 'rxjs';
import { incremental } from '../stream/incremental.ts';
import { SentenceSplitter, type SentenceOptions } from '../text/sentence-splitter.ts';

/**
 * Splits a model's tokens into pieces to speak: a first clause as early as possible (12 characters or 4 words at a
 * clause mark), then whole sentences (20 characters or more), in any script.
 *
 * A piece is emitted as soon as it is safe: when the character after its end and white space has arrived, so that
 * "3.14", "Dr. Smith", "e.g. this", "U.S. Navy", URLs and ellipses stay whole. The pieces concatenate to the text,
 * white space included, so that what was heard can be cut from it. The rest is emitted when the source completes; an
 * error of the source passes at once and drops the rest, which nobody heard.
 *
 * ```text
 * source         -a-b-c-d-e-|       a: "I do thi", b: "nk so, "
 *                                   c: "yes. But Dr", d: ". Who may know "
 *                                   e: "better."
 * sentences()    -----f-----(g|)    f: "I do think so, "
 *                                   g: "yes. But Dr. Who may know better."
 * ```
 *
 * @example
 * ```ts
 * import { from } from 'rxjs';
 * import { sentences } from 'rxvoice/operators';
 *
 * const tokens$ = from(['Pi is about', ' 3', '.', '14. It ', 'has been known', ' since long ago', '.']);
 * tokens$.pipe(sentences()).subscribe(console.log); // 'Pi is about 3.14. ', 'It has been known since long ago.'
 * ```
 */
export function sentences(options: SentenceOptions = {}): OperatorFunction<string, string> {
  return incremental(() => new SentenceSplitter(options));
}
