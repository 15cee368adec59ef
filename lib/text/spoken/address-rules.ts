import type { Rule, SpokenLanguage } from './language.ts';
import { sayWhole } from './numbers.ts';

const host = '(?:[A-Za-z\\d][A-Za-z\\d-]{0,62}\\.){1,5}[A-Za-z]{2,24}';
const topLevel =
  /\.(?:com|org|net|io|dev|app|info|biz|eu|uk|us|de|fr|es|pt|br|it|jp|cn|in|ae|sa|eg|ch|at|ca|au|mx|ar|nl|be|ai|co|me|tv|edu|gov|int)$/i;

/** Mail addresses and those of the web. */
export function addressRules(language: SpokenLanguage): Rule[] {
  const { words, spaced = true } = language;
  const signs: Readonly<Record<string, string>> = {
    ...{ '.': words.dot, '-': words.hyphen, _: words.underscore, '/': words.slash, '@': words.at, '+': words.plus },
  };
  const space = spaced ? ' ' : '';
  const spell = (address: string): string =>
    (address.match(/[a-z]+|\d+|[^a-z\d]/gi) ?? [])
      .map(
        (part) => signs[part] ?? (/^\d/.test(part) ? sayWhole(part, language) : /^www$/i.test(part) ? 'w w w' : part),
      )
      .join(spaced ? ' ' : space)
      .trim();
  return [
    {
      pattern: `(?<mail>[A-Za-z\\d][A-Za-z\\d._+-]{0,63}@${host})(?![A-Za-z\\d@])`,
      say: ({ mail = '' }) => spell(mail),
    },
    {
      pattern: `(?:https?://)?(?<site>${host})(?<path>(?:/[A-Za-z\\d._-]{0,40}[A-Za-z\\d]){0,4})/?(?![A-Za-z\\d@])`,
      say: ({ site = '', path = '' }, { before }) => {
        const isKnown = topLevel.test(site) || /^www\./i.test(site);
        return isKnown && !/[@.]$/.test(before) ? spell(site + path) : undefined;
      },
    },
  ];
}
