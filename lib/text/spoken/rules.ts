import { addressRules } from './address-rules.ts';
import { amountMark, amountRules, unitWords } from './amount-rules.ts';
import { dateRules, timeRules } from './calendar-rules.ts';
import type { Rule, SpokenLanguage } from './language.ts';
import { sayDigits, sayLetters, sayNumeral, sayWhole } from './numbers.ts';
import { anyOf, wordEnds, type RuleParts } from './parts.ts';

/** All rules of a language: the first that matches counts. */
export function rulesOf(parts: RuleParts): readonly Rule[] {
  const { language } = parts;
  return [
    ...addressRules(language),
    ...(language.rules ?? []),
    ...dateRules(parts),
    ...timeRules(parts),
    ...phoneRules(parts),
    ...amountRules(parts),
    ...numberRules(parts),
    ...language.abbreviations,
    ...acronymRules(language),
  ];
}

/** Words that belong to numbers, in lower case. */
export function hotWords({ language, months }: RuleParts): ReadonlySet<string> {
  const { hot, magnitudes, units = {}, dateLink = '' } = language;
  return new Set([
    ...hot.split(/\s+/),
    ...dateLink.trim().split(/\s+/),
    ...[...Object.keys(magnitudes), ...Object.keys(units), ...unitWords, ...months.keys()].map((word) =>
      word.toLowerCase(),
    ),
  ]);
}

/** Whether digits in groups are a count, or a range of counts, given what follows. */
function countsOf({ language, number, groupsBySpace }: RuleParts): (written: string, after: string) => boolean {
  const { counted = {}, localPhone = '(?!)' } = language;
  const nouns = Object.values(counted).map((each) => `[ \\u00a0\\u202f](?:${each})`);
  const said = new RegExp(`^(?:${[amountMark(language), ...nouns].join('|')})`, 'u');
  const whole = new RegExp(`^${number}$`, 'u');
  const local = new RegExp(`^${localPhone}$`);
  const inGroups = /^[1-9]\d{0,2}(?:[ .\u00a0\u202f]\d{3})+$/;
  // Few phone numbers end in so many zeros.
  const isRound = /^(?:[1-9]\d{0,2}|[1-9]\d? \d{3}) 000$| 000 000$/;
  return (written, after) =>
    written.split(/[-‑–]/).every((each) => {
      if (!inGroups.test(each) || !whole.test(each)) return false;
      return !each.includes(' ') || said.test(after) || isRound.test(each) || (groupsBySpace && !local.test(each));
    });
}

function phoneRules(parts: RuleParts): Rule[] {
  const { language } = parts;
  const isCount = countsOf(parts);
  const { words, phonePause = ', ', phoneGroup = (digits: string): string => sayDigits(digits, language) } = language;
  const space = language.spaced === false ? '' : ' ';
  const say = (written: string): string | undefined => {
    const groups = written.match(/\d{1,15}/g) ?? [];
    const { length } = groups.join('');
    if (length < 7 || length > 19) return undefined;
    const [first = '', ...rest] = groups;
    const isAbroad = written.startsWith('+');
    const said = [isAbroad ? `${words.plus}${space}${sayDigits(first, language)}` : phoneGroup(first)];
    return [...said, ...rest.map(phoneGroup)].join(phonePause);
  };
  const next = '[ \\u00a0\\u202f.\\-‑–]';
  return [
    `\\+\\d{1,15}(?:${next}?\\(\\d{1,5}\\))?(?:${next}\\d{1,12}){0,7}`,
    `\\(\\d{2,5}\\) ?\\d{1,8}(?:${next}\\d{2,8}){0,5}`,
    // Not a range, a date or thousands: at least three groups, a trunk prefix, or a local number.
    `\\d{2,5}(?:${next}\\d{2,5}){2,5}`,
    `0\\d{2,5}[ /\\-]\\d{4,9}`,
    `\\d{3}-\\d{4}`,
    `0\\d{8,11}`,
    // Nobody counts that far without separators, unless the number is round.
    `[1-9]\\d{9,14}(?<!0{6})`,
  ].map((pattern) => ({
    pattern: `(?<phone>${pattern})${wordEnds}`,
    say: ({ phone = '' }, { after }) => (isCount(phone, after) ? undefined : say(phone)),
  }));
}

