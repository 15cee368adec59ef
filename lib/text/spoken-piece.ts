/** A span of spoken text and the visual text it stands for, as offsets into the two texts of a {@link SpokenPiece}. */
export interface SpokenSpan {
  readonly spokenStart: number;
  readonly spokenEnd: number;
  readonly visualStart: number;
  readonly visualEnd: number;
}

/** A piece of text in two forms. */
export interface SpokenPiece {
  /** The spoken text; may be empty. */
  readonly spoken: string;
  /** The written text: all pieces' visual texts concatenate to exactly the text. */
  readonly visual: string;
  /**
   * Maps spoken to visual text, in order. Spans with equal texts map character by character, others as a whole. Visual
   * text outside any span is not spoken; spoken text outside any span is not written (such as a pause at the end of a
   * list item).
   */
  readonly spans: readonly SpokenSpan[];
}

/**
 * Maps a range of spoken text to the visual text. What was heard ends at `visualRange(piece, 0, heardLength)[1]`.
 *
 * @param start - Offset into `piece.spoken`.
 * @param end - Offset into `piece.spoken`. A word spoken differently than written counts once it is spoken whole.
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

/** @internal The visual text of the first `characters` characters of spoken text. */
export function visualPrefix(pieces: readonly SpokenPiece[], characters: number): string {
  let left = characters;
  let prefix = '';
  for (const piece of pieces) {
    if (left < piece.spoken.length) return prefix + piece.visual.slice(0, visualRange(piece, 0, left)[1]);
    prefix += piece.visual;
    left -= piece.spoken.length;
  }
  return prefix;
}

/** @internal Whether a span is spoken as written. */
export function isVerbatim({ spoken, visual }: SpokenPiece, span: SpokenSpan): boolean {
  return spoken.slice(span.spokenStart, span.spokenEnd) === visual.slice(span.visualStart, span.visualEnd);
}

/** @internal A text that is spoken as written. */
export function verbatim(text: string): SpokenPiece {
  const { length } = text;
  return {
    spoken: text,
    visual: text,
    spans: [{ spokenStart: 0, spokenEnd: length, visualStart: 0, visualEnd: length }],
  };
}

/** @internal Joins several consecutive pieces. */
export function joined(pieces: readonly SpokenPiece[]): SpokenPiece {
  const [only] = pieces;
  if (only && pieces.length === 1) return only;
  const spans: SpokenSpan[] = [];
  let [spoken, visual] = ['', ''];
  for (const piece of pieces) {
    for (const { spokenStart, spokenEnd, visualStart: start, visualEnd: end } of piece.spans) {
      const [said, written] = [spoken.length, visual.length];
      spans.push({
        ...{ spokenStart: said + spokenStart, spokenEnd: said + spokenEnd },
        ...{ visualStart: written + start, visualEnd: written + end },
      });
    }
    spoken += piece.spoken;
    visual += piece.visual;
  }
  return { spoken, visual, spans };
}

/** @internal Chains two steps: what `after` says for what `before` says, mapped to the written text. */
export function composed(before: SpokenPiece, after: SpokenPiece): SpokenPiece {
  const spans: SpokenSpan[] = [];
  let first = 0;
  for (const outer of after.spans) {
    const isSame = isVerbatim(after, outer);
    while ((before.spans[first]?.spokenEnd ?? Infinity) <= outer.visualStart) first += 1;
    for (let at = first; at < before.spans.length; at += 1) {
      const inner = before.spans[at];
      if (!inner || inner.spokenStart >= outer.visualEnd) break;
      const from = Math.max(inner.spokenStart, outer.visualStart);
      const to = Math.min(inner.spokenEnd, outer.visualEnd);
      const [saidAt, writtenAt] = [outer.spokenStart - outer.visualStart, inner.visualStart - inner.spokenStart];
      const asIs = isVerbatim(before, inner);
      append(spans, {
        spokenStart: isSame ? from + saidAt : outer.spokenStart,
        spokenEnd: isSame ? to + saidAt : outer.spokenEnd,
        visualStart: asIs ? from + writtenAt : inner.visualStart,
        visualEnd: asIs ? to + writtenAt : inner.visualEnd,
      });
    }
  }
  return { spoken: after.spoken, visual: before.visual, spans };
}

/** Spans that overlap, spoken or written, become one, which maps as a whole. */
function append(spans: SpokenSpan[], span: SpokenSpan): void {
  const last = spans.at(-1);
  const isShared = last && (span.spokenStart < last.spokenEnd || span.visualStart < last.visualEnd);
  if (isShared) spans[spans.length - 1] = { ...last, spokenEnd: span.spokenEnd, visualEnd: span.visualEnd };
  else spans.push(span);
}

/** @internal Builds pieces: what is spoken, and which written text each part stands for. */
export class PieceWriter {
  #spoken: string = '';
  #spans: SpokenSpan[] = [];
  /** Whether the last span is spoken as written. */
  #isVerbatim: boolean = false;
  #lastSaid: string = '';
  #isSpaced: boolean = true;
  #isLineSaid: boolean = false;

  /** Whether the piece says anything yet. */
  get hasText(): boolean {
    return this.#spoken !== '';
  }

  /** The last spoken character that was not white space. */
  get lastSaid(): string {
    return this.#lastSaid;
  }

  /** Whether white space, or nothing, was spoken last. */
  get isSpaced(): boolean {
    return this.#isSpaced;
  }

  /** Whether anything in the current line is spoken. */
  get isLineSaid(): boolean {
    return this.#isLineSaid;
  }

  /** Completes the piece for a visual text, and starts the next. */
  take(visual: string): SpokenPiece {
    const piece = { spoken: this.#spoken, visual, spans: this.#spans };
    this.#spoken = '';
    this.#spans = [];
    return piece;
  }

  /** Speaks something in place of the text written from `visualStart` on. */
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

  /** Speaks something that is not written. */
  insert(said: string): void {
    this.#spoken += said;
    this.#isSpaced = /\s$/.test(said);
    const ink = said.trim();
    if (ink === '') return;
    this.#lastSaid = ink;
    this.#isLineSaid = true;
  }

  /** Starts a new span. */
  separate(): void {
    if (!this.#isSpaced) this.insert('\n');
  }

  /** Starts a line. */
  endLine(): void {
    this.#isLineSaid = false;
  }
}
