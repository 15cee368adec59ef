import { abbreviation, inThousands, list, noun, type LanguageOf, type Rule } from './language.ts';

const small = list(
  `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
   eighteen nineteen`,
);
const tens = list('twenty thirty forty fifty sixty seventy eighty ninety');
const powers = ['', ' thousand', ' million', ' billion', ' trillion'];
const irregular: Readonly<Record<string, string>> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

function below100(value: number): string {
  if (value < 20) return small[value] ?? '';
  const ten = tens[Math.floor(value / 10) - 2] ?? '';
  return value % 10 === 0 ? ten : `${ten}-${small[value % 10]}`;
}

/** India counts in hundreds of thousands, and of those. */
function inLakhs(value: number, say: (value: number) => string): string {
  const [power, name] = value < 10_000_000 ? [100_000, 'lakh'] : [10_000_000, 'crore'];
  const rest = value % power;
  return `${say(Math.floor(value / power))} ${name}${rest > 0 ? ` ${say(rest)}` : ''}`;
}

const parts: Readonly<Record<string, readonly [one: string, many: string]>> = {
  2: ['half', 'halves'],
  3: ['third', 'thirds'],
  4: ['quarter', 'quarters'],
  8: ['eighth', 'eighths'],
};
const vulgar: Readonly<Record<string, string>> = {
  ...{ '½': '1/2', '⅓': '1/3', '⅔': '2/3', '¼': '1/4', '¾': '3/4', '⅛': '1/8', '⅜': '3/8', '⅝': '5/8', '⅞': '7/8' },
};

