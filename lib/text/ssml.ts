import type { Markup } from './markup.ts';
import { uncutParts } from './split-text.ts';
import { entities } from './xml.ts';

const characters: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(entities).map(([character, name]) => [name, character]),
);

/** Whether a text is an SSML document: it starts with `<speak`. */
export function isSsml(text: string): boolean {
  return /^\s*<speak[\s/>]/i.test(text);
}

// Each stops before the next starts, so that unclosed ones cost only their length.
const tag = /<!--(?:(?!--)[\s\S])*-->|<[^<>]*>/g;

/** The words of an SSML document, without its tags. */
export function textOfSsml(document: string): string {
  return document
    .replace(tag, (each) => (isPause(each) ? ' ' : ''))
    .replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (all, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return characters[name] ?? all;
      const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : '';
    })
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * Splits an SSML document that is too long for one request, where {@link splitText} would split its text: elements open
 * at a split are closed before it and reopened after it. An element that specifies how to read its content (`say-as`,
 * `sub`, `phoneme`) is never split. Documents without a word return none.
 *
 * @param maxLength - Longest document, including tags, in units of `lengthOf`.
 * @param lengthOf - Length of one character (code point) as the service counts. Default: 1.
 */
export function splitSsml(
  document: string,
  maxLength: number = Infinity,
  lengthOf: (character: string) => number = () => 1,
): string[] {
  const measure = (text: string): number => Array.from(text, lengthOf).reduce((sum, length) => sum + length, 0);
  const whole = document.trim();
  const pieces: string[] = [];
  if (measure(whole) <= maxLength) pieces.push(whole);
  else {
    let atoms = atomsOf(whole);
    let open: readonly string[] = [];
    while (atoms.length > 0) {
      const piece = fittingPiece(atoms, open, maxLength, measure);
      pieces.push(piece.document);
      atoms = atoms.slice(piece.count);
      open = piece.open;
    }
  }
  return pieces.filter((piece) => textOfSsml(piece) !== '');
}

/** SSML (W3C Speech Synthesis Markup Language 1.1): documents are split between sentences, keeping elements whole. */
export const ssml: Markup = { split: splitSsml, textOf: textOfSsml };

/** A tag, an unsplittable element, or a word with the white space after it. */
interface Atom {
  readonly raw: string;
  /**
   * Quality of a split after it: 0 for the end of a sentence, 1 of a clause, 2 of a word; never after an opening tag.
   */
  readonly rank: number;
}

const indivisible = /<(say-as|sub|phoneme)\b[^<>]*>(?:(?!<\1\b)[\s\S])*?<\/\1\s*>/gi;
const pieceOf = new RegExp(`${indivisible.source}|${tag.source}|[^<]+|<`, 'gi');
const isPause = (raw: string): boolean => /^<(break\b|\/?(p|s|speak)\b)/i.test(raw);
const isOpening = (raw: string): boolean => /^<[^/!?]/.test(raw) && !/\/\s*>$/.test(raw) && !raw.slice(1).includes('<');
const isClosing = (raw: string): boolean => raw.startsWith('</');

function atomsOf(document: string): Atom[] {
  return [...document.matchAll(pieceOf)].flatMap(({ 0: raw }): Atom[] => {
    if (!raw.startsWith('<')) return uncutParts(raw).map(({ text, rank }) => ({ raw: text, rank }));
    return [{ raw, rank: isOpening(raw) ? Infinity : isPause(raw) ? 0 : 2 }];
  });
}

interface Piece {
  readonly document: string;
  readonly count: number;
  readonly open: readonly string[];
}

/** As many atoms as fit with the tags around them, up to the best split among them; at least one that is spoken. */
function fittingPiece(
  atoms: readonly Atom[],
  opened: readonly string[],
  maxLength: number,
  measure: (text: string) => number,
): Piece {
  let open = opened;
  let content = opened.join('');
  let best: (Piece & { readonly rank: number }) | undefined;
  let before = Infinity;
  for (const [index, atom] of atoms.entries()) {
    const { raw } = atom;
    // A closing tag goes with what it closes.
    const rank = isClosing(raw) ? Math.min(atom.rank, before) : atom.rank;
    before = rank;
    content += raw;
    if (isOpening(raw)) open = [...open, raw];
    else if (isClosing(raw)) open = open.slice(0, -1);
    const document = content + closing(open);
    if (best && measure(document) > maxLength) break;
    const isLast = index === atoms.length - 1;
    const isBetter = isLast || rank <= (best?.rank ?? 2);
    if (isBetter) best = { document, count: index + 1, open, rank: isLast ? 0 : rank };
  }
  return best ?? { document: content + closing(open), count: atoms.length, open };
}

function closing(open: readonly string[]): string {
  return open
    .map((raw) => `</${/^<([^\s>]+)/.exec(raw)?.[1] ?? ''}>`)
    .reverse()
    .join('');
}
