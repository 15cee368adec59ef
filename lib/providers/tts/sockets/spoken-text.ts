/** The text of a synthesis in pieces: which were sent, and which were heard to their end. */
export interface SpokenText {
  readonly pieces: readonly string[];
  /** Number of pieces sent. */
  readonly said: number;
  /** Number of pieces heard to their end. */
  readonly heard: number;
  /** Letters of the words heard since. */
  readonly letters: number;
  /** Number of pieces heard when the current context started. */
  readonly from: number;
}

/** Before the first piece. */
export const noText: SpokenText = { pieces: [], said: 0, heard: 0, letters: 0, from: 0 };

/** Whether everything was sent. */
export function isSaid({ said, pieces }: SpokenText): boolean {
  return said === pieces.length;
}

/** Whether everything sent was heard. */
export function isHeard({ said, heard }: SpokenText): boolean {
  return said === heard;
}

/** Whether anything was sent in the current context. */
export function isBegun({ said, from }: SpokenText): boolean {
  return said > from;
}

/** The text heard in the current context. */
export function heardInContext({ pieces, from, heard }: SpokenText): string {
  return pieces.slice(from, heard).join(' ');
}

/** Restarts in another context, which is sent everything after `said` again. */
export function restart(text: SpokenText, said: number = text.heard): SpokenText {
  return { ...text, said, from: text.heard, letters: 0 };
}

/** A word has sounded. A piece counts as heard once as many letters were. */
export function hearWord(text: SpokenText, word: string): SpokenText {
  const letters = text.letters + lettersOf(word);
  const wanted = lettersOf(text.pieces[text.heard] ?? '');
  if (isHeard(text) || letters < wanted) return { ...text, letters };
  return hearWord({ ...text, heard: text.heard + 1, letters: letters - wanted }, '');
}

/** A text's letters as counted in words: without spaces and markup. */
function lettersOf(text: string): number {
  return text.replace(/<[^<>]*>|\s/g, '').length;
}