const signs = Object.keys(vulgar).join('');
/** Fractions of a cup, an hour or a mile. Anything else with a slash may be a rating, a date or a score: it stays as written. */
const fractions = (cardinal: (value: number) => string): Rule => ({
  pattern: `(?<![\\d/.,:–-])(?:(?<whole>[1-9]\\d{0,2})(?: ?(?=[${signs}])| (?=\\d/)))?(?:(?<sign>[${signs}])|(?<top>[1357]|2(?=/3))/(?<bottom>[2348]))(?![\\d/\\p{L}]|[.,:-]\\d)`,
  say: ({ whole, sign, top, bottom }, { before }) => {
    const [one = '', many = ''] = (sign === undefined ? `${top}/${bottom}` : (vulgar[sign] ?? '')).split('/');
    const names = parts[many];
    if (!names || Number(one) >= Number(many)) return undefined;
    const isOther =
      /(?:\b(?:on|by|until|till|since|due|dated|before|after|page|step|part|slide|episode|question) |#)$/i;
    if (sign === undefined && isOther.test(before)) return undefined;
    if (whole === undefined) return `${small[Number(one)]} ${one === '1' ? names[0] : names[1]}`;
    const rest = one === '1' ? `a${many === '8' ? 'n' : ''} ${names[0]}` : `${small[Number(one)]} ${names[1]}`;
    return `${cardinal(Number(whole))} and ${rest}`;
  },
});

/** English. */
export const languageOf: LanguageOf = ({ region }) => {
  const isAmerican = region === undefined || region === 'US';
  const and = isAmerican ? ' ' : ' and ';
  const below1000 = (value: number): string => {
    const rest = value % 100;
    if (value < 100) return below100(value);
    return `${small[Math.floor(value / 100)]} hundred${rest === 0 ? '' : and + below100(rest)}`;
  };
  const cardinal = (value: number): string => {
    if (value === 0) return 'zero';
    if (region === 'IN' && value >= 100_000) return inLakhs(value, cardinal);
    const said = inThousands(value, (group, power) => below1000(group) + (powers[power] ?? ''));
    const last = said.at(-1) ?? '';
    const isAdded = !isAmerican && said.length > 1 && value % 1000 > 0 && value % 1000 < 100;
    return isAdded ? `${said.slice(0, -1).join(' ')} and ${last}` : said.join(' ');
  };
  const ordinal = (value: number): string =>
    cardinal(value).replace(/(?<![a-z])[a-z]+$/, (last) => irregular[last] ?? `${last.replace(/y$/, 'ie')}th`);
  const year = (value: number): string => {
    const [century, rest] = [Math.floor(value / 100), value % 100];
    if (value < 1100 || value > 2099 || (value >= 2000 && value < 2010)) return cardinal(value);
    if (rest === 0) return `${cardinal(century)} hundred`;
    return `${cardinal(century)} ${rest < 10 ? `oh ${small[rest]}` : below100(rest)}`;
  };
  const years: Rule[] = [
    {
      // Of a person's age or a century: in "30s" alone, they are seconds.
      pattern: "(?<apostrophe>['’]?)(?<decade>[2-9]0)s(?![\\d\\p{L}])",
      say: ({ apostrophe, decade }, { before }) => {
        const isDecade =
          apostrophe !== '' ||
          /\b(?:(?:in|of|from|since) (?:the|my|your|his|her|their)|early|mid|late)[ -]$/i.test(before);
        return isDecade ? `${below100(Number(decade)).slice(0, -1)}ies` : undefined;
      },
    },
    {
      pattern: '(?<year>1[1-9]\\d\\d|20\\d\\d)(?<many>s?)(?![\\d\\p{L}]|[.,:/]\\d)',
      say: ({ year: written = '', many }, { before }) => {
        const said = year(Number(written));
        if (many) return said.endsWith('y') ? `${said.slice(0, -1)}ies` : `${said}s`;
        return /\b(?:in|since|by|until|till|from|of|year|during|circa|around) $/i.test(before) ? said : undefined;
      },
    },
  ];
  return {
    digits: small.slice(0, 10),
    cardinal,
    ordinalMarks: 'st|nd|rd|th',
    ordinal,
    fraction: 'digits',
    words: {
      ...{ point: 'point', minus: 'minus', plus: 'plus', percent: 'percent', to: 'to', at: 'at', dot: 'dot' },
      ...{ hyphen: 'dash', underscore: 'underscore', slash: 'slash', andCents: ' and ' },
    },
    currencies: {
      USD: { unit: noun('dollar', 'dollars'), cent: noun('cent', 'cents') },
      EUR: { unit: noun('euro', 'euros'), cent: noun('cent', 'cents') },
      GBP: { unit: noun('pound', 'pounds'), cent: { forms: { one: 'penny', other: 'pence' } } },
      INR: { unit: noun('rupee', 'rupees'), cent: noun('paisa', 'paise') },
      JPY: { unit: noun('yen') },
      CNY: { unit: noun('yuan') },
    },
    magnitudes: {
      ...{ thousand: 'thousand', million: 'million', billion: 'billion', trillion: 'trillion' },
      ...{ k: 'thousand', K: 'thousand', m: 'million', M: 'million', bn: 'billion', B: 'billion' },
    },
    unitNouns: {
      mg: noun('milligram', 'milligrams'),
      'm²': noun('square meter', 'square meters'),
      'km²': noun('square kilometer', 'square kilometers'),
      'm³': noun('cubic meter', 'cubic meters'),
      kWh: noun('kilowatt hour', 'kilowatt hours'),
      kW: noun('kilowatt', 'kilowatts'),
      Hz: noun('hertz'),
      kHz: noun('kilohertz'),
      MHz: noun('megahertz'),
      GHz: noun('gigahertz'),
    },
    units: { mi: 'mile', ft: 'foot', lb: 'pound', lbs: 'pound', oz: 'ounce', yd: 'yard', mph: 'mile-per-hour' },
    date: ({ day, monthName, year: written, dayFirst = !isAmerican, before }) => {
      const the = /\bthe $/i.test(before) ? '' : 'the ';
      const said = dayFirst ? `${the}${ordinal(day)} of ${monthName}` : `${monthName} ${ordinal(day)}`;
      return written === undefined ? said : `${said}, ${year(written)}`;
    },
    dateLink: 'of ',
    timeMarks: { after: '[ap]\\.?m\\b\\.?|[AP]\\.?M\\b\\.?' },
    time: ({ hour, minute = 0, second, mark }) => {
      const half = mark && ` ${mark.startsWith('a') ? 'a' : 'p'} m`;
      const hours = cardinal(hour);
      const seconds = second ? ` and ${cardinal(second)} ${second === 1 ? 'second' : 'seconds'}` : '';
      if (minute > 0) return `${hours} ${minute < 10 ? 'oh ' : ''}${cardinal(minute)}${seconds}${half}`;
      if (half && !seconds) return hours + half;
      return `${hour > 12 ? `${hours} hundred` : hour === 0 ? 'midnight' : `${hours} o'clock`}${seconds}${half}`;
    },
    abbreviations: [
      {
        pattern: '(?<what>St|Dr)\\b\\.?',
        takesDot: true,
        say: ({ what }, { before }) => {
          if (!/(?:\p{Lu}\p{Ll}+|\d(?:st|nd|rd|th)) $/u.test(before)) return undefined;
          return what === 'St' ? 'Street' : 'Drive';
        },
      },
      abbreviation('St\\b\\.?(?= \\p{Lu})', 'Saint'),
      abbreviation('Dr\\b\\.?(?= \\p{Lu})', 'Doctor'),
      abbreviation('Ave\\b\\.?', 'Avenue', true),
      abbreviation('Blvd\\b\\.?', 'Boulevard', true),
      abbreviation('Rd\\b\\.?', 'Road', true),
      abbreviation('Sq\\b\\.?(?= *,)', 'Square'),
      abbreviation('Apt\\b\\.?', 'Apartment'),
      abbreviation('P\\.?O\\. Box|PO Box', 'P O Box'),
      abbreviation('(?:No|Nr)\\. ?(?=\\d)', 'number '),
      abbreviation('#(?=\\d)', 'number '),
    ],
    hot: 'am pm a.m p.m a.m. p.m. st dr ave blvd rd sq apt box p.o no nr of',
    acronyms: `FBI CIA USA US UK EU UN UAE API URL URI AI CEO CFO CTO CIO FAQ ATM USB UI UX OS ID IP IT ISO IBM AWS BA
      UPS IRS ETA EV IQ DIY ASAP GUI CPU GPU IDE IOS VIP SUV EST EDT UTC RSVP HR ER AC`,
    rules: [fractions(cardinal), ...years],
  };
};
