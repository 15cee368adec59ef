/** A language in which a text can say how it is to be spoken. */
export interface Markup {
  /** Cuts a document that is longer than `maxLength` units of `lengthOf`, which gives those of one character. */
  readonly split: (document: string, maxLength: number, lengthOf: (character: string) => number) => string[];
  /** The words of a document. */
  readonly textOf: (document: string) => string;
}
