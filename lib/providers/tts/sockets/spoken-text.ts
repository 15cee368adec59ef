/**
 * The text of an utterance in its pieces: which of them the service was told, and which of those were heard to their
 * end, as far as the words tell.
 */
export class SpokenText {
  readonly #pieces: string[] = [];
  /** Pieces that were heard to their end. */
  #heard: number = 0;
  /** Letters of the words that were heard since. */
  #letters: number = 0;
  /** Pieces that the service was told. */
  #said: number = 0;
  /** Where the present context began. */
  #from: number = 0;

  add(pieces: readonly string[]): void {
    this.#pieces.push(...pieces);
  }

  /** Whether there is nothing that the service was not told. */
  get isSaid(): boolean {
    return this.#said === this.#pieces.length;
  }

  /** Whether all that the service was told has been heard. */
  get isHeard(): boolean {
    return this.#heard === this.#said;
  }

  /** Whether the present context was told anything. */
  get isBegun(): boolean {
    return this.#said > this.#from;
  }

  /** Whether any piece of the present context was heard to its end. */
  get hasAdvanced(): boolean {
    return this.#heard > this.#from;
  }

  /** What the service has yet to be told, which it is now. */
  say(): readonly string[] {
    const pieces = this.#pieces.slice(this.#said);
    this.#said = this.#pieces.length;
    return pieces;
  }

  /** A word has sounded. */
  hear(word: string): void {
    this.#letters += lettersOf(word);
    while (this.#heard < this.#said) {
      const letters = lettersOf(this.#pieces[this.#heard] ?? '');
      if (this.#letters < letters) return;
      this.#letters -= letters;
      this.#heard++;
    }
  }

  /** All that the service was told has sounded. */
  hearAll(): void {
    this.#heard = this.#said;
  }

  /** Begins another context with the first piece that was not heard to its end; gives what was heard in this one. */
  restart(): string {
    const heard = this.#pieces.slice(this.#from, this.#heard).join(' ');
    this.#from = this.#said = this.#heard;
    this.#letters = 0;
    return heard;
  }
}

/** Letters of a text as words tell them: without spaces and markup. */
function lettersOf(text: string): number {
  return text.replace(/<[^>]*>|\s/g, '').length;
}
