import { segmenterFor } from './segmenter.ts';
import { countWords, unspaced } from './words.ts';
import { isAbbreviation } from './abbreviations.ts';

/** How text is split into pieces to speak. */
export interface SentenceOptions {
  /** BCP 47: how words are counted, what is abbreviated, and whether a dot makes a number ordinal. Default: unknown. */
  readonly locale?: string;
  /** Characters required before the first piece may end at a clause. East Asian characters count twice. Default: 12. */
  readonly firstMinChars?: number;
  /** Words that suffice for the first piece, however short. Default: 4. */
  readonly firstMinWords?: number;
  /** Characters that each later piece needs; shorter sentences are joined. East Asian characters count twice. Default: 20. */
  readonly minChars?: number;
  /**
   * Text without punctuation is cut between two words before this many characters. East Asian characters count twice.
   * Default: 100.
   */
  readonly maxUnmarkedChars?: number;
  /** Longest piece, in UTF-16 units: what the text-to-speech service takes at once. Default: 2,000. */
  readonly maxChars?: number;
}

/** Sentence ends beside the Unicode property: the ellipsis and the Tibetan shad. */
const terminators = '\\p{STerm}…\\u0f0d\\u0f0e';
const sentenceMark = new RegExp(`[${terminators}\\n;:\\u037e]|[\\p{sc=Thai}\\p{sc=Lao}] `, 'gu');
const anyMark = new RegExp(`[${terminators}\\n\\p{Terminal_Punctuation}—–]|[\\p{sc=Thai}\\p{sc=Lao}] `, 'gu');
const terminatorRun = new RegExp(`[${terminators}]+`, 'uy');
const terminator = new RegExp(`[${terminators}]`, 'u');
/** What belongs to the sentence before it: closing quotes (in French after a space), brackets and Markdown marks. */
const closerRun = /(?:[\p{Pe}\p{Pf}"'*_`~]|[ \u00a0\u202f]»(?=\s))*/uy;
const whiteSpaceRun = /\s*/uy;
const clauseEnd = /\p{Terminal_Punctuation}[\p{Pe}\p{Pf}"'*_`~]*\s+|(?![,;:!?.])\p{Terminal_Punctuation}/gu;

const wide = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3001-\u3003\uff01-\uff60]/gu;
const wideCharacter = new RegExp(wide.source, 'u');
/** Scripts whose sentences follow each other without a space. */
const spaceless = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;
const thai = /[\p{sc=Thai}\p{sc=Lao}]/u;
/** Lower-case letters of scripts whose sentences start with a capital (Georgian's don't). */
const small = /(?!\p{sc=Georgian})\p{Ll}/u;
/** Languages that write "the 3rd of October" as "3. Oktober". */
const dottedOrdinals = /^(bs|cs|da|de|et|eu|fi|fo|hr|hu|is|lb|lv|nb|nn|no|pl|sk|sl|sr|tr)\b/i;

type Verdict = 'sentence' | 'clause' | 'none';

/**
 * Splits a growing text into pieces to speak: a first clause as early as is safe, then whole sentences, in any script.
 * The pieces, white space included, add up to exactly the text, however it arrived.
 *
 * `Intl.Segmenter` finds words in scripts without spaces. For sentences punctuation works better: the segmenter needs
 * the whole text, and splits after "Dr.".
 */
export class SentenceSplitter {
  readonly #locale: string | undefined;
  readonly #firstMinChars: number;
  readonly #firstMinWords: number;
  readonly #minChars: number;
  readonly #maxUnmarkedChars: number;
  readonly #maxChars: number;
  #text: string = '';
  /** Where the search for marks continues: everything before has been judged. */
  #searched: number = 0;
  /** The end of the last mark that is not far from the one before. */
  #marked: number = 0;
  #isFirst: boolean = true;
  /** Whether the text starts a line, so that a leading "1." is a list number. */
  #startsLine: boolean = true;

  constructor(options: SentenceOptions = {}) {
    const { locale, firstMinChars = 12, firstMinWords = 4, minChars = 20 } = options;
    const { maxUnmarkedChars = 100, maxChars = 2000 } = options;
    if (!(maxChars >= 1)) throw new RangeError(`maxChars must be at least 1, not ${maxChars}`);
    this.#locale = locale;
    this.#firstMinChars = firstMinChars;
    this.#firstMinWords = firstMinWords;
    this.#minChars = minChars;
    this.#maxUnmarkedChars = maxUnmarkedChars;
    this.#maxChars = Math.floor(maxChars);
  }

  /** The pieces that are now complete. */
  push(text: string): string[] {
    this.#text += text;
    const pieces: string[] = [];
    // One unit beyond the limit shows whether a split there would divide a character.
    for (;;) {
      const ends = [this.#nextEnd(), this.#unmarkedEnd()].filter((end) => end !== undefined);
      const end =
        ends.length > 0 ? Math.min(...ends) : this.#text.length > this.#maxChars + 1 ? this.#cut() : undefined;
      if (end === undefined) return pieces;
      pieces.push(this.#take(end));
    }
  }

  /** Returns the rest when no more text follows, and resets the splitter. */
  flush(): string[] {
    const pieces: string[] = [];
    while (this.#text.length > this.#maxChars) pieces.push(this.#take(this.#cut()));
    if (this.#text) pieces.push(this.#text);
    this.#text = '';
    this.#searched = 0;
    this.#marked = 0;
    this.#isFirst = true;
    this.#startsLine = true;
    return pieces;
  }

  #take(end: number): string {
    const piece = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    this.#searched = 0;
    this.#marked = 0;
    this.#isFirst = false;
    this.#startsLine = piece.slice(piece.trimEnd().length).includes('\n');
    return piece;
  }

  #nextEnd(): number | undefined {
    const text = this.#text;
    const marks = this.#isFirst ? anyMark : sentenceMark;
    for (;;) {
      marks.lastIndex = this.#searched;
      const match = marks.exec(text);
      // The last unit may be half of a mark.
      if (!match) {
        this.#searched = Math.max(this.#searched, text.length - 1);
        return undefined;
      }
      const mark = match[0].endsWith(' ') ? match.index + 1 : match.index;
      const runEnd = skip(terminatorRun, text, mark) ?? mark + (isSpace(text[mark]) ? 0 : 1);
      const closed = skip(closerRun, text, runEnd) ?? runEnd;
      const end = skip(whiteSpaceRun, text, closed) ?? closed;
      // What follows a "»" determines whether it opens or closes.
      if (end > this.#maxChars || !isWhole(text, text[end] === '»' ? end + 1 : end)) return undefined;
      const verdict = this.#judge(mark, runEnd, closed, end);
      if (verdict === 'sentence' || (verdict === 'clause' && this.#isFirst)) {
        if (this.#isEnough(text.slice(0, end))) return end;
      }
      this.#searched = Math.max(runEnd, mark + 1);
    }
  }

  /** Where a text ends that goes on without a mark for too long. */
  #unmarkedEnd(): number | undefined {
    const text = this.#text;
    for (;;) {
      const start = this.#marked;
      const end = start + reach(text.slice(start, start + this.#maxUnmarkedChars), this.#maxUnmarkedChars);
      // A mark can be of two units, and what comes first ends the piece.
      if (text.length < end + 2 || this.#maxChars < end + 2) return undefined;
      anyMark.lastIndex = start;
      const match = anyMark.exec(text);
      if (match && match.index < end) {
        this.#marked = match.index + match[0].length;
        continue;
      }
      const run = text.slice(start, end);
      const spaces = [...matchEnds(run, /\s+/gu)];
      const cuts = spaces.length > 0 || !unspaced.test(run) ? spaces : [...segmentStarts(run, 'word', this.#locale)];
      const last = cuts.findLast((cut) => cut > 0 && cut < run.length);
      return last === undefined ? undefined : start + last;
    }
  }

  #judge(mark: number, runEnd: number, closed: number, end: number): Verdict {
    const text = this.#text;
    const run = text.slice(mark, runEnd);
    const gap = text.slice(closed, end);
    const before = text.slice(Math.max(0, mark - 2), mark);
    const next = String.fromCodePoint(text.codePointAt(end) ?? 0);
    if (run === '') {
      if (text[mark] === '\n') return 'sentence';
      return thai.test(next) && !/[ๆฯ]$/u.test(before) ? 'sentence' : 'none';
    }
    if (!terminator.test(run)) return judgeClause(run, before, gap, next);
    if (/^[,;:.!?)\]}%]$/.test(next)) return 'none';
    if (/[^.!?…．․]/u.test(run)) return closed > runEnd && gap === '' && isWord(next) ? 'none' : 'sentence';
    if (/[!?]/.test(run)) {
      if (gap === '') return spaceless.test(before) && spaceless.test(next) ? 'sentence' : 'none';
      return small.test(next) ? 'none' : 'sentence';
    }
    // An ellipsis ends nothing; a line break after it is a mark of its own.
    if (run.length > 1 || run === '…') return 'none';
    if (gap === '') return spaceless.test(before) && spaceless.test(next) ? 'sentence' : 'none';
    return this.#isFullStop(mark, next) ? 'sentence' : 'none';
  }

  /** Whether a dot followed by white space ends a sentence. */
  #isFullStop(dot: number, next: string): boolean {
    const text = this.#text;
    let start = dot;
    while (start > 0 && !isSpace(text[start - 1])) start -= 1;
    const word = text.slice(start, dot).replace(/^[^\p{L}\p{N}]+/u, '');
    const lineStart = text.lastIndexOf('\n', dot) + 1;
    const startsLine =
      (lineStart > 0 || this.#startsLine) && /^[\s>*_#-]*$/.test(text.slice(lineStart, dot - word.length));
    if (startsLine && /^(\d{1,9}|\p{L})$/u.test(word)) return false;
    if (small.test(next) || isAbbreviation(word, next, this.#locale)) return false;
    if (/^\d{1,2}$/.test(word)) return !dottedOrdinals.test(this.#locale ?? '');
    // Initials ("J. Smith"), and letters with dots between them ("U.S. Navy", "e.g. this").
    if (/^\p{L}$/u.test(word)) return word === 'I' || /[\p{sc=Hangul}\p{sc=Han}]/u.test(word);
    return !/^\p{L}{1,2}(\.\p{L}{1,2})+$/u.test(word);
  }

  #isEnough(piece: string): boolean {
    const text = piece.trim();
    const width = text.length + (text.match(wide)?.length ?? 0);
    if (!this.#isFirst) return width >= this.#minChars;
    return width >= this.#firstMinChars || countWords(text, this.#locale) >= this.#firstMinWords;
  }

  /** Where to split a text without an end in reach: after a clause, else a word, never within a character. */
  #cut(): number {
    const limit = this.#maxChars;
    const window = this.#text.slice(0, limit + 2);
    const lastEnd = (ends: Iterable<number>, from: number): number | undefined => {
      let last: number | undefined;
      for (const end of ends) if (end > from && end <= limit) last = end;
      return last;
    };
    return (
      lastEnd(matchEnds(window, clauseEnd), limit / 2) ??
      lastEnd(matchEnds(window, /\s+/gu), limit / 2) ??
      lastEnd(segmentStarts(window, 'word', this.#locale), 0) ??
      lastEnd(segmentStarts(window, 'grapheme', this.#locale), 0) ??
      (isLowSurrogate(window, limit) ? Math.max(2, limit - 1) : limit)
    );
  }
}

/** How much of a text has a width, in UTF-16 units. */
function reach(text: string, width: number): number {
  let left = width;
  let length = 0;
  for (const character of text) {
    left -= wideCharacter.test(character) ? 2 : 1;
    if (left < 0) break;
    length += character.length;
  }
  return length;
}

function judgeClause(mark: string, before: string, gap: string, next: string): Verdict {
  if (/[;\u037e]/.test(mark) && /\p{sc=Greek}$/u.test(before)) return gap === '' ? 'none' : 'sentence';
  if (mark === ':' && /\p{sc=Armenian}$/u.test(before)) return gap === '' ? 'none' : 'sentence';
  if (mark === '–') return gap !== '' && /[^\d\s]\s$/u.test(before) && !/\d/.test(next) ? 'clause' : 'none';
  if (/^[,;:]$/.test(mark) && gap === '') return 'none';
  return mark === '፡' ? 'none' : 'clause';
}

/** The end of a sticky pattern's match at a position; `undefined` without a match. */
function skip(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Whether the character at a position is complete. */
function isWhole(text: string, at: number): boolean {
  return at < text.length && !(at === text.length - 1 && /[\ud800-\udbff]/.test(text[at] ?? ''));
}

function isLowSurrogate(text: string, at: number): boolean {
  return /[\udc00-\udfff]/.test(text[at] ?? '');
}

function isSpace(character: string | undefined): boolean {
  return character !== undefined && /\s/.test(character);
}

function isWord(character: string): boolean {
  return /[\p{L}\p{N}]/u.test(character);
}

function* matchEnds(text: string, pattern: RegExp): Generator<number> {
  for (const match of text.matchAll(pattern)) yield match.index + match[0].length;
}

function* segmentStarts(text: string, granularity: 'word' | 'grapheme', locale?: string): Generator<number> {
  for (const { index } of segmenterFor(granularity, locale).segment(text)) yield index;
}
