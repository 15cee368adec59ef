import { closing, firstCharacter, hostOf, lastCharacter, mailAddress, proseStart } from './marks.ts';
import { runLength, trimUrl, urlRun, urlScheme, urlStart } from './marks.ts';
import { PieceWriter, type SpokenPiece } from './spoken-piece.ts';
import type { TextStage, TextTransform } from './text-transform.ts';
import { unspaced } from './words.ts';

/** Options of {@link markdown}. */
export interface MarkdownOptions {
  /**
   * Spoken in place of every code block; a function receives the block's language, or ''. Default: blocks are skipped, and
   * a text that is nothing but code is announced, in the language of the conversation.
   */
  readonly codeBlock?: string | ((language: string) => string);
}

/**
 * Makes written text speakable: Markdown, code blocks, URLs, HTML tags and emoji are not spoken, but the text in and
 * around them is. A text that is nothing but code is announced, so that it is never silence.
 *
 * @example
 * ```ts
 * import { markdown, Pipeline, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * new Pipeline({ providers, text: [markdown({ codeBlock: (language) => `Some ${language} code.` })] });
 * ```
 */
export function markdown(options: MarkdownOptions = {}): TextTransform {
  return { name: 'markdown', start: ({ codeNotice }) => new MarkdownText(options, codeNotice) };
}

/** Most text held back until it is unambiguous, in UTF-16 units; beyond that it is taken literally. */
const maxHeld = 4096;
const maxLinkText = 256;

