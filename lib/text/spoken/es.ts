import { abbreviation, inThousands, list, noun, type Gender, type LanguageOf } from './language.ts';

const small = list(
  `cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete
   dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete
   veintiocho veintinueve`,
);
const tens = list('treinta cuarenta cincuenta sesenta setenta ochenta noventa');
const hundreds = list(
  'ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos',
);
const firsts = list('primero segundo tercero cuarto quinto sexto séptimo octavo noveno');
const tenths = list(
  'décimo vigésimo trigésimo cuadragésimo quincuagésimo sexagésimo septuagésimo octogésimo nonagésimo',
);

function below1000(value: number): string {
  if (value === 100) return 'cien';
  const rest = value % 100;
  const head = hundreds[Math.floor(value / 100) - 1];
  const ten = tens[Math.floor(rest / 10) - 3];
  const tail = rest < 30 ? small[rest] : `${ten}${rest % 10 === 0 ? '' : ` y ${small[rest % 10]}`}`;
  return [...(head ? [head] : []), ...(rest > 0 ? [tail] : [])].join(' ');
}

/** "Uno" before a noun. */
function agreed(said: string, gender: Gender): string {
  if (gender === 'f') return said.replace(/uno$/, 'una').replace(/(cient|gient|nient)os/g, '$1as');
  return said.replace(/veintiuno$/, 'veintiún').replace(/uno$/, 'un');
}

function cardinal(value: number, gender?: Gender): string {
  if (value === 0) return 'cero';
  const millions = Math.floor(value / 1_000_000);
  const below = inThousands(value % 1_000_000, (group, power) => {
    if (power === 0) return gender ? agreed(below1000(group), gender) : below1000(group);
    return group === 1 ? 'mil' : `${agreed(below1000(group), gender ?? 'm')} mil`;
  }).join(' ');
  if (millions === 0) return below;
  const billions = Math.floor(millions / 1_000_000);
  const rest = millions % 1_000_000;
  const count = (number: number, one: string, many: string): string[] =>
    number === 0 ? [] : [number === 1 ? `un ${one}` : `${cardinal(number, 'm')} ${many}`];
  return [
    ...count(billions, 'billón', 'billones'),
    ...count(rest, 'millón', 'millones'),
    ...(below ? [below] : []),
  ].join(' ');
}

function ordinal(value: number, mark: string): string | undefined {
  if (value < 1 || value > 99) return undefined;
  const [ten, one] = [Math.floor(value / 10), value % 10];
  const isFeminine = /[ªa]$/.test(mark);
  const special: Readonly<Record<number, string>> = { 11: 'undécimo', 12: 'duodécimo' };
  const head = tenths[ten - 1] ?? '';
  const joined = ten === 1 && one > 0 ? `decimo${firsts[one - 1]}` : undefined;
  const said = special[value] ?? joined ?? [head, firsts[one - 1] ?? ''].filter(Boolean).join(' ');
  if (isFeminine) return said.replace(/o(?= |$)/g, 'a');
  return mark.endsWith('r') ? said.replace(/(prime|terce)ro$/, '$1r') : said;
}

