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

/** @internal Writes pieces: what is said, and which written text each part of it stands for. */
export class PieceWriter {
  #spoken: string = '';
  #spans: SpokenSpan[] = [];
  /** Whether the last span says what is written. */
  #isVerbatim: boolean = false;
  #lastSaid: string = '';
  #isSpaced: boolean = true;
  #isLineSaid: boolean = false;

  /** The last thing said that was no white space. */
  get lastSaid(): string {
    return this.#lastSaid;
  }

  /** Whether white space, or nothing at all, was said last. */
  get isSpaced(): boolean {
    return this.#isSpaced;
  }

  /** Whether the line at hand says anything. */
  get isLineSaid(): boolean {
    return this.#isLineSaid;
  }

  /** What has been written, as the piece that stands for a visual text; the next one begins. */
  take(visual: string): SpokenPiece {
    const piece = { spoken: this.#spoken, visual, spans: this.#spans };
    this.#spoken = '';
    this.#spans = [];
    return piece;
  }

  /** Says something in place of what is written from `visualStart` on. */
  say(said: string, written: string, visualStart: number): void {
    const visualEnd = visualStart + written.length;
    const spokenStart = this.#spoken.length;
    const last = this.#spans.at(-1);
    this.insert(said);
    const spokenEnd = this.#spoken.length;
    const isVerbatim = said === written;
    if (isVerbatim && this.#isVerbatim && last?.visualEnd === visualStart && last.spokenEnd === spokenStart) {
      this.#spans[this.#spans.length - 1] = { ...last, spokenEnd, visualEnd };
    } else {
      this.#spans.push({ spokenStart, spokenEnd, visualStart, visualEnd });
    }
    this.#isVerbatim = isVerbatim;
  }

  /** Says something that is written nowhere. */
  insert(said: string): void {
    this.#spoken += said;
    this.#isSpaced = /\s$/.test(said);
    const ink = said.trim();
    if (ink === '') return;
    this.#lastSaid = ink;
    this.#isLineSaid = true;
  }

  /** What follows is told apart from what was said. */
  separate(): void {
    if (!this.#isSpaced) this.insert('\n');
  }

  /** The next line says nothing yet. */
  endLine(): void {
    this.#isLineSaid = false;
  }
}
