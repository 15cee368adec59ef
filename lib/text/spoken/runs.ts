import type { Reader, Reading } from './reader.ts';

/** Longer words and longer runs of words are read in parts. */
const maxWord = 96;
const maxRun = 240;
/** How much of the preceding text is considered. */
const maxBefore = 32;

const spaceless = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー々〇]/u;
const wordRun = /^[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー々〇]*/u;
/** East Asian characters that belong to an adjacent number. */
const counters =
  /^[年月日時时分秒点點円元圆块塊角番第回個个件人名万萬億亿兆千百午前後上下晚中早凌晨约約歳岁度号號半公里斤米克升位杯张張本次天周小级級名家件条條台种種双雙から至到毎每小ー〇]/u;
/** Punctuation around a word that changes nothing. */
const opening = /^(?:(?![/@#%&\\])\p{P})+/u;
const closing = /(?<!(?![/@#%&\\])\p{P})(?:(?![/@#%&\\])\p{P})+$/u;
const plainWord = /^[\p{L}\p{M}'’‑-]+$/u;
const endsSentence = /[!?…।؟。！？;؛][\p{Pe}\p{Pf}"']*$/u;
const endsWithDot = /(?<![^\s.])(?<core>[^\s.]*)\.[\p{Pe}\p{Pf}"']*$/u;

/**
 * Divides a growing text where nothing on the left belongs to anything on the right: at plain words, ends of sentences
 * and ends of lines. So what is said does not depend on how the text arrives.
 */
export class Runs {
  readonly #reader: Reader;
  #text: string = '';
  /** How much of the text has been examined: what is not plain, and what stands between. */
  #at: number = 0;
  #before: string = '';

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The text that can be said now. */
  push(text: string, isEnd: boolean = false): Reading[] {
    this.#text += text;
    const readings: Reading[] = [];
    for (;;) {
      const end = this.#next(isEnd);
      if (end === undefined) break;
      const word = this.#text.slice(this.#at, end);
      if (/^\s/.test(word)) {
        if (this.#at === 0 || word === '\n') readings.push(...this.#close('', end, true));
        else this.#at = end;
      } else if (this.#isPlain(word)) {
        readings.push(...this.#close(word, this.#at), ...this.#close('', word.length, true));
      } else if (this.#isLast(word) || end >= maxRun) {
        readings.push(...this.#close('', end));
      } else this.#at = end;
    }
    return isEnd ? [...readings, ...this.#close('', this.#text.length)] : readings;
  }

  /** Reads the text up to an offset; plain parts as written. */
  #close(after: string, end: number, isPlain: boolean = false): Reading[] {
    const text = this.#text.slice(0, end);
    if (text === '') return [];
    // White space at the end of a run of words changes nothing.
    const readings = isPlain && this.#at === 0 ? [{ written: text }] : this.#reader.read(text, this.#before, after);
    this.#before = (this.#before + text).slice(-maxBefore);
    this.#text = this.#text.slice(end);
    this.#at = 0;
    return readings;
  }

  /** Where the next word, East Asian character or white space ends; nothing if not known yet. */
  #next(isEnd: boolean): number | undefined {
    const at = this.#at;
    const text = this.#text;
    const head = text.slice(at, at + 2);
    if (head === '' || (!isEnd && /^[\ud800-\udbff]$/.test(head))) return undefined;
    if (/^\s/.test(head)) return at + 1;
    if (spaceless.test(head)) return at + ((head.codePointAt(0) ?? 0) > 0xffff ? 2 : 1);
    // No further than a word is read: a model may send a word of a megabyte at once.
    const length = wordRun.exec(text.slice(at, at + maxWord + 1))?.[0].length ?? 1;
    if (length > maxWord) return at + maxWord - (/[\ud800-\udbff]/.test(text.charAt(at + maxWord - 1)) ? 1 : 0);
    const end = at + length;
    const rest = text.slice(end, end + 2);
    return isEnd || (rest !== '' && !/^[\ud800-\udbff]$/.test(rest)) ? end : undefined;
  }

  #isPlain(word: string): boolean {
    if (spaceless.test(word)) return !counters.test(word);
    const core = word.replace(opening, '').replace(closing, '');
    return plainWord.test(core) && !/^\p{Lu}{2,}s?$/u.test(core) && !this.#isHot(core);
  }

  #isHot(core: string): boolean {
    const { hot } = this.#reader;
    const word = core.toLowerCase();
    return hot.has(word) || (word.endsWith('str') && hot.has('str'));
  }

  /** Whether a sentence ends with it. */
  #isLast(word: string): boolean {
    if (endsSentence.test(word)) return true;
    const core = endsWithDot.exec(word)?.groups?.['core'];
    if (core === undefined || this.#isHot(core.replace(opening, '')) || /^\p{L}(?:\.\p{L})*$/u.test(core)) return false;
    return !(this.#reader.dottedOrdinals && /\d$/.test(core));
  }
}
