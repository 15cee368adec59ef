import type { OperatorFunction } from 'rxjs';
import { incremental } from '../stream/incremental.ts';
import { SpeechText, type SpeechTextOptions } from '../text/speech-text.ts';
import type { SpokenPiece } from '../text/spoken-piece.ts';

/**
 * Makes written text fit for speech: Markdown, code blocks, addresses, HTML tags and emoji don't reach the voice, the
 * text in and after them does. Each piece keeps the text as it was written beside what is said of it, and how the two
 * map, so that a display shows the original and what was heard can be found in it.
 *
 * Emits a piece for each piece of the source; where one ends in the middle of something, such as a link, it is joined
 * with the next. The `visual` texts add up to exactly the source's text; how the source is split changes neither text.
 * The rest leaves when the source completes; an error of the source passes at once.
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
