import { abbreviation, inThousands, list, noun, type Gender, type LanguageOf } from './language.ts';

const small = list(
  `zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici
   diciassette diciotto diciannove`,
);
const tens = list('venti trenta quaranta cinquanta sessanta settanta ottanta novanta');
const firsts = list('primo secondo terzo quarto quinto sesto settimo ottavo nono decimo');

function below1000(value: number): string {
  const [hundred, rest] = [Math.floor(value / 100), value % 100];
  const head = hundred === 0 ? '' : `${hundred === 1 ? '' : small[hundred]}cento`;
  if (rest === 0) return head;
  const ten = tens[Math.floor(rest / 10) - 2] ?? '';
  const one = rest % 10;
  // Vowels meet: ventuno, ventotto, centotto.
  const tail =
    rest < 20
      ? (small[rest] ?? '')
      : (one === 1 || one === 8 ? ten.slice(0, -1) : ten) + (one === 0 ? '' : (small[one] ?? ''));
  return (tail.startsWith('ott') ? head.replace(/o$/, '') : head) + tail;
}

function cardinal(value: number, gender?: Gender): string {
  if (value === 0) return 'zero';
  if (value === 1 && gender) return gender === 'f' ? 'una' : 'un';
  const thousands = Math.floor(value / 1000) % 1000;
  const millions = inThousands(value - (value % 1_000_000), (group, power) => {
    const name = ['milion', 'miliard', 'bilion'][power - 2] ?? '';
    return group === 1 ? `un ${name}${power === 3 ? 'o' : 'e'}` : `${accented(below1000(group))} ${name}i`;
  });
  const head = thousands === 0 ? '' : thousands === 1 ? 'mille' : `${below1000(thousands)}mila`;
  const below = head + below1000(value % 1000);
  const said = [...millions, ...(below ? [below] : [])].join(' ');
  return accented(said);
}

/** "Tre" is stressed at the end of a longer word. */
function accented(said: string): string {
  return said.replace(/(?<=\p{L})tre$/u, 'tré');
}

function ordinal(value: number, mark: string): string {
  const said =
    firsts[value - 1] ??
    `${cardinal(value)
      .replace(/tré$/, 'tree')
      .replace(/sei$/, 'seii')
      .replace(/[aeio]$/, '')}esimo`;
  return /[ªa]$/.test(mark) ? said.replace(/o$/, 'a') : said;
}

/** Italian. */
export const languageOf: LanguageOf = () => ({
  digits: small.slice(0, 10),
  cardinal,
  ordinalMarks: '[º°ª]',
  ordinal,
  fraction: 'number',
  words: {
    ...{ point: 'virgola', minus: 'meno', plus: 'più', percent: 'per cento', to: 'a', at: 'chiocciola', dot: 'punto' },
    ...{ hyphen: 'trattino', underscore: 'trattino basso', slash: 'barra', andCents: ' e ', ofMillions: ' di ' },
  },
  currencies: {
    EUR: { unit: noun('euro'), cent: noun('centesimo', 'centesimi') },
    USD: { unit: noun('dollaro', 'dollari'), cent: noun('centesimo', 'centesimi') },
    GBP: { unit: noun('sterlina', 'sterline', 'f'), cent: noun('penny', 'pence') },
    CHF: { unit: noun('franco', 'franchi'), cent: noun('centesimo', 'centesimi') },
    JPY: { unit: noun('yen') },
  },
  magnitudes: {
    ...{ milione: 'milione', milioni: 'milioni', miliardo: 'miliardo', miliardi: 'miliardi' },
    ...{ mln: 'milioni', mld: 'miliardi', mila: 'mila' },
  },
  unitNouns: {
    mg: noun('milligrammo', 'milligrammi'),
    'm²': noun('metro quadrato', 'metri quadrati'),
    'km²': noun('chilometro quadrato', 'chilometri quadrati'),
    'm³': noun('metro cubo', 'metri cubi'),
    kWh: noun('chilowattora'),
    kW: noun('chilowatt'),
    ...{ Hz: noun('hertz'), kHz: noun('chilohertz'), MHz: noun('megahertz'), GHz: noun('gigahertz') },
  },
  unitGenders: { hour: 'f', ounce: 'f', pound: 'f', yard: 'f' },
  date: ({ day, monthName, year }) =>
    `${day === 1 ? 'primo' : cardinal(day)} ${monthName}${year === undefined ? '' : ` ${cardinal(year)}`}`,
  timeMarks: {},
  times: ['(?<mark>ore) (?<hour>[01]?\\d|2[0-4])(?:[.:](?<minute>[0-5]\\d))?'],
  time: ({ hour, minute = 0, second, mark }) => {
    const head = mark ? `${mark} ` : '';
    const rest = minute > 0 ? ` e ${cardinal(minute)}` : '';
    const seconds = second ? ` e ${cardinal(second, 'm')} second${second === 1 ? 'o' : 'i'}` : '';
    return `${head}${hour === 0 ? 'zero' : cardinal(hour, hour === 1 ? 'f' : undefined)}${rest}${seconds}`;
  },
  abbreviations: [
    abbreviation('[Vv]\\.le', 'viale'),
    abbreviation('[Pp]\\.(?:zz?a|za)', 'piazza'),
    abbreviation('[Cc]\\.so', 'corso'),
    abbreviation('[Nn][.°º] ?(?=\\d)', 'numero '),
    abbreviation('Sig\\.ra(?= \\p{Lu})', 'signora'),
    abbreviation('Sig\\.(?= \\p{Lu})', 'signor'),
    abbreviation('Dott\\.(?= \\p{Lu})', 'dottor'),
    abbreviation('ecc\\.', 'eccetera', true),
  ],
  counted: {
    m: 'giorn|mes[ei]|ann[oi]|minut|second|metr|chil|litr|punt|euro|dollar|franc|grad|bigliett|libr|articol|prodott|pacc|post',
    f: 'or[ae]|settiman|person|volt|nott|pagin|domand|camer|tavol|bottigli|sterlin|tonnellat',
  },
  rules: [
    {
      pattern: '1 (?=ora(?!\\p{L}))|1 ?h(?![\\p{L}/])',
      say: (_groups, { after }) => (after.startsWith('ora') ? "un'" : "un'ora"),
    },
  ],
  hot: 'v.le p.za p.zza c.so n sig sig.ra dott ecc ore euro',
  acronyms: 'USA UE API URL IA CEO USB FBI CIA ID ATM',
});
