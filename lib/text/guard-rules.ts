import { VoiceError } from '../core/errors.ts';
import { ownEntry } from '../core/own-entry.ts';
import { MarkdownText } from './markdown.ts';
import { joined, visualRange } from './spoken-piece.ts';
import { unspaced } from './words.ts';

/** Finds what a guard acts upon. */
export interface GuardRule {
  /** Names it in events: `card`, `blocklist`. */
  readonly name: string;
  /** Start and end offsets. Called with the text as written, and with the words that will be spoken. */
  readonly find: (text: string) => Iterable<readonly [start: number, end: number]>;
}

/** The kinds of personal data. */
export type PersonalData = 'card' | 'iban' | 'mail' | 'phone';

const startsWord = '(?<![\\p{L}\\p{M}\\p{N}_])';
const endsWord = '(?![\\p{L}\\p{M}\\p{N}_])';

/**
 * A rule for whole words, in any script: JavaScript's `\b` knows only ASCII letters.
 *
 * @param expression - Only its flags `i`, `m` and `s` have an effect.
 * @param name - Names it in events. Default: `pattern`.
 */
export function pattern(expression: RegExp, name: string = 'pattern'): GuardRule {
  const { source, flags } = expression;
  const whole = new RegExp(`${startsWord}(?:${source})${endsWord}`, `gu${flags.replace(/[^ims]/g, '')}`);
  return { name, find: (text) => matchesOf(text, whole) };
}

/**
 * A rule for words and phrases, in any case. Between Han, kana, Thai, Lao, Khmer and Myanmar letters, whose scripts have
 * no spaces, parts of words match too.
 *
 * @param words - Not empty.
 * @param name - Names it in events. Default: `blocklist`.
 */
export function blocklist(words: readonly string[], name: string = 'blocklist'): GuardRule {
  const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  const sources = words
    .map((word) => word.normalize('NFKC').trim())
    .filter((word) => word !== '')
    .sort((a, b) => b.length - a.length)
    .map((word) => {
      const parts = word
        .split(/[\s\p{Pd}]+/u)
        .map(escape)
        .join('[\\s\\p{Pd}_]+');
      return unspaced.test(word) ? parts : `${startsWord}${parts}${endsWord}`;
    });
  const any = new RegExp(sources.join('|'), 'giu');
  return { name, find: (text) => (sources.length > 0 ? matchesOf(text, any) : []) };
}

const card = /(?<!\d)\d(?:[\s.,\p{Pd}]{0,2}\d){12,18}(?!\d)/gu;
const iban = /(?<![\p{L}\p{N}])[A-Z]{2}\d{2}(?:[\s\p{Pd}]?[A-Z\d]){11,30}/giu;
/** How long an IBAN of each country is (the IBAN registry). */
const ibanLengths =
  'AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18' +
  'GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24' +
  'PL28PS29PT25QA29RO24RS22SA24SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20';