/** Spanish. */
export const languageOf: LanguageOf = ({ region }) => {
  const dollars = { unit: noun('dólar', 'dólares'), cent: noun('centavo', 'centavos') };
  const pesos: Readonly<Record<string, string>> = { MX: 'MXN', AR: 'ARS', CL: 'CLP', CO: 'COP' };
  const peso = { unit: noun('peso', 'pesos'), cent: noun('centavo', 'centavos') };
  return {
    digits: small.slice(0, 10),
    cardinal,
    ordinalMarks: '\\.?[ºª°]|\\.?er',
    ordinal,
    fraction: 'number',
    words: {
      point: region === undefined || ['ES', 'AR', 'CL', 'CO', 'UY'].includes(region) ? 'coma' : 'punto',
      ...{ minus: 'menos', plus: 'más', percent: 'por ciento', to: 'a', at: 'arroba', dot: 'punto' },
      ...{ hyphen: 'guion', underscore: 'guion bajo', slash: 'barra', andCents: ' con ', ofMillions: ' de ' },
    },
    currencies: {
      EUR: { unit: noun('euro', 'euros'), cent: noun('céntimo', 'céntimos') },
      USD: dollars,
      GBP: { unit: noun('libra', 'libras', 'f'), cent: noun('penique', 'peniques') },
      JPY: { unit: noun('yen', 'yenes') },
      ...{ MXN: peso, ARS: peso, CLP: peso, COP: peso },
    },
    signs: { $: pesos[region ?? ''] ?? 'USD' },
    magnitudes: {
      ...{ millón: 'millón', millones: 'millones', mil: 'mil', M: 'millones', billones: 'billones' },
    },
    unitNouns: {
      mg: noun('miligramo', 'miligramos'),
      'm²': noun('metro cuadrado', 'metros cuadrados'),
      'km²': noun('kilómetro cuadrado', 'kilómetros cuadrados'),
      'm³': noun('metro cúbico', 'metros cúbicos'),
      kWh: noun('kilovatio hora', 'kilovatios hora'),
      kW: noun('kilovatio', 'kilovatios'),
      ...{ Hz: noun('hercio', 'hercios'), kHz: noun('kilohercio', 'kilohercios') },
      ...{ MHz: noun('megahercio', 'megahercios'), GHz: noun('gigahercio', 'gigahercios') },
    },
    unitGenders: { hour: 'f', mile: 'f', ounce: 'f', pound: 'f', hectare: 'f' },
    dateLink: 'de(?:l año)? ',
    date: ({ day, monthName, year }) =>
      `${day === 1 ? 'primero' : cardinal(day)} de ${monthName}${year === undefined ? '' : ` de ${cardinal(year)}`}`,
    timeMarks: { after: '[ap]\\. ?m\\.|[ap]m\\b|h(?:oras|rs)?\\b' },
    time: ({ hour, minute = 0, second, mark }) => {
      const hours = cardinal(hour, 'f');
      const half = mark.startsWith('a') ? ' a eme' : mark.startsWith('p') ? ' pe eme' : '';
      const seconds = second ? ` y ${cardinal(second, 'm')} segundo${second > 1 ? 's' : ''}` : '';
      if (minute > 0) return `${hours} ${minute < 10 ? 'cero ' : ''}${cardinal(minute)}${seconds}${half}`;
      const whole = `${hours} hora${hour === 1 ? '' : 's'}`;
      if (seconds) return whole + seconds + half;
      if (half) return hours + half;
      return mark.startsWith('h') || hour > 12 || hour === 0 ? whole : `${hours} en punto`;
    },
    abbreviations: [
      abbreviation('[Cc]/ ?(?=\\p{L})', 'calle '),
      abbreviation('[Aa]vd?a?\\.', 'avenida'),
      abbreviation('[Pp](?:za|laza)\\.', 'plaza'),
      abbreviation('[Nn](?:\\.?[º°]|úm\\.) ?(?=\\d)', 'número '),
      abbreviation('Sra\\.(?= \\p{Lu})', 'señora'),
      abbreviation('Sr\\.(?= \\p{Lu})', 'señor'),
      abbreviation('Dra\\.(?= \\p{Lu})', 'doctora'),
      abbreviation('Dr\\.(?= \\p{Lu})', 'doctor'),
      abbreviation('EE\\. ?UU\\.', 'Estados Unidos', true),
    ],
    counted: {
      m: 'días?|mes|años?|euro|dólar|peso|minuto|segundo|metro|kilómetro|punto|grado|billete|libro|artículo|producto|paquete|plato',
      f: 'horas?|semana|persona|vez|veces|noche|página|pregunta|habitaci|mesa|botella|entrada|cuota|milla|libra',
    },
    hot: 'de del año av avda avd pza n núm sr sra dr dra ee uu a m p a.m p.m am pm h hrs horas',
    acronyms: 'UE USB API URL IA DNI ADN CEO FBI CIA ID ATM',
  };
};