function numberRules({ language, number, read }: RuleParts): Rule[] {
  const { words, ordinal, ordinalMarks, spaced = true, beforeMagnitude, magnitudes } = language;
  const space = spaced ? ' ' : '';
  const numeral = (written: string): string => sayNumeral(read(written), language);
  const range = (from: string, to: string): string => `${numeral(from)}${space}${words.to}${space}${numeral(to)}`;
  const gap = spaced ? '[ \\u00a0\\u202f]' : ' ?';
  const countedRules = (['m', 'f'] as const).flatMap((gender): Rule[] => {
    const nouns = language.counted?.[gender];
    if (!nouns) return [];
    return [
      {
        pattern: `(?<count>${number})(?=${gap}(?:${nouns}))`,
        say: ({ count = '' }) => sayNumeral(read(count), language, gender),
      },
    ];
  });
  return [
    ...(ordinal && ordinalMarks
      ? [
          {
            pattern: `(?<ordinal>\\d{1,6}) ?(?<mark>${ordinalMarks})${wordEnds}`,
            say: ({ ordinal: value, mark = '' }, context) => ordinal(Number(value), mark, context),
          } satisfies Rule,
        ]
      : []),
    {
      pattern: `(?<from>${number}) ?[–—] ?(?<to>${number})${wordEnds}`,
      say: ({ from = '', to = '' }) => range(from, to),
    },
    {
      pattern: `(?<from>[1-9]\\d{0,3})-(?<to>[1-9]\\d{0,3})${wordEnds}(?!-)`,
      say: ({ from = '', to = '' }) => (Number(from) < Number(to) ? range(from, to) : undefined),
    },
    ...countedRules,
    ...(beforeMagnitude
      ? [
          {
            pattern: `(?<count>[-−]?${number})(?=${anyOf(Object.keys(magnitudes))})`,
            say: ({ count = '' }) => beforeMagnitude(numeral(count)),
          } satisfies Rule,
        ]
      : []),
    { pattern: `(?<number>[-−]?${number})${wordEnds}`, say: ({ number: written = '' }) => numeral(written) },
    {
      // A version number or an IP address.
      pattern: `(?<dotted>\\d{1,5}(?:\\.\\d{1,5}){2,5})${wordEnds}`,
      say: ({ dotted = '' }) =>
        dotted
          .split('.')
          .map((part) => sayWhole(part, language))
          .join(`${space}${words.dot}${space}`),
    },
    {
      pattern: `\\+(?<positive>${number})${wordEnds}`,
      say: ({ positive = '' }) => `${words.plus}${space}${numeral(positive)}`,
    },
    { pattern: `(?<long>\\d{16,64})${wordEnds}`, say: ({ long = '' }) => sayDigits(long, language) },
  ];
}

function acronymRules(language: SpokenLanguage): Rule[] {
  const spelled = new Set(language.acronyms.split(/\s+/));
  const spell = (word: string): string => sayLetters(word, language);
  return [
    {
      pattern: '(?<dotted>(?:[A-Z]\\.){2,6})(?![\\p{L}\\d])',
      // No one can tell whether a sentence ends in "U.S. Navy".
      say: ({ dotted = '' }, { after }) =>
        spell(dotted.replace(/\./g, '')) + (/^["'”’)\]]*(?:$|\n)/.test(after) ? '.' : ''),
    },
    {
      pattern: `(?<acronym>[A-Z]{2,6})(?<many>s?)${wordEnds}(?![@_]|[-&'’]\\p{L})`,
      say: ({ acronym = '', many }) => {
        const isSpelled = spelled.has(acronym) || !/[AEIOUY]|^(.)\1*$|^[IVX]+$/.test(acronym);
        return isSpelled ? `${spell(acronym)}${many ? "'s" : ''}` : undefined;
      },
    },
  ];
}