const mail = /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,128}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu;
const phone = /(?<![\p{L}\p{N}])(?:\+|\(\+?)?\d[\d\s()./\p{Pd}]{5,40}\d/gu;

/**
 * Rules for personal data: card numbers (Luhn check), IBANs (check digits), e-mail addresses, phone numbers.
 *
 * @throws VoiceError `configuration` when there is no such kind.
 */
export function personalData(...kinds: readonly PersonalData[]): GuardRule[] {
  const strange = kinds.find((kind) => ownEntry(finders, kind) === undefined);
  if (strange !== undefined) {
    const message = `personalData() finds ${Object.keys(finders).join(', ')}, not "${strange}"`;
    throw new VoiceError(message, { code: 'configuration' });
  }
  return (kinds.length > 0 ? kinds : (['card', 'iban', 'mail', 'phone'] as const)).map((name) => ({
    name,
    find: finders[name],
  }));
}

const finders: Readonly<Record<PersonalData, (text: string) => (readonly [number, number])[]>> = {
  card: (text) => matchesOf(text, card).filter(([start, end]) => isCard(digitsOf(text.slice(start, end)))),
  iban: (text) =>
    matchesOf(text, iban).flatMap(([start, end]) => {
      // The next word may have been taken for part of it.
      for (let to = end; to - start >= 15; to -= 1) if (isIban(text.slice(start, to))) return [[start, to] as const];
      return [];
    }),
  mail: (text) => matchesOf(text, mail),
  phone: (text) => matchesOf(text, phone).filter(([start, end]) => isPhone(text.slice(start, end))),
};

function matchesOf(text: string, expression: RegExp): (readonly [number, number])[] {
  return [...text.matchAll(expression)].map(({ 0: match, index }) => [index, index + match.length] as const);
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}

function isCard(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of Array.from(digits).reverse().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0 && !/^0+$/.test(digits);
}

function isIban(text: string): boolean {
  const compact = text.replace(/[^a-z\d]/gi, '').toUpperCase();
  if (!ibanLengths.includes(`${compact.slice(0, 2)}${compact.length}`) || /[^a-z\d]$/i.test(text)) return false;
  const moved = compact.slice(4) + compact.slice(0, 4);
  let rest = 0;
  for (const character of moved) rest = Number(`${rest}${parseInt(character, 36)}`) % 97;
  return rest === 1;
}

/** A run of digits is a phone number if it is written like one: with a prefix, or in groups, and no date. */
function isPhone(text: string): boolean {
  const { length } = digitsOf(text);
  if (length < 7 || length > 15) return false;
  if (/^\d{4}[-./]\d{1,2}[-./]\d{1,2}$|^\d{1,2}[-./]\d{1,2}[-./]\d{2,4}$/.test(text)) return false;
  const groups = text.split(/\D+/).filter(Boolean);
  return /^(?:\+|\(|0)/.test(text) || (groups.length > 1 && groups.every((group) => group.length > 1));
}

/** Every range that a rule finds, in the text as written or as it would be spoken, sorted and joined. */
export function findAll(text: string, rules: readonly GuardRule[]): Found {
  const names: string[] = [];
  const ranges: [number, number][] = [];
  const views = [plain(text), spokenView(text)];
  for (const { name, find } of rules) {
    const all = views.flatMap(({ text: view, rangeOf }) => [...find(view)].map((range) => rangeOf(...range)));
    const found = all.filter(([start, end]) => !ranges.some(([from, to]) => from <= start && end <= to));
    if (found.length > 0) names.push(name);
    ranges.push(...found);
  }
  const sorted = ranges.filter(([start, end]) => start < end).sort(([a], [b]) => a - b);
  const apart: [number, number][] = [];
  for (const [start, end] of sorted) {
    const last = apart.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else apart.push([start, end]);
  }
  return { names, ranges: apart };
}

/** What the rules found in a text. */
export interface Found {
  readonly names: readonly string[];
  readonly ranges: readonly (readonly [number, number])[];
}

/** A text to be searched, and the way back. */
interface View {
  readonly text: string;
  readonly rangeOf: (start: number, end: number) => [number, number];
}

/** Marks, links and tags in the middle of a word hide it from a rule, but not from a listener. */
function spokenView(written: string): View {
  const reader = new MarkdownText({ codeBlock: '' });
  const piece = joined([...reader.push(written), ...reader.flush()]);
  const { text, rangeOf } = plain(piece.spoken);
  return {
    text,
    rangeOf: (start, end) => {
      const [from, to] = rangeOf(start, end);
      // At the end, what is written after the last spoken word counts too.
      return [...visualRange({ ...piece, spoken: `${piece.spoken} ` }, from, to)];
    },
  };
}

/** Full-width letters, digits of other scripts and invisible characters make no difference. */
function plain(text: string): View {
  let folded = '';
  const starts: number[] = [];
  let at = 0;
  for (const character of text) {
    const shown = /\p{Default_Ignorable_Code_Point}/u.test(character) ? '' : asciiDigit(character.normalize('NFKC'));
    starts.push(...Array.from({ length: shown.length }, () => at));
    folded += shown;
    at += character.length;
  }
  const { length } = text;
  const endOf = (end: number): number => {
    const last = starts[end - 1] ?? 0;
    return Math.min(length, last + ((text.codePointAt(last) ?? 0) > 0xffff ? 2 : 1));
  };
  return { text: folded, rangeOf: (start, end) => [starts[start] ?? length, endOf(end)] };
}

/** Unicode has the digits of each script in a row of ten. */
function asciiDigit(character: string): string {
  if (!/^\p{Nd}$/u.test(character) || /^\d$/.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  let zero = code;
  while (code - zero < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((code - zero) % 10);
}
