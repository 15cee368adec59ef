/** A `ts` fence of a document. */
export interface Fence {
  /** The module's path from the root, and the document's. */
  readonly module: string;
  readonly file: string;
  readonly line: number;
  readonly code: string;
}

export function documents(): string[];
export function writeFences(name: string, files?: string[]): { fences: Fence[]; refused: string[] };
