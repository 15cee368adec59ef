import type { OperatorFunction } from 'rxjs';
import { incremental } from '../stream/incremental.ts';
import { markdown } from '../text/markdown.ts';
import type { SpokenPiece } from '../text/spoken-piece.ts';
import { chained, type TextContext, type TextTransform } from '../text/text-transform.ts';

const usual: readonly TextTransform[] = [markdown()];

/**
 * Makes written text speakable by a list of transforms: by default `markdown()`, which leaves out Markdown, code blocks,
 * URLs, HTML tags and emoji, but not the text in and around them. Each transform reads what the one before says. Each
 * piece holds the text as written and as spoken, and how the two map, so that a display can show
 * the original and find what was heard in it.
 *
 * Emits a piece for each piece of the source; one that ends in the middle of something, such as a link, is joined with
 * the next. The `visual` texts concatenate to exactly the source's text; how the source is split changes neither text.
 * The rest is emitted when the source completes; an error of the source passes at once.
 *
 * @param transforms - In this order; none: the text is spoken as it is written.
 * @param context - What the transforms may want to know.
 *
 * ```text
 * source         -a-b-c-|    a: "Use **R", b: "xJS**, see [the"
 *                            c: " docs](https://rxjs.dev). "
 * speakable()    -d---e-|    d: "Use R", e: "xJS, see the docs. "
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
export function speakable(
  transforms: readonly TextTransform[] = usual,
  context: TextContext = {},
): OperatorFunction<string, SpokenPiece> {
  return incremental(() => chained(transforms, context));
}
