import type { LanguageOf, Rule } from './language.ts';
import { partsOf } from './parts.ts';
import { hotWords, rulesOf } from './rules.ts';

/** Part of a text, and what is said for it; nothing where it is said as written. */
export interface Reading {
  readonly written: string;
  readonly said?: string;
}

/** Reads out texts in one language. */
export interface Reader {
  /** What is said for part of a text, given what surrounds it. */
  readonly read: (text: string, before: string, after: string) => Reading[];
  /** Words, in lower case and without punctuation, that may belong to an adjacent number. */
  readonly hot: ReadonlySet<string>;
  /** Whether a dot after a number is ambiguous: it may or may not end a sentence. */
  readonly dottedOrdinals: boolean;
}

interface Compiled {
  readonly rule: Rule;
  readonly expression: RegExp;
}

const inWord = /[\p{L}\p{M}\p{N}_]$/u;
const spaceless = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]$/u;

/** @param locale - BCP 47. */
export function createReader(languageOf: LanguageOf, locale: string): Reader {
  const language = languageOf(new Intl.Locale(locale));
  const parts = partsOf(language, locale);
  const rules = rulesOf(parts).map((rule) => ({ rule, expression: new RegExp(rule.pattern, 'uy') }));
  return {
    read: (text, before, after) => readText(rules, text, before, after),
    hot: hotWords(parts),
    dottedOrdinals: language.dottedOrdinals ?? false,
  };
}

function readText(rules: readonly Compiled[], written: string, before: string, after: string): Reading[] {
  const around: Around = { text: plainDigits(written) + after, end: written.length, before };
  const readings: Reading[] = [];
  let plainFrom = 0;
  for (let at = 0; at < written.length;) {
    const found = isInside(around, at) ? undefined : match(rules, around, at);
    if (!found) {
      at += 1;
      continue;
    }
    if (plainFrom < at) readings.push({ written: written.slice(plainFrom, at) });
    const end = at + found.length;
    readings.push({ written: written.slice(at, end), said: found.said });
    at = plainFrom = end;
  }
  if (plainFrom < written.length) readings.push({ written: written.slice(plainFrom) });
  return readings;
}

/** A text to be read, and what stands around it. */
interface Around {
  /** With what follows it. */
  readonly text: string;
  readonly end: number;
  readonly before: string;
}

/** Whether an offset is in the middle of a word or a number. */
function isInside({ text, before }: Around, at: number): boolean {
  const previous = (at < 2 ? before.slice(-2) : '') + text.slice(Math.max(0, at - 2), at);
  const next = text.charAt(at);
  if (spaceless.test(previous)) return false;
  if (/[-−+]/.test(next)) return /[^\s([{"'“„«‘¿¡$€£¥₹]$/u.test(previous);
  return inWord.test(next) && (inWord.test(previous) || (/\d/.test(next) && /[\p{L}\p{M}\p{N}][.,]$/u.test(previous)));
}

function match(
  rules: readonly Compiled[],
  { text, end, before: outer }: Around,
  at: number,
): { readonly said: string; readonly length: number } | undefined {
  for (const { rule, expression } of rules) {
    expression.lastIndex = at;
    const found = expression.exec(text);
    const whole = found?.[0] ?? '';
    if (!found || whole === '' || at + whole.length > end) continue;
    const before = (outer + text.slice(0, at)).slice(-32);
    const after = text.slice(at + whole.length);
    const said = rule.say(found.groups ?? {}, { before, after });
    if (said === undefined) continue;
    // "at 3 p.m. Then": the dot ends the sentence as well.
    const isEnd = rule.takesDot && whole.endsWith('.') && /^["'”’)\]]*(?:$|\n|\s+[\p{Lu}\p{Lo}])/u.test(after);
    return { said: isEnd ? `${said}.` : said, length: whole.length };
  }
  return undefined;
}

const zeros = [0x0660, 0x06f0, 0x0966, 0xff10];
const alike: Readonly<Record<string, string>> = { '٪': '%', '％': '%', '：': ':', '￥': '¥', '．': '.', '＄': '$' };

/** Digits of other scripts, and some signs, as ASCII; the length of a text stays the same. */
function plainDigits(text: string): string {
  return text
    .replace(/(?<=[٠-٩])[٫٬](?=[٠-٩])/g, (sign) => (sign === '٫' ? '.' : ','))
    .replace(/[٪％：￥．＄]/g, (sign) => alike[sign] ?? sign)
    .replace(/[٠-٩۰-۹०-९０-９]/g, (digit) => {
      const code = digit.charCodeAt(0);
      const zero = zeros.find((each) => code >= each && code < each + 10) ?? code;
      return String(code - zero);
    });
}
