import { primaryLanguage } from '../../core/wire-names.ts';

/** Languages of the platform's transcripts as BCP 47 tags, in the order of its codes. */
const languages: readonly string[] = [
  ...['ar', 'bn', 'yue', 'ca', 'zh-Hans', 'zh-Hant', 'cs', 'da', 'nl', 'en', 'et', 'fi', 'fr-CA', 'fr', 'de', 'he'],
  ...['hi', 'hu', 'id', 'it', 'ja', 'ko', 'ms', 'fa', 'pl', 'pt', 'ro', 'ru', 'es', 'sv', 'tl', 'ta', 'te', 'th'],
  ...['tr', 'uk', 'vi'],
];

/** Tags of the same languages by other names. */
const aliases: Readonly<Record<string, string | undefined>> = {
  zh: 'zh-Hans',
  'zh-CN': 'zh-Hans',
  'zh-SG': 'zh-Hans',
  'zh-TW': 'zh-Hant',
  'zh-HK': 'zh-Hant',
  fil: 'tl',
};

/** The platform's code of a language; `undefined` for one that it does not transcribe. */
export function languageCode(tag: string): number | undefined {
  const codes = [tag, aliases[tag], primaryLanguage(tag)].map((each) => languages.indexOf(each ?? ''));
  return codes.find((code) => code >= 0);
}

/** The language of a code; `undefined` for none, or one of the future. */
export function languageTag(code: number | undefined): string | undefined {
  return languages[code ?? -1];
}
