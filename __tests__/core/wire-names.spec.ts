import { primaryLanguage, snakeCase } from '../../lib/core/wire-names.ts';

describe('snakeCase()', () => {
  for (const [key, name] of [
    ['maxDelayMs', 'max_delay_ms'],
    ['keyterms', 'keyterms'],
    ['noVerbatim', 'no_verbatim'],
  ] as const) {
    it(`${key} is ${name}`, () => expect(snakeCase(key)).toBe(name));
  }
});

describe('primaryLanguage()', () => {
  for (const [tag, language] of [
    ['en', 'en'],
    ['en-US', 'en'],
    ['ZH-Hant-TW', 'zh'],
    ['fra', 'fra'],
    ['', ''],
  ] as const) {
    it(`${tag} is ${language}`, () => expect(primaryLanguage(tag)).toBe(language));
  }
});
