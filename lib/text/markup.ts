/** A language for specifying how text is spoken. */
export interface Markup {
  /** Splits a document longer than `maxLength` units; `lengthOf` is the length of one character. */
  readonly split: (document: string, maxLength: number, lengthOf: (character: string) => number) => string[];
  /** The words of a document. */
  readonly textOf: (document: string) => string;
}
