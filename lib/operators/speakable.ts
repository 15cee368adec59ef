import type { OperatorFunction } from 'rxjs';
import { incremental } from '../stream/incremental.ts';
import { SpeechText, type SpeechTextOptions } from '../text/speech-text.ts';
import type { SpokenPiece } from '../text/spoken-piece.ts';

/**
 * Makes written text speakable: Markdown, code blocks, URLs, HTML tags and emoji are not spoken, but the text in and
 * around them is. Each piece holds the text as written and as spoken, and how the two map, so that a display can show
 * the original and find what was heard in it.
 *
 * Emits a piece for each piece of the source; one that ends in the middle of something, such as a link, is joined with
 * the next. The `visual` texts concatenate to exactly the source's text; how the source is split changes neither text.
 * The rest is emitted when the source completes; an error of the source passes at once.
 *
 * ```text
 * source         -a-b-c-|         a: "Use **R", b: "xJS**, see [the", c: " docs](https://rxjs.dev). "
 * speakable()    -d---e-|         d: says "Use R", e: says "xJS, see the docs. "
 * ```
 *
 * @example
 * ```ts
 * import { of } from 'rxjs';
 * import { speakable } from 'rxvoice/operators';
 *
 * of('## Result\n', '3 * 4 is **12** 🎉, see https://example.com/math?q=12.')
 *   .pipe(speakable())
 *   .subscribe(({ spoken }) => console.log(spoken)); // 'Result.\n', '3 * 4 is 12 , see example.com.'
 * ```
 */
export function speakable(options: SpeechTextOptions = {}): OperatorFunction<string, SpokenPiece> {
  return incremental(() => new SpeechText(options));
}
