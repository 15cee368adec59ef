import { abbreviation, inThousands, list, noun, type Gender, type LanguageOf } from './language.ts';

const small = list(
  `null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn
   achtzehn neunzehn`,
);
const tens = list('zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig');
const ones: Readonly<Record<Gender, string>> = { m: 'ein', n: 'ein', f: 'eine' };
const stems: Readonly<Record<number, string>> = { 1: 'erst', 3: 'dritt', 7: 'siebt', 8: 'acht' };

/** One as the beginning of a longer word. */
const unit = (value: number): string => (value === 1 ? 'ein' : (small[value] ?? ''));

function below100(value: number): string {
  if (value < 20) return small[value] ?? '';
  const ten = tens[Math.floor(value / 10) - 2] ?? '';
  return value % 10 === 0 ? ten : `${unit(value % 10)}und${ten}`;
}

function below1000(value: number): string {
  const rest = value % 100;
  return (value < 100 ? '' : `${unit(Math.floor(value / 100))}hundert`) + (rest > 0 ? below100(rest) : '');
}

function cardinal(value: number, gender?: Gender): string {
  if (value === 0) return 'null';
  const thousands = Math.floor(value / 1000) % 1000;
  const millions = inThousands(value - (value % 1_000_000), (group, power) => {
    const name = ['Million', 'Milliarde', 'Billion'][power - 2] ?? '';
    const many = name.endsWith('e') ? `${name}n` : `${name}en`;
    return group === 1 ? `eine ${name}` : `${below1000(group).replace(/eins$/, 'eine')} ${many}`;
  });
  const below =
    (thousands > 0 ? `${below1000(thousands).replace(/eins$/, 'ein')}tausend` : '') + below1000(value % 1000);
  const said = [...millions, ...(below ? [below] : [])].join(' ');
  return gender && value % 100 === 1 ? said.replace(/eins$/, ones[gender]) : said;
}

function ordinalStem(value: number): string {
  const rest = value % 100;
  if (rest === 0 || rest >= 20) return `${cardinal(value)}st`;
  const head = value > 100 ? cardinal(value - rest) : '';
  return `${head}${head.endsWith('en') ? ' ' : ''}${stems[rest] ?? `${small[rest]}t`}`;
}

/** The ending follows the word before: "am ersten", "der erste", "erster". */
function ordinal(value: number, before: string): string {
  const isWeak = /(?:^|[^\p{L}])(?:die|das|der|jede|jeder|jedes|diese|dieser|dieses|eine) $/iu.test(before);
  const isOblique =
    /(?:^|[^\p{L}])(?:a[mb]|vo[mn]|zu[mr]?|de[mns]|bis|seit|i[mn]|beim|einem|einen|jeden|diesen|und|oder) $/iu.test(
      before,
    );
  return ordinalStem(value) + (isWeak ? 'e' : isOblique ? 'en' : 'er');
}

function year(value: number): string {
  const [century, rest] = [Math.floor(value / 100), value % 100];
  if (value < 1100 || value > 1999) return cardinal(value);
  return `${cardinal(century)}hundert${rest > 0 ? below100(rest) : ''}`;
}

