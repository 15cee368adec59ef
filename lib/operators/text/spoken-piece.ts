/** A stretch of spoken text and the visual text that it says, as offsets into a {@link SpokenPiece}'s two texts. */
export interface SpokenSpan {
  readonly spokenStart: number;
  readonly spokenEnd: number;
  readonly visualStart: number;
  readonly visualEnd: number;
}

/** A piece of text in two forms. */
export interface SpokenPiece {
  /** What is said; may be empty. */
  readonly spoken: string;
  /** What is written: the visual texts of all pieces add up to exactly the text. */
  readonly visual: string;
  /**
   * Which spoken text says which visual text, in order. Spans of two equal texts map character by character, others as
   * a whole. Visual text in no span is not said; spoken text in no span is written nowhere (such as a pause at the end of
   * a list item).
   */
  readonly spans: readonly SpokenSpan[];
}

/**
 * Where spoken text stands in the visual text. The end of what was heard is `visualRange(piece, 0, heardLength)[1]`.
 *
 * @param start - Offset into `piece.spoken`.
 * @param end - Offset into `piece.spoken`. A word that is written otherwise than it is said counts once it is said whole.
 * @returns Start and end offset into `piece.visual`.
 */
export function visualRange(piece: SpokenPiece, start: number, end: number): readonly [number, number] {
  const { spans, visual } = piece;
  if (end >= piece.spoken.length) return [visualStart(piece, start), visual.length];
  let visualEnd = 0;
  for (const span of spans) {
    if (span.spokenStart >= end) break;
    if (end >= span.spokenEnd) visualEnd = span.visualEnd;
    else if (isVerbatim(piece, span)) visualEnd = span.visualStart + end - span.spokenStart;
  }
  return [Math.min(visualStart(piece, start), visualEnd), visualEnd];
}

function visualStart(piece: SpokenPiece, start: number): number {
  if (start <= 0) return 0;
  for (const span of piece.spans) {
    if (start >= span.spokenEnd) continue;
    const into = Math.max(0, start - span.spokenStart);
    return isVerbatim(piece, span) ? span.visualStart + into : span.visualStart;
  }
  return piece.visual.length;
}

function isVerbatim({ spoken, visual }: SpokenPiece, span: SpokenSpan): boolean {
  return spoken.slice(span.spokenStart, span.spokenEnd) === visual.slice(span.visualStart, span.visualEnd);
}
