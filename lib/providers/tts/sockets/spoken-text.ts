/** The text of a synthesis in its pieces: which of them the service was told, and which were heard to their end. */
export interface SpokenText {
  readonly pieces: readonly string[];
  /** How many pieces the service was told. */
  readonly said: number;
  /** How many pieces were heard to their end. */
  readonly heard: number;
  /** Letters of the words that were heard since. */
  readonly letters: number;
  /** How many pieces had been heard when the present context began. */
  readonly from: number;
}

/** Before the first piece. */
export const noText: SpokenText = { pieces: [], said: 0, heard: 0, letters: 0, from: 0 };

/** Whether the service was told everything. */
export function isSaid({ said, pieces }: SpokenText): boolean {
  return said === pieces.length;
}

/** Whether all that the service was told has been heard. */
export function isHeard({ said, heard }: SpokenText): boolean {
  return said === heard;
}

/** Whether the present context was told anything. */
export function isBegun({ said, from }: SpokenText): boolean {
  return said > from;
}

/** What was heard of the present context. */
export function heardInContext({ pieces, from, heard }: SpokenText): string {
  return pieces.slice(from, heard).join(' ');
}

/** What follows is counted in another context, which is told all after `said` anew. */
export function restart(text: SpokenText, said: number = text.heard): SpokenText {
  return { ...text, said, from: text.heard, letters: 0 };
}

/** A word has sounded. A piece was heard to its end when as many letters were. */
export function hearWord(text: SpokenText, word: string): SpokenText {
  const letters = text.letters + lettersOf(word);
  const wanted = lettersOf(text.pieces[text.heard] ?? '');
  if (isHeard(text) || letters < wanted) return { ...text, letters };
  return hearWord({ ...text, heard: text.heard + 1, letters: letters - wanted }, '');
}

/** Letters of a text as words tell them: without spaces and markup. */
function lettersOf(text: string): number {
  return text.replace(/<[^>]*>|\s/g, '').length;
}