const wordEnd = /[\p{L}\p{M}\p{N}_]$/u;
const wordStart = /^[\p{L}\p{M}\p{N}_]/u;
const letters = '\\p{L}\\p{M}\\p{N}';
const spacedWord = `(?:(?!${unspaced.source}|[\\ufe0e\\ufe0f\\u20e3])[${letters}])+`;
/** Letters within which no mark or URL starts. */
const wordRun = new RegExp(`${unspaced.source}+|${spacedWord}`, 'uy');
/** Words, and spaces between them, within which no mark or URL starts. */
const plainRun = new RegExp(`${unspaced.source}+|${spacedWord}(?: (?![hw])${spacedWord})*`, 'uiy');
const asciiPunctuation = /^[!-/:-@[-`{-~]/;
/** Symbols that only some fonts show as pictures are kept. */
const emoji =
  /^(?:(?![©®™ℹ‼⁉㊗㊙])\p{Extended_Pictographic}|[\p{RI}\p{Emoji_Modifier}]|[\ufe0e\ufe0f\u20e3\u{e0020}-\u{e007f}])/u;

const couldBeRule = /^[-*_=|: \t]*$/;
const rule = /^(?:([-*_=])[ \t]*(?:\1[ \t]*){2,}|(?=.*-)(?=.*\|)[-|: \t]+)$/;
const bullet = /^[-*+•‣◦▪●][ \t]/;
const task = /^\[[ xX]\][ \t]/;
const fenceOpening = /^(`{3,}(?!`|.*`)|~{3,})[ \t]*(\S*)/;
/** Possible content of angle brackets, up to the first that closes. */
const bracketed = /^<([a-z/][^<>\n]{0,256})>/i;
const couldBeBracketed = /^<(?:[a-z/][^<>\n]{0,256}|!|!-|!--.*)?$/is;
const tag = /^\/?([a-z][a-z\d-]*)(?:\s+[a-z_:][\w:.-]*(?:\s*=\s*(?:[^\s"'=`]+|'[^']*'|"[^"]*"))?)*\s*\/?$/i;
const comment = /^<!--.*?-->/s;
const blockTag = /^(?:br|hr|p|div|[uo]l|li|table|tr|td|th|h[1-6])$/i;

/**
 * @internal Makes written text speakable as it grows: removes Markdown marks, code blocks, URLs, HTML tags and emoji,
 * keeps what they enclose, and leaves "3 * 4", "snake_case", "2024." and "5 > 3" alone. The result does not depend on how the text
 * arrives, and maps back to it.
 *
 * A mark's meaning can depend on what follows: a push that ends at such a point returns nothing, and the next one, or
 * `flush()`, returns it all. Use one instance per text.
 */
export class MarkdownText implements TextStage {
  readonly #codeBlock: string | ((language: string) => string);
  /** Said at the end of a text that was nothing but code. */
  readonly #notice: string;
  /** Text not yet understood, preceded (up to `#at`) by that of the current piece. */
  #text: string = '';
  #at: number = 0;
  readonly #piece = new PieceWriter();

  /** The last character before `#at`. */
  #before: string = '';
  /** Whether the line so far has only white space and marks. */
  #startsLine: boolean = true;
  /** Whether in a heading, list item or table row, whose end must be audible. */
  #isBlock: boolean = false;
  #isRow: boolean = false;
  /** Number of backticks that opened the current code. */
  #codeTicks: number = 0;
  /** What opened the current code block. */
  #fence: string | undefined;
  #hasCode: boolean = false;
  /** The open links: characters to the end of the text, and those of the URL after it. A link can contain an image. */
  #links: { left: number; readonly tail: number }[] = [];
  #afterEmoji: boolean = false;

  constructor({ codeBlock }: MarkdownOptions = {}, notice: string = 'Here is some code.') {
    this.#codeBlock = codeBlock ?? '';
    this.#notice = codeBlock === undefined ? notice : '';
  }

  /** The pieces that are now complete, including what was held back; none while the end is ambiguous. */
  push(text: string): SpokenPiece[] {
    this.#text += text;
    this.#run(false);
    // A code block can be long and is not spoken: it must not hold up the text before it.
    const waits = this.#at < this.#text.length && this.#fence === undefined && this.#at < maxHeld;
    return waits ? [] : this.#take();
  }

  /** Returns the rest when no more text follows. */
  flush(): SpokenPiece[] {
    this.#run(true);
    const isOnlyCode = this.#hasCode && this.#piece.lastSaid === '';
    if (isOnlyCode && this.#notice) this.#piece.insert(this.#notice);
    return this.#take();
  }

  #take(): SpokenPiece[] {
    if (this.#at === 0 && !this.#piece.hasText) return [];
    const piece = this.#piece.take(this.#text.slice(0, this.#at));
    this.#text = this.#text.slice(this.#at);
    this.#at = 0;
    return [piece];
  }

  #run(isEnd: boolean): void {
    while (this.#at < this.#text.length) {
      const isFull = this.#text.length - this.#at > maxHeld;
      const window = isFull ? this.#text.slice(this.#at, this.#at + maxHeld) : this.#text.slice(this.#at);
      const used = this.#step(window, isEnd || isFull, isFull);
      if (used === 0) return;
      this.#at += used;
      this.#before = lastCharacter(window.slice(0, used));
      for (const link of this.#links) link.left -= used;
    }
  }

  /** Interprets the start of the text. Returns its length in UTF-16 units: 0 if more is needed. */
  #step(text: string, isEnd: boolean, isFull: boolean): number {
    if (this.#fence !== undefined) return this.#insideFence(text, isEnd, isFull);
    const link = this.#links.at(-1);
    if (link && link.left <= 0) {
      this.#links.pop();
      this.#codeTicks = 0;
      if (link.left === 0) return link.tail;
    }
    const character = firstCharacter(text);
    if (/^[\ud800-\udbff]$/.test(character) && !isEnd) return 0;
    if (character === '\n') return this.#endLine();
    if (character === '\r') return 1;
    if (/^\s/.test(character)) return this.#space(text, isEnd);
    if (this.#startsLine) {
      const used = this.#startLine(text, isEnd);
      if (used !== undefined) return used;
      this.#startsLine = false;
    }
    const used = this.#inline(character, text, isEnd);
    this.#afterEmoji = used < 0;
    return Math.abs(used);
  }

  /** Marks at the start of a line; `undefined` if there are none (left). */
  #startLine(text: string, isEnd: boolean): number | undefined {
    const lineEnd = text.indexOf('\n');
    const line = (lineEnd < 0 ? text : text.slice(0, lineEnd)).replace(/\r$/, '');
    const isWhole = lineEnd >= 0 || isEnd;
    if (couldBeRule.test(line)) {
      if (!isWhole) return 0;
      if (rule.test(line)) return line.length;
    }
    if (/^(?:`{3}|~{3})/.test(line)) {
      const opening = fenceOpening.exec(line);
      if (opening && !isWhole) return 0;
      if (opening?.[1]) return this.#openFence(opening[1], opening[2] ?? '', lineEnd < 0 ? text.length : lineEnd + 1);
    }
    if (/^(?:#{1,6}|>|[-*+•‣◦▪●]|`{1,2}|~{1,2}|\d{1,9}[.)]?)$/.test(text) && !isEnd) return 0;
    if (/^#{1,6}[ \t]/.test(text)) return this.#openBlock(text.search(/[^#]/));
    if (/^>[\s>]/.test(text)) return 1;
    if (bullet.test(text)) return this.#openBlock(1);
    if (text.startsWith('|')) {
      this.#isRow = true;
      this.#startsLine = false;
      return this.#openBlock(1);
    }
    if (this.#isBlock && text.startsWith('[')) {
      if (/^\[(?:[ xX](?:\]?))?$/.test(text) && !isEnd) return 0;
      if (task.test(text)) return 3;
    }
    if (/^\d{1,9}[.)][ \t]/.test(text)) this.#isBlock = true;
    return undefined;
  }

  #openBlock(markLength: number): number {
    this.#isBlock = true;
    return markLength;
  }

  /** Returns a negative length for parts of an emoji. */
  #inline(character: string, text: string, isEnd: boolean): number {
    if (this.#codeTicks > 0 && character !== '`') return this.#word(character, text, isEnd);
    switch (character) {
      case '\\': {
        const next = text[1] ?? '';
        if (next === '' && !isEnd) return 0;
        if (asciiPunctuation.test(next)) return this.#say(next, 1, 1) + 1;
        return next === '\n' ? 1 : this.#say(character, 1);
      }
      case '`':
        return this.#backticks(text, isEnd);
      case '*':
      case '_':
      case '~':
        return this.#emphasis(character, text, isEnd);
      case '[':
        return this.#openLink(text, 0, isEnd);
      case '!':
        // After a script without spaces it ends a sentence, which must not wait.
        if (text.length === 1 && !isEnd && !unspaced.test(this.#before)) return 0;
        return text[1] === '[' && !unspaced.test(this.#before) ? this.#openLink(text, 1, isEnd) : this.#say('!', 1);
      case '<':
        return this.#angle(text, isEnd);
      case '|':
        return this.#isRow ? this.#cell(text, isEnd) : this.#say('|', 1);
    }
    if (emoji.test(character) || (character === '\u200d' && this.#afterEmoji)) return -character.length;
    return this.#word(character, text, isEnd);
  }

  #word(character: string, text: string, isEnd: boolean): number {
    const isInside = this.#followsWord() && wordStart.test(character) && !unspaced.test(this.#before + character);
    if (!isInside && /^[hw]/i.test(character)) {
      const lower = text.slice(0, 8).toLowerCase();
      if (urlStart.some((start) => lower.length < start.length && start.startsWith(lower)) && !isEnd) return 0;
      if (urlStart.some((start) => lower.startsWith(start))) return this.#url(text, isEnd);
    }
    const run = this.#links.length > 0 || this.#isRow ? wordRun : plainRun;
    run.lastIndex = 0;
    const length = run.test(text) ? run.lastIndex : character.length;
    return this.#say(text.slice(0, length), length);
  }

  /** Whether a word ends here; removed marks do not belong to words. */
  #followsWord(): boolean {
    return wordEnd.test(this.#before) && (this.#before !== '_' || this.#piece.lastSaid.endsWith('_'));
  }

  #url(text: string, isEnd: boolean): number {
    const run = urlRun.exec(text)?.[0];
    if (run === undefined) return urlScheme.test(text) && !isEnd ? 0 : this.#say(firstCharacter(text), 1);
    if (run.length === text.length && !isEnd) return 0;
    const url = trimUrl(run);
    return this.#say(hostOf(url), url.length);
  }

  #backticks(text: string, isEnd: boolean): number {
    const count = runLength(text);
    if (count === text.length && !isEnd) return 0;
    if (this.#codeTicks > 0) {
      if (count !== this.#codeTicks) return this.#say(text.slice(0, count), count);
      this.#codeTicks = 0;
      return count;
    }
    if (count >= 3) {
      const lineEnd = text.indexOf('\n');
      const line = (lineEnd < 0 ? text : text.slice(0, lineEnd)).trimEnd();
      // A block that opens in mid-line, as models write it; with a second run in the line, it is inline code.
      const opening = /^(`+)([^\s`]*)$/.exec(line);
      if (opening?.[1] && lineEnd < 0 && !isEnd) return 0;
      if (opening?.[1] && lineEnd >= 0) return this.#openFence(opening[1], opening[2] ?? '', lineEnd + 1);
    }
    this.#codeTicks = count;
    return count;
  }

  #emphasis(mark: string, text: string, isEnd: boolean): number {
    const count = runLength(text);
    const before = this.#before;
    const couldBeText =
      mark === '~' || /^\s?$/.test(before) || (mark === '*' ? /\d/.test(before) : this.#followsWord());
    if (!couldBeText) return count;
    if (count === text.length && !isEnd) return 0;
    const run = text.slice(0, count);
    const after = firstCharacter(text.slice(count));
    const isLoose = /^\s?$/.test(before) && (count === 1 ? /^\s?$/ : /^\s$/).test(after);
    const isText =
      mark === '*'
        ? isLoose || (/\d/.test(before) && /\d/.test(after))
        : mark === '_'
          ? (isLoose && count === 1) || (this.#followsWord() && wordStart.test(after))
          : isLoose || count === 1;
    return isText ? this.#say(run, count) : count;
  }

  #openLink(text: string, bang: number, isEnd: boolean): number {
    const literal = (): number => this.#say(text.slice(0, 1), 1);
    const close = closing(text, bang, maxLinkText);
    if (close === undefined) return isEnd ? literal() : 0;
    if (close < 0) return literal();
    const next = text[close + 1];
    if (next === undefined && !isEnd) return 0;
    if (text.startsWith('[^') && /^\[\^[^\s\]]+$/.test(text.slice(0, close)) && next !== '(') return close + 1;
    if (next !== '(' && next !== '[') return literal();
    const end = closing(text, close + 1, maxHeld);
    if (end === undefined && !isEnd) return 0;
    if (end !== undefined && end < 0) return literal();
    // The text was cut off within a URL: skip the rest.
    const tail = (end ?? text.length - 1) + 1 - close;
    this.#links.push({ left: close, tail });
    return bang + 1;
  }

  #angle(text: string, isEnd: boolean): number {
    const noted = comment.exec(text);
    if (noted) return noted[0].length;
    if (couldBeBracketed.test(text) && !isEnd) return 0;
    const content = bracketed.exec(text)?.[1] ?? '';
    if (/^(?:https?:\/\/|www\.)\S+$/i.test(content)) return this.#say(hostOf(content), content.length, 1) + 2;
    if (mailAddress.test(content)) return this.#say(content, content.length, 1) + 2;
    const element = tag.exec(content)?.[1];
    if (element === undefined) return this.#say('<', 1);
    if (blockTag.test(element)) this.#piece.separate();
    return content.length + 2;
  }

  #cell(text: string, isEnd: boolean): number {
    const next = /[^| \t]/.exec(text);
    if (!next && !isEnd) return 0;
    const isLast = !next || next[0] === '\n' || next[0] === '\r';
    if (!isLast && this.#piece.isLineSaid && !/[,،、]$/u.test(this.#piece.lastSaid)) this.#piece.insert(',');
    return 1;
  }

  #endLine(): number {
    if (this.#isBlock && this.#piece.isLineSaid && !/[\p{Terminal_Punctuation}…—]$/u.test(this.#piece.lastSaid)) {
      this.#piece.insert(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]$/u.test(this.#piece.lastSaid) ? '。' : '.');
    }
    if (!this.#piece.isSpaced) this.#say('\n', 1);
    this.#startsLine = true;
    this.#isBlock = false;
    this.#isRow = false;
    this.#piece.endLine();
    this.#codeTicks = 0;
    return 1;
  }

  #space(text: string, isEnd: boolean): number {
    if (this.#isRow) {
      const next = /[^ \t]/.exec(text);
      if (!next && !isEnd) return 0;
      if (next?.[0] === '|') return 1;
    }
    if (!this.#piece.isSpaced) this.#say(' ', 1);
    return 1;
  }

  #openFence(fence: string, language: string, length: number): number {
    this.#fence = fence;
    this.#hasCode = true;
    const announcement = typeof this.#codeBlock === 'string' ? this.#codeBlock : this.#codeBlock(language);
    this.#piece.separate();
    if (announcement) this.#piece.insert(announcement);
    this.#piece.separate();
    return length;
  }

  /** A code block waits for its end: without one, whatever reads as prose is not code and must be spoken. */
  #insideFence(text: string, isEnd: boolean, isFull: boolean): number {
    const known = isEnd && !isFull ? text : text.slice(0, text.lastIndexOf('\n') + 1);
    const fence = this.#fence ?? '';
    const mark = fence.startsWith('~') ? '~' : '`';
    const closed = new RegExp(`^[ \\t>]*${mark}{${fence.length},}[ \\t\\r]*(?:\\n|$)`, 'm').exec(known);
    const opened = new RegExp(`^[ \\t>]*${mark}{3,}[ \\t]*[\\w+#.-]+[ \\t\\r]*(?:\\n|$)`, 'm').exec(known);
    if (closed && !(opened && opened.index < closed.index)) {
      return this.#closeFence(text, closed.index + closed[0].length, isEnd);
    }
    // A second opening mark means that the first block was never closed.
    if (opened) return this.#closeFence(text, proseStart(known.slice(0, opened.index)), isEnd);
    if (isFull) return known.indexOf('\n') + 1 || text.length;
    return isEnd ? this.#closeFence(text, proseStart(text), isEnd) : 0;
  }

  /** Drops the block's rest; if there is none, continues with the text after it. */
  #closeFence(text: string, length: number, isEnd: boolean): number {
    this.#fence = undefined;
    this.#startsLine = true;
    return length || this.#step(text, isEnd, false);
  }

  /** Speaks something in place of `visualLength` units at an offset. Returns that length. */
  #say(said: string, visualLength: number, offset: number = 0): number {
    const visualStart = this.#at + offset;
    this.#piece.say(said, this.#text.slice(visualStart, visualStart + visualLength), visualStart);
    return visualLength;
  }
}
