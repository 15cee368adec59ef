import type { Gender, SpokenLanguage } from './language.ts';

/** A number as it is written: its digits, without separators. */
export interface Numeral {
  readonly isNegative: boolean;
  readonly whole: string;
  readonly decimals: string;
}

/** What a locale writes between the digits of a number. */
export interface Separators {
  readonly decimal: string;
  readonly group: string;
  /** Digits in the groups beyond the first: 2 where lakhs are counted. */
  readonly groupSize: '{2,3}' | '{3}';
}

const escaped = (sign: string): string => sign.replace(/[.*+?^${}()|[\]\\]/, '\\$&');

/** The separators of a locale, whose own digits are read as those of ASCII. */
export function separatorsOf(locale: string): Separators {
  const parts = new Intl.NumberFormat(`${locale}-u-nu-latn`).formatToParts(12345678.5);
  const find = (type: string): string => parts.find((part) => part.type === type)?.value ?? '';
  const isIndian = parts.filter(({ type }) => type === 'integer').length > 3;
  return {
    decimal: find('decimal') || '.',
    group: find('group') || ',',
    groupSize: isIndian ? '{2,3}' : '{3}',
  };
}

/** The expression of a number, at most 15 digits before the decimals and 12 after them. */
export function numberPattern({ decimal, group, groupSize }: Separators): string {
  const [point, comma] = [escaped(decimal), escaped(group)];
  // Narrow spaces separate thousands everywhere, and where the language does not use dots or commas, all spaces do.
  const groups = /\s/.test(group) ? ` \u00a0\u202f${decimal === ',' ? '.' : ''}` : `${comma}\u00a0\u202f`;
  // Elsewhere, a space alone does not join "5 200": two of them do, or zeros.
  const spaced = '[1-9]\\d{0,2}(?: 000|(?: \\d{3}){2,4})(?! ?\\d|-\\d{4})';
  const grouped = `\\d{1,3}(?:[${groups}]\\d${groupSize}){1,5}(?!\\d)(?:${point}\\d{1,12})?`;
  // Where both separators stand in the other order, nothing else can be meant.
  const foreign = /\s/.test(group) ? '\\d{1,3}(?:[.,]\\d{3}){1,4}[.,]\\d{1,2}(?!\\d)' : '';
  const swapped = `\\d{1,3}(?:${point}\\d{3}){1,4}${comma}\\d{1,2}(?!\\d)`;
  // ".5" is a number where the point is a dot: elsewhere, nobody begins with a comma.
  const fraction = decimal === '.' ? '|(?<![\\d.,\\p{L}])\\.\\d{1,12}' : '';
  const byHand = groups.startsWith(' ') ? '' : `|${spaced}(?:${point}\\d{1,12})?`;
  return `(?:${foreign || swapped}${byHand}|${grouped}|\\d{1,15}(?:${point}\\d{1,12})?${fraction})`;
}

/** Reads what {@link numberPattern} has found, with its sign. */
export function readNumeral(written: string, { decimal }: Pick<Separators, 'decimal'>): Numeral {
  const marks = written.replace(/[^.,]/g, '');
  const last = Math.max(written.lastIndexOf('.'), written.lastIndexOf(','));
  const isMixed = new Set(marks).size > 1;
  const isDecimal = isMixed || (written[last] === decimal && marks.length === 1);
  const point = isDecimal && last >= 0 ? last : written.length;
  const digits = (text: string): string => text.replace(/\D/g, '');
  return {
    isNegative: /^[-−]/.test(written),
    whole: digits(written.slice(0, point)),
    decimals: digits(written.slice(point)),
  };
}

/** Digits one by one. */
export function sayDigits(digits: string, language: SpokenLanguage): string {
  const names = Array.from(digits, (digit) => language.digits[Number(digit)] ?? digit);
  return names.join(language.spaced === false ? '' : ' ');
}

/** A whole number; one that begins with zeros, or has too many digits, digit by digit. */
export function sayWhole(digits: string, language: SpokenLanguage, gender?: Gender): string {
  if (digits.length > 15 || /^0\d/.test(digits)) return sayDigits(digits, language);
  return language.cardinal(Number(digits), gender);
}

/** A number with its sign and decimals. */
export function sayNumeral(numeral: Numeral, language: SpokenLanguage, gender?: Gender): string {
  const { words, fraction, spaced = true } = language;
  const { isNegative, whole, decimals } = numeral;
  const space = spaced ? ' ' : '';
  const sign = isNegative ? `${words.minus}${space}` : '';
  if (!decimals) return sign + sayWhole(whole, language, gender);
  const isNumber = fraction === 'number' && decimals.length <= 3 && !decimals.startsWith('0');
  const said = isNumber ? language.cardinal(Number(decimals)) : sayDigits(decimals, language);
  return `${sign}${sayWhole(whole, language)}${space}${words.point}${space}${said}`;
}

/** Letter by letter, for capitals. */
export function sayLetters(word: string, { letters, spaced = true }: SpokenLanguage): string {
  const names = letters?.split(' ');
  const nameOf = (letter: string): string => names?.[letter.charCodeAt(0) - 65] ?? letter;
  return Array.from(word, nameOf).join(spaced || !names ? ' ' : '');
}

/** The value, for plurals. */
export function valueOf({ whole, decimals }: Numeral): number {
  return Number(`${whole}.${decimals || '0'}`);
}