/** German. */
export const languageOf: LanguageOf = () => ({
  digits: small.slice(0, 10),
  cardinal,
  dottedOrdinals: true,
  ordinalMarks: '\\.(?= \\p{L})',
  ordinal: (value, _mark, { before, after }) => {
    // A capital follows a sentence's end as well: only an article tells.
    const isArticle = /(?:^|[^\p{L}])(?:der|die|das|dem|den|des|am|im|vom|zum|zur|beim|jede[rns]?|diese[rns]?) $/iu;
    if (/^ (?:Er|Sie|Es|Wir|Ich|Das|Die|Der|Dann|Und|Aber|Wenn|Was|Wie|Wo|Wann|Ist|Kann|Bitte|Danke)\b/.test(after))
      return undefined;
    return /^ \p{Ll}/u.test(after) || isArticle.test(before) ? ordinal(value, before) : undefined;
  },
  fraction: 'digits',
  words: {
    ...{ point: 'Komma', minus: 'minus', plus: 'plus', percent: 'Prozent', to: 'bis', at: 'ät', dot: 'Punkt' },
    ...{ hyphen: 'Bindestrich', underscore: 'Unterstrich', slash: 'Schrägstrich', andCents: ' und ' },
  },
  currencies: {
    EUR: { unit: noun('Euro'), cent: noun('Cent') },
    USD: { unit: noun('Dollar'), cent: noun('Cent') },
    GBP: { unit: noun('Pfund', 'Pfund', 'n'), cent: noun('Penny', 'Pence') },
    CHF: { unit: noun('Franken'), cent: noun('Rappen') },
    JPY: { unit: noun('Yen') },
  },
  signs: { 'Fr.': 'CHF' },
  magnitudes: {
    ...{
      Mio: 'Millionen',
      'Mio.': 'Millionen',
      Mrd: 'Milliarden',
      'Mrd.': 'Milliarden',
      Tsd: 'tausend',
      'Tsd.': 'tausend',
    },
    ...{ Millionen: 'Millionen', Milliarden: 'Milliarden', Million: 'Million', Milliarde: 'Milliarde' },
  },
  units: { Std: 'hour', 'Std.': 'hour', Min: 'minute', 'Min.': 'minute', Sek: 'second', 'Sek.': 'second' },
  unitNouns: {
    mg: noun('Milligramm', 'Milligramm', 'n'),
    'm²': noun('Quadratmeter'),
    'km²': noun('Quadratkilometer'),
    'm³': noun('Kubikmeter'),
    kWh: noun('Kilowattstunde', 'Kilowattstunden', 'f'),
    kW: noun('Kilowatt', 'Kilowatt', 'n'),
    ...{ Hz: noun('Hertz'), kHz: noun('Kilohertz'), MHz: noun('Megahertz'), GHz: noun('Gigahertz') },
  },
  unitGenders: { hour: 'f', minute: 'f', second: 'f', millisecond: 'f', mile: 'f', ounce: 'f' },
  date: ({ day, monthName, year: written, before }) =>
    `${ordinal(day, before)} ${monthName}${written === undefined ? '' : ` ${year(written)}`}`,
  timeMarks: { after: 'Uhr' },
  times: ['(?<hour>[01]?\\d|2[0-4])\\.(?<minute>[0-5]\\d) ?(?<mark>Uhr)'],
  time: ({ hour, minute = 0, second }) => {
    const rest = minute > 0 ? ` ${cardinal(minute)}` : '';
    const seconds = second ? ` und ${cardinal(second, 'f')} ${second === 1 ? 'Sekunde' : 'Sekunden'}` : '';
    return `${cardinal(hour, 'n')} Uhr${rest}${seconds}`;
  },
  abbreviations: [
    { pattern: '(?<street>[\\p{L}-]{0,40}[Ss]tr)\\.', takesDot: true, say: ({ street = '' }) => `${street}aße` },
    abbreviation('Nr\\.?(?= ?\\d)', 'Nummer'),
    abbreviation('Pl\\.', 'Platz', true),
    abbreviation('Dr\\.(?= \\p{Lu})', 'Doktor'),
    abbreviation('Hr\\.(?= \\p{Lu})', 'Herr'),
    abbreviation('Fr\\.(?= \\p{Lu})', 'Frau'),
    abbreviation('z\\. ?B\\.', 'zum Beispiel'),
    abbreviation('d\\. ?h\\.', 'das heißt'),
    abbreviation('ca\\.', 'circa'),
    abbreviation('bzw\\.', 'beziehungsweise'),
    abbreviation('inkl\\.', 'inklusive'),
  ],
  counted: {
    m: 'Tage?|Monat|Jahre?|Euro|Meter|Kilometer|Liter|Grad|Punkt|Prozent|Mann|Platz|Tisch|Stück|Kind|Zimmer|Buch|Ticket|Artikel|Produkt|Paket|Gast|Glas',
    f: 'Stunde|Minute|Sekunde|Woche|Person|Frage|Seite|Nacht|Frau|Karte|Flasche|Portion|Bestellung|Stimme|Tasse|Rechnung|Mail|Tonne|Meile',
  },
  hot: 'uhr str nr pl dr hr fr z b z.b d h d.h ca bzw inkl euro',
  acronyms: 'USA EU UNO UN BRD DDR ADAC ARD KI API URL EDV IT ICE IC ID USB UKW ISDN AOK CEO FAQ',
  rules: [
    {
      pattern: '(?<year>1[1-9]\\d\\d)(?![\\d\\p{L}]|[.,:/]\\d)',
      say: ({ year: written }, { before }) =>
        /(?:^|[^\p{L}])(?:Jahre?s?|[Ss]eit|[Ii]n|[Aa]b|[Bb]is|[Vv]on|[Uu]m|[Ss]ommer|[Ww]inter|Herbst|Frühling) $/u.test(
          before,
        )
          ? year(Number(written))
          : undefined,
    },
    {
      pattern: '(?<day>[0-3]?\\d)\\.(?<month>[01]?\\d)\\.(?![\\d\\p{L}])',
      say: ({ day = '', month = '' }, { before }) =>
        Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31
          ? `${ordinal(Number(day), before)} ${months[Number(month) - 1]}`
          : undefined,
    },
  ],
});

const months = list('Januar Februar März April Mai Juni Juli August September Oktober November Dezember');
