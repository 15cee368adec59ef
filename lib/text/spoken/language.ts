/** Grammatical gender, where numbers agree with what they count. Without one, a number stands alone: "eins", "uno". */
export type Gender = 'm' | 'f' | 'n';

/** A noun by plural category, with its gender. */
export interface Noun {
  readonly gender?: Gender;
  readonly forms: Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string };
}

/** A currency's name, and that of its hundredth. */
export interface Currency {
  readonly unit: Noun;
  readonly cent?: Noun;
}

/** A day as it is written. */
export interface SpokenDate {
  readonly day: number;
  /** 1 to 12. */
  readonly month: number;
  readonly monthName: string;
  readonly year?: number | undefined;
  /** The day stands before the month in a text that names the month; absent in a date of numbers. */
  readonly dayFirst?: boolean;
  /** What is written before it. */
  readonly before: string;
}

/** A time of day as it is written. */
export interface SpokenTime {
  readonly hour: number;
  /** Absent in "3 pm". */
  readonly minute?: number | undefined;
  readonly second?: number | undefined;
  /** The words around it, in lower case: `pm`, `p.m.`, `uhr`. */
  readonly mark: string;
  readonly before: string;
}

/** Puts a match into words; nothing if it turns out to be something else. */
export interface Rule {
  /** Source of an expression with named groups; bounded, so that it is linear. */
  readonly pattern: string;
  readonly say: (groups: Readonly<Record<string, string | undefined>>, context: RuleContext) => string | undefined;
  /** Whether the dot that it ends with may end the sentence as well. */
  readonly takesDot?: boolean;
}

/** What stands around a match, white space included. */
export interface RuleContext {
  readonly before: string;
  readonly after: string;
}

/** How a language reads out digits and signs. */
export interface SpokenLanguage {
  /** The names of the digits, 0 to 9. */
  readonly digits: readonly string[];
  /** Whether words are written with spaces between them. Default: true. */
  readonly spaced?: boolean;
  /** A whole number below 10 to the power of 15. */
  readonly cardinal: (value: number, gender?: Gender) => string;
  /** The expression for what makes a number an ordinal: `st|nd`; may have named groups of its own. */
  readonly ordinalMarks?: string;
  readonly ordinal?: (value: number, mark: string, context: RuleContext) => string | undefined;
  /** Whether decimals are said digit by digit, or as a number. */
  readonly fraction: 'digits' | 'number';
  readonly words: {
    readonly point: string;
    readonly minus: string;
    readonly plus: string;
    readonly percent: string;
    /** Between the two numbers of a range: "5–10". */
    readonly to: string;
    readonly at: string;
    readonly dot: string;
    readonly hyphen: string;
    readonly underscore: string;
    readonly slash: string;
    /** Between euros and cents, with its spaces. */
    readonly andCents: string;
    /** Between "millions" and a currency, with its spaces. Default: a space. */
    readonly ofMillions?: string;
    /** The same before a vowel. */
    readonly ofMillionsElided?: string;
  };
  /** By ISO code. All others take their names from `Intl`. */
  readonly currencies: Readonly<Record<string, Currency>>;
  /** Which currency each sign means here. */
  readonly signs?: Readonly<Record<string, string>>;
  /** "million", as written and as said. */
  readonly magnitudes: Readonly<Record<string, string>>;
  /** A number before a magnitude, where it is said differently there. */
  readonly beforeMagnitude?: (said: string) => string;
  /** Units written in the language's own letters, by the names of `Intl` or of `unitNouns`. */
  readonly units?: Readonly<Record<string, string>>;
  /** Units that `Intl` does not know. */
  readonly unitNouns: Readonly<Record<string, Noun>>;
  /** The genders of `Intl`'s units; masculine unless listed. */
  readonly unitGenders?: Readonly<Record<string, Gender>>;
  readonly date: (date: SpokenDate) => string;
  /** What may stand between day and month, and before a year: `of `. */
  readonly dateLink?: string;
  readonly time: (time: SpokenTime) => string | undefined;
  /** What may stand before and after a time. */
  readonly timeMarks: { readonly before?: string; readonly after?: string };
  /** Times in other forms than 3:45, with the groups `hour`, `minute`, `mark`. */
  readonly times?: readonly string[];
  /** Between the groups of a phone number. Default: a comma and a space. */
  readonly phonePause?: string;
  /** A group of a phone number. Default: digit by digit. */
  readonly phoneGroup?: (digits: string) => string;
  /** Local phone numbers that are written like counts, where spaces separate thousands. */
  readonly localPhone?: string;
  /** Abbreviations, with or without what has to follow them. */
  readonly abbreviations: readonly Rule[];
  /** Beginnings of nouns that are often counted, by gender, as expressions, where "one" has a gender. */
  readonly counted?: Readonly<Partial<Record<Gender, string>>>;
  /** Words that belong to what stands beside them, beside months, magnitudes and units. */
  readonly hot: string;
  /** Whether a dot after a number does not end a sentence. */
  readonly dottedOrdinals?: boolean;
  /** Acronyms that are spelled out, besides those without vowels. */
  readonly acronyms: string;
  /** The letters' names. Default: the letters. */
  readonly letters?: string;
  /** Tried before all other rules. */
  readonly rules?: readonly Rule[];
}

/** Creates a language for a locale of it. */
export type LanguageOf = (locale: Intl.Locale) => SpokenLanguage;

/** A noun with a singular and a plural. */
export function noun(one: string, other: string = one, gender: Gender = 'm'): Noun {
  return { gender, forms: { one, other } };
}

/** A list of words. */
export function list(words: string): readonly string[] {
  return words.split(/\s/).filter(Boolean);
}

/** What stands for an abbreviation, whatever surrounds it; the expression has no groups. */
export function abbreviation(pattern: string, said: string, takesDot: boolean = false): Rule {
  return { pattern, say: () => said, takesDot };
}

/** A number in groups of three digits, from the highest; `say` gets the digits of a group and its power of 1000. */
export function inThousands(value: number, say: (group: number, power: number, rest: number) => string): string[] {
  const said: string[] = [];
  for (let power = 4; power >= 0; power -= 1) {
    const group = Math.floor(value / 1000 ** power) % 1000;
    if (group > 0) said.push(say(group, power, value % 1000 ** power));
  }
  return said;
}
