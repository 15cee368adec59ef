import { primaryLanguage, snakeKeys } from '../../lib/core/wire-names.ts';

describe('snakeKeys()', () => {
  it('names the keys that have a value, and only those', () => {
    const config: { maxDelayMs?: number; keyterms?: string[]; noVerbatim?: boolean; other?: string } = {
      ...{ maxDelayMs: 0, noVerbatim: false, other: 'x' },
    };
    expect(snakeKeys(config, ['maxDelayMs', 'keyterms', 'noVerbatim'])).toEqual({
      max_delay_ms: 0,
      no_verbatim: false,
    });
  });
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
