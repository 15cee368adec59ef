import { xmlElement } from '../../text/xml.ts';

/** An element that goes around what is said. */
export interface Wrapper {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  /** The elements it may contain; it goes inside any other. */
  readonly holds: ReadonlySet<string>;
}

const spoken = ['audio', 'break', 'phoneme', 'prosody', 'say-as', 'sub'];

/** What prosody may contain, by the service's list. */
export const inProsody: ReadonlySet<string> = new Set([...spoken, 'p', 's']);

/** What express-as may contain. */
export const inExpression: ReadonlySet<string> = new Set([...spoken, 'emphasis', 'lang']);

/** A piece of markup: a text (without a name), or an element. */
interface Piece {
  readonly name: string;
  readonly open: string;
  readonly inner: Piece[];
  close: string;
}

const token = /<!--(?:(?!--)[\s\S])*-->|<(?:"[^"<]*"|'[^'<]*'|[^<>"'])*>|[^<]+|</g;
const tag = /^<(\/?)([\w:.-]+)/;

/** The pieces of a document's content; `undefined` if its tags do not match. */
function piecesOf(content: string): readonly Piece[] | undefined {
  const root: Piece = { name: '', open: '', inner: [], close: '' };
  const around = [root];
  for (const [raw] of content.matchAll(token)) {
    const [, slash, name = ''] = tag.exec(raw) ?? [];
    const parent = around.at(-1) ?? root;
    if (slash) {
      if (parent === root || parent.name !== name) return undefined;
      parent.close = raw;
      around.pop();
    } else {
      const piece: Piece = { name, open: raw, inner: [], close: '' };
      parent.inner.push(piece);
      if (name && !raw.endsWith('/>')) around.push(piece);
    }
  }
  return around.length === 1 ? root.inner : undefined;
}

const isHeld = ({ name, inner }: Piece, holds: ReadonlySet<string>): boolean =>
  (name === '' || holds.has(name)) && inner.every((each) => isHeld(each, holds));

const written = ({ open, inner, close }: Piece): string => open + inner.map(written).join('') + close;

/** Wraps each run of pieces that the wrapper may contain. */
function wrapRuns(pieces: readonly Piece[], wrapper: Wrapper): string {
  const { name, attributes, holds } = wrapper;
  let [all, run] = ['', ''];
  const end = (): void => {
    all += run.trim() === '' ? run : xmlElement(name, attributes, run);
    run = '';
  };
  for (const piece of pieces) {
    if (isHeld(piece, holds)) run += written(piece);
    else {
      end();
      // An element of the same name keeps its own settings; a formula contains nothing else.
      const isClosed = piece.name === 'math' || (piece.name === name && !holds.has(name));
      all += isClosed ? written(piece) : piece.open + wrapRuns(piece.inner, wrapper) + piece.close;
    }
  }
  end();
  return all;
}

/**
 * Wraps a document's content in an element, inside any element that the wrapper may not contain. Malformed content,
 * which the service refuses, stays as it is.
 */
export function wrapContent(content: string, wrapper: Wrapper): string {
  const pieces = piecesOf(content);
  return pieces ? wrapRuns(pieces, wrapper) : content;
}
