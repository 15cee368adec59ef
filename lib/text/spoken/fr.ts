import { abbreviation, inThousands, list, noun, type Gender, type LanguageOf } from './language.ts';
import { sayDigits } from './numbers.ts';

const small = list(
  'zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf',
);
const tens = list('vingt trente quarante cinquante soixante');

/** French, also as in Belgium and Switzerland: "septante", "nonante". */
export const languageOf: LanguageOf = ({ region }) => {
  const isBelgian = region === 'BE' || region === 'CH';
  const higher: Readonly<Record<number, string>> = {
    ...(isBelgian ? { 70: 'septante', 90: 'nonante' } : {}),
    ...(region === 'CH' ? { 80: 'huitante' } : {}),
  };
  const below100 = (value: number): string => {
    if (value < 20) return small[value] ?? '';
    const round = value - (value % 10);
    const named = higher[round] ?? tens[round / 10 - 2];
    if (named) return value % 10 === 0 ? named : `${named}${value % 10 === 1 ? ' et ' : '-'}${small[value % 10]}`;
    if (value === 71) return 'soixante et onze';
    if (value < 80) return `soixante-${small[value - 60]}`;
    return value === 80 ? 'quatre-vingts' : `quatre-vingt-${small[value - 80]}`;
  };
  const below1000 = (value: number): string => {
    const [hundreds, rest] = [Math.floor(value / 100), value % 100];
    if (hundreds === 0) return below100(rest);
    const head = hundreds === 1 ? 'cent' : `${small[hundreds]} cent${rest === 0 ? 's' : ''}`;
    return rest === 0 ? head : `${head} ${below100(rest)}`;
  };
  const cardinal = (value: number, gender?: Gender): string => {
    if (value === 0) return 'zéro';
    const said = inThousands(value, (group, power) => {
      if (power === 0) return below1000(group);
      // Before "mille", "cent" and "vingt" have no plural.
      if (power === 1) return group === 1 ? 'mille' : `${below1000(group).replace(/(cent|vingt)s$/, '$1')} mille`;
      return `${below1000(group)} ${['million', 'milliard', 'billion'][power - 2]}${group > 1 ? 's' : ''}`;
    }).join(' ');
    return gender === 'f' ? said.replace(/\bun$/, 'une') : said;
  };
  const ordinal = (value: number, mark: string): string => {
    if (value === 1) return mark.endsWith('re') ? 'première' : 'premier';
    if (value === 2 && mark.includes('nd')) return mark.endsWith('e') ? 'seconde' : 'second';
    const stem = cardinal(value).replace(/(cent|vingt)s$/, '$1');
    return `${stem.replace(/cinq$/, 'cinqu').replace(/neuf$/, 'neuv').replace(/e$/, '')}ième${mark.endsWith('s') ? 's' : ''}`;
  };
  return {
    digits: small.slice(0, 10),
    cardinal,
    ordinalMarks: 'ers?|[rè]re|res?|nde?|i?[eè]mes?|es?|ᵉ',
    ordinal,
    fraction: 'number',
    words: {
      ...{ point: 'virgule', minus: 'moins', plus: 'plus', percent: 'pour cent', to: 'à', at: 'arobase', dot: 'point' },
      ...{
        hyphen: 'tiret',
        underscore: 'tiret bas',
        slash: 'barre oblique',
        andCents: ' et ',
        ofMillions: ' de ',
        ofMillionsElided: " d'",
      },
    },
    currencies: {
      EUR: { unit: noun('euro', 'euros'), cent: noun('centime', 'centimes') },
      USD: { unit: noun('dollar', 'dollars'), cent: noun('cent', 'cents') },
      GBP: { unit: noun('livre', 'livres', 'f'), cent: noun('penny', 'pence') },
      CHF: { unit: noun('franc', 'francs'), cent: noun('centime', 'centimes') },
      JPY: { unit: noun('yen', 'yens') },
    },
    magnitudes: {
      ...{ million: 'million', millions: 'millions', milliard: 'milliard', milliards: 'milliards' },
      ...{ M: 'millions', Md: 'milliards', Mds: 'milliards' },
    },
    unitNouns: {
      mg: noun('milligramme', 'milligrammes'),
      'm²': noun('mètre carré', 'mètres carrés'),
      'km²': noun('kilomètre carré', 'kilomètres carrés'),
      'm³': noun('mètre cube', 'mètres cubes'),
      kWh: noun('kilowattheure', 'kilowattheures'),
      kW: noun('kilowatt', 'kilowatts'),
      ...{ Hz: noun('hertz'), kHz: noun('kilohertz'), MHz: noun('mégahertz'), GHz: noun('gigahertz') },
    },
    units: { o: 'byte', ko: 'kilobyte', Ko: 'kilobyte', Mo: 'megabyte', Go: 'gigabyte', To: 'terabyte' },
    unitGenders: { hour: 'f', minute: 'f', second: 'f', millisecond: 'f', ounce: 'f', pound: 'f' },
    date: ({ day, monthName, year }) =>
      `${day === 1 ? 'premier' : cardinal(day)} ${monthName}${year === undefined ? '' : ` ${cardinal(year)}`}`,
    timeMarks: {},
    times: ['(?<hour>[01]?\\d|2[0-4]) ?(?<mark>[hH])(?: ?(?<minute>[0-5]\\d))?(?: ?min)?'],
    time: ({ hour, minute = 0, second }) => {
      const rest = minute > 0 ? ` ${cardinal(minute, 'f')}` : '';
      const seconds = second ? ` et ${cardinal(second, 'f')} seconde${second > 1 ? 's' : ''}` : '';
      return `${cardinal(hour, 'f')} heure${hour > 1 ? 's' : ''}${rest}${seconds}`;
    },
    // Phone numbers are said in pairs.
    phoneGroup: (digits) =>
      digits.length !== 2
        ? sayDigits(digits, { digits: small } as Parameters<typeof sayDigits>[1])
        : digits.startsWith('0')
          ? `zéro ${small[Number(digits)]}`
          : cardinal(Number(digits)),
    abbreviations: [
      abbreviation('[Aa]v\\.', 'avenue'),
      abbreviation('[Bb](?:ou)?l?v?d\\b\\.?', 'boulevard'),
      abbreviation('[Nn][°º] ?(?=\\d)', 'numéro '),
      abbreviation('[Pp]l\\.', 'place'),
      abbreviation('M\\.(?= \\p{Lu})', 'Monsieur'),
      abbreviation('Mme\\b\\.?(?= \\p{Lu})', 'Madame'),
      abbreviation('Dr\\b\\.?(?= \\p{Lu})', 'Docteur'),
      abbreviation('[Ss]t-(?=\\p{Lu})', 'Saint-'),
      abbreviation('[Ss]te-(?=\\p{Lu})', 'Sainte-'),
    ],
    counted: {
      m: 'jours?|mois|ans?|euro|mètre|kilomètre|point|billet|article|produit|colis|enfant|livre|étage',
      f: 'heure|minute|seconde|semaine|personne|fois|année|page|question|nuit|chambre|table|place|bouteille|journée',
    },
    hot: 'av bd bld blvd boul n pl m mme dr h heures euros',
    acronyms: 'USA UE API URL IA TVA RER EDF SNCF RATP PDG ADN USB CIA FBI ID IRM HLM QI OGM',
  };
};
