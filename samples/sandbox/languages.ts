/** Which language was said, for services that tell it: by its letters, else by words that the others do not have. */

const letters: readonly (readonly [language: string, pattern: RegExp])[] = [
  ['ja', /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['zh', /\p{Script=Han}/u],
  ['ko', /\p{Script=Hangul}/u],
  ['hi', /\p{Script=Devanagari}/u],
  ['ar', /\p{Script=Arabic}/u],
  ['ru', /\p{Script=Cyrillic}/u],
];

const words: Readonly<Record<string, readonly string[]>> = {
  en: 'the is are you what my me it and of to hello hi please thank thanks how when where who tell i'.split(' '),
  es: 'el es está qué y mi por favor para hola gracias cómo como cuánto dónde quién yo usted hora buenos buenas'.split(
    ' ',
  ),
  fr: "le les est et vous je il bonjour bonsoir salut merci combien où quel quelle heure s'il plaît une".split(' '),
  de: 'der das ist und ich du sie dich mein bitte hallo danke wie wann wer ein eine guten grüß uhr'.split(' '),
  it: 'il gli è che sono ciao grazie quanto perché chi io buongiorno favore della ore'.split(' '),
  pt: 'é você meu minha olá oi obrigado obrigada como quanto onde quem não bom boa dia horas'.split(' '),
  nl: 'het een en ik jij mijn alsjeblieft hoi hallo dank wanneer waar wie goedemorgen laat'.split(' '),
};

const all = [...Object.keys(words), ...letters.map(([language]) => language)];

/**
 * The language of a text.
 *
 * @param choice - Tags of languages to choose from, one of which is returned as it is. Default, and if empty: all.
 * @returns The first of them, else English, where the text does not say.
 */
export function languageOf(text: string, choice: readonly string[] = []): string {
  const among = choice.length > 0 ? choice : all;
  const said = new Set(text.toLowerCase().match(/[\p{L}']+/gu));
  const [written] = letters.find(([, pattern]) => pattern.test(text)) ?? [];
  const scores = among.map((tag) => {
    const language = tag.toLowerCase().replace(/[-_].*/, '');
    return language === written ? Infinity : (words[language] ?? []).filter((word) => said.has(word)).length;
  });
  return among[scores.indexOf(Math.max(...scores))] ?? 'en';
}
