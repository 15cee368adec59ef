/** Numbers of pieces, counted from the first one. */
interface Progress {
  /** Pieces that the service was told. */
  readonly said: number;
  /** Pieces that were heard to their end. */
  readonly heard: number;
  /** Letters of the words that were heard since. */
  readonly letters: number;
  /** Where the present context began. */
  readonly from: number;
}

/**
 * The text of a synthesis in its pieces: which of them the service was told, and which were heard to their end, as far
 * as words tell. Immutable.
 */
export class SpokenText {
  readonly #pieces: readonly string[];
  readonly #progress: Progress;

  constructor(pieces: readonly string[] = [], progress: Progress = { said: 0, heard: 0, letters: 0, from: 0 }) {
    this.#pieces = pieces;
    this.#progress = progress;
  }

  /** How many pieces the service was told. */
  get said(): number {
    return this.#progress.said;
  }

  /** How many pieces were heard to their end. */
  get heard(): number {
    return this.#progress.heard;
  }

  /** Whether the service was told everything. */
  get isSaid(): boolean {
    return this.said === this.#pieces.length;
  }

  /** Whether all that the service was told has been heard. */
  get isHeard(): boolean {
    return this.heard === this.said;
  }

  /** Whether the present context was told anything. */
  get isBegun(): boolean {
    return this.said > this.#progress.from;
  }

  /** Whether any piece of the present context was heard to its end. */
  get hasAdvanced(): boolean {
    return this.heard > this.#progress.from;
  }

  /** The piece that the service is to be told next. */
  get next(): string | undefined {
    return this.#pieces[this.said];
  }

  /** What was heard of the present context. */
  get heardInContext(): string {
    return this.#pieces.slice(this.#progress.from, this.heard).join(' ');
  }

  add(pieces: readonly string[]): SpokenText {
    return new SpokenText([...this.#pieces, ...pieces], this.#progress);
  }

  /** The service has been told the next piece. */
  say(): SpokenText {
    return this.#with({ said: this.said + 1 });
  }

  /** A word has sounded. */
  hear(word: string): SpokenText {
    const letters = this.#progress.letters + lettersOf(word);
    const wanted = lettersOf(this.#pieces[this.heard] ?? '');
    if (this.isHeard || letters < wanted) return this.#with({ letters });
    return this.#with({ heard: this.heard + 1, letters: letters - wanted }).hear('');
  }

  /** All pieces before this number have sounded. */
  hearTo(heard: number): SpokenText {
    return this.#with({ heard });
  }

  /** What follows is counted in another context, which is told all after `said` anew. */
  restart(said: number = this.heard): SpokenText {
    return this.#with({ said, from: this.heard, letters: 0 });
  }

  #with(changes: Partial<Progress>): SpokenText {
    return new SpokenText(this.#pieces, { ...this.#progress, ...changes });
  }
}

/** Letters of a text as words tell them: without spaces and markup. */
function lettersOf(text: string): number {
  return text.replace(/<[^>]*>|\s/g, '').length;
}
