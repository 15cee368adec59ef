import type { Rule, SpokenLanguage } from './language.ts';
import { numberPattern, readNumeral, separatorsOf, type Numeral } from './numbers.ts';

/** What all rules of a language are made of. */
export interface RuleParts {
  readonly language: SpokenLanguage;
  /** BCP 47. */
  readonly locale: string;
  /** The expression of a number, without a sign. */
  readonly number: string;
  readonly read: (written: string) => Numeral;
  /** Whether thousands are separated by spaces. */
  readonly groupsBySpace: boolean;
  /** The number of each month, by its names as they may be written, without dots. */
  readonly months: ReadonlyMap<string, number>;
  /** Their long names. */
  readonly monthNames: readonly string[];
}

const spaceless = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}]';

/** Follows an expression that ends a word. */
export const lettersEnd: string = `(?!\\d|(?!${spaceless})[\\p{L}\\p{M}])`;

/** Follows an expression that ends a word or a number. */
export const wordEnds: string = `(?![.,]?\\d|(?!${spaceless})[\\p{L}\\p{M}])`;

/** One of these, the longest that matches. */
export function anyOf(words: Iterable<string>): string {
  return [...words]
    .sort((a, b) => b.length - a.length)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join('|');
}

/**
 * Two of what a rule says, with a dash between them: 9am-5pm. A hyphen with spaces around it is a minus, or a thought.
 *
 * @param last - What comes after the dash. Default: the same.
 */
export function rangeOf(first: Rule, { words, spaced = true }: SpokenLanguage, last: Rule = first): Rule {
  const { pattern, say } = first;
  const space = spaced ? ' ' : '';
  return {
    pattern: `${pattern}(?:-| ?[–—] ?)${last.pattern.replace(/\(\?<(\w+)>/g, '(?<$1_>')}`,
    takesDot: last.takesDot ?? false,
    say: (groups, context) => {
      const ends = Object.entries(groups).filter(([name]) => name.endsWith('_'));
      const from = say(groups, context);
      const to = last.say(Object.fromEntries(ends.map(([name, text]) => [name.slice(0, -1), text])), context);
      return from && to && `${from}${space}${words.to}${space}${to}`;
    },
  };
}

/** The parts of a language's rules. */
export function partsOf(language: SpokenLanguage, locale: string): RuleParts {
  const separators = separatorsOf(locale);
  const months = new Map<string, number>();
  const monthNames: string[] = [];
  for (const month of ['long', 'short'] as const) {
    const format = new Intl.DateTimeFormat(locale, { month, day: 'numeric', timeZone: 'UTC', calendar: 'gregory' });
    for (let index = 0; index < 12; index += 1) {
      const parts = format.formatToParts(Date.UTC(2024, index, 15));
      const name = (parts.find(({ type }) => type === 'month')?.value ?? '').replace(/\.$/, '');
      if (month === 'long') monthNames.push(name);
      // Those of East Asia are numbers, which need no names.
      if (name === '' || /\d/.test(name)) continue;
      for (const written of [name, name.charAt(0).toUpperCase() + name.slice(1)]) {
        if (!months.has(written)) months.set(written, index + 1);
      }
    }
  }
  return {
    ...{ language, locale, months, monthNames },
    number: numberPattern(separators),
    read: (written) => readNumeral(written, separators),
    groupsBySpace: /\s/.test(separators.group),
  };
}
