import { abbreviation, inThousands, list, noun, type Gender, type LanguageOf } from './language.ts';

const tens = list('vinte trinta quarenta cinquenta sessenta setenta oitenta noventa');
const hundreds = list('cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos');
const firsts = list('primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono');
const tenths = list(
  'décimo vigésimo trigésimo quadragésimo quinquagésimo sexagésimo septuagésimo octogésimo nonagésimo',
);

const names = ['milh', 'bilh', 'trilh'];

/** Portuguese, as in Brazil unless the region is another. */
export const languageOf: LanguageOf = ({ region }) => {
  const isBrazilian = region === undefined || region === 'BR';
  const small = list(
    `zero um dois três quatro cinco seis sete oito nove dez onze doze treze ${isBrazilian ? 'quatorze' : 'catorze'} quinze
     ${isBrazilian ? 'dezesseis dezessete dezoito dezenove' : 'dezasseis dezassete dezoito dezanove'}`,
  );
  const below1000 = (value: number): string => {
    if (value === 100) return 'cem';
    const [hundred, rest] = [Math.floor(value / 100), value % 100];
    const said = hundred > 0 ? [hundreds[hundred - 1]] : [];
    if (rest >= 20) said.push(tens[Math.floor(rest / 10) - 2], ...(rest % 10 > 0 ? [small[rest % 10]] : []));
    else if (rest > 0) said.push(small[rest]);
    return said.join(' e ');
  };
  const agreed = (said: string): string =>
    said
      .replace(/\bum$/, 'uma')
      .replace(/\bdois$/, 'duas')
      .replace(/(ent|zent)os\b/g, '$1as');
  const cardinal = (value: number, gender?: Gender): string => {
    if (value === 0) return 'zero';
    const [billions, millions] = [Math.floor(value / 10 ** 12), Math.floor(value / 1_000_000) % 1_000_000];
    const count = (number: number, one: string, many: string): string[] =>
      number === 0 ? [] : [number === 1 ? `um ${one}` : `${cardinal(number)} ${many}`];
    const below = isBrazilian ? value : value % 1_000_000;
    const said = [
      // Portugal counts in thousands of millions.
      ...(isBrazilian ? [] : [...count(billions, 'bilião', 'biliões'), ...count(millions, 'milhão', 'milhões')]),
      ...inThousands(below, (group, power) => {
        if (power > 1) return group === 1 ? `um ${names[power - 2]}ão` : `${below1000(group)} ${names[power - 2]}ões`;
        const hundred = gender === 'f' ? agreed(below1000(group)) : below1000(group);
        return power === 0 ? hundred : group === 1 ? 'mil' : `${hundred} mil`;
      }),
    ];
    const rest = value % 1000;
    const last = said.pop() ?? '';
    const isJoined = said.length > 0 && rest > 0 && (rest < 100 || rest % 100 === 0);
    return said.length > 0 ? `${said.join(' ')}${isJoined ? ' e ' : ' '}${last}` : last;
  };
  const ordinal = (value: number, mark: string): string | undefined => {
    if (value < 1 || value > 99) return undefined;
    const said = [tenths[Math.floor(value / 10) - 1], firsts[(value % 10) - 1]].filter(Boolean).join(' ');
    return /[ªa]$/.test(mark) ? said.replace(/o(?= |$)/g, 'a') : said;
  };
  const centavos = noun('centavo', 'centavos');
  return {
    digits: small.slice(0, 10),
    cardinal,
    ordinalMarks: '\\.?[ºª°]',
    ordinal,
    fraction: 'number',
    words: {
      ...{ point: 'vírgula', minus: 'menos', plus: 'mais', percent: 'por cento', to: 'a', at: 'arroba', dot: 'ponto' },
      ...{ hyphen: 'hífen', underscore: 'sublinhado', slash: 'barra', andCents: ' e ', ofMillions: ' de ' },
    },
    currencies: {
      BRL: { unit: noun('real', 'reais'), cent: centavos },
      EUR: { unit: noun('euro', 'euros'), cent: isBrazilian ? centavos : noun('cêntimo', 'cêntimos') },
      USD: { unit: noun('dólar', 'dólares'), cent: centavos },
      GBP: { unit: noun('libra', 'libras', 'f'), cent: noun('centavo', 'centavos') },
      JPY: { unit: noun('iene', 'ienes') },
    },
    signs: isBrazilian ? { $: 'BRL' } : {},
    magnitudes: {
      ...{ milhão: 'milhão', milhões: 'milhões', bilhão: 'bilhão', bilhões: 'bilhões', mil: 'mil', mi: 'milhões' },
    },
    unitNouns: {
      mg: noun('miligrama', 'miligramas'),
      'm²': noun('metro quadrado', 'metros quadrados'),
      'km²': noun('quilômetro quadrado', 'quilômetros quadrados'),
      'm³': noun('metro cúbico', 'metros cúbicos'),
      kWh: noun('quilowatt-hora', 'quilowatts-hora'),
      kW: noun('quilowatt', 'quilowatts'),
      ...{ Hz: noun('hertz'), kHz: noun('quilohertz'), MHz: noun('megahertz'), GHz: noun('gigahertz') },
    },
    unitGenders: { hour: 'f', mile: 'f', ounce: 'f', pound: 'f', yard: 'f' },
    dateLink: 'de ',
    date: ({ day, monthName, year }) =>
      `${day === 1 ? 'primeiro' : cardinal(day)} de ${monthName}${year === undefined ? '' : ` de ${cardinal(year)}`}`,
    timeMarks: {},
    times: ['(?<hour>[01]?\\d|2[0-4]) ?(?<mark>h)(?: ?(?<minute>[0-5]\\d))?(?: ?min)?'],
    time: ({ hour, minute = 0, second }) => {
      const hours = `${cardinal(hour, 'f')} hora${hour > 1 || hour === 0 ? 's' : ''}`;
      const rest = minute > 0 ? ` e ${cardinal(minute)} minuto${minute > 1 ? 's' : ''}` : '';
      return hours + rest + (second ? ` e ${cardinal(second)} segundo${second > 1 ? 's' : ''}` : '');
    },
    localPhone: '[29]\\d\\d \\d{3} \\d{3}',
    abbreviations: [
      abbreviation('R\\.(?= \\p{Lu})', 'Rua'),
      abbreviation('[Aa]v\\.', 'avenida'),
      abbreviation('[Pp]ç?a?\\.(?= \\p{Lu})', 'praça'),
      abbreviation('[Nn]\\.?[º°] ?(?=\\d)', 'número '),
      abbreviation('Sra\\.(?= \\p{Lu})', 'senhora'),
      abbreviation('Sr\\.(?= \\p{Lu})', 'senhor'),
      abbreviation('Dra\\.(?= \\p{Lu})', 'doutora'),
      abbreviation('Dr\\.(?= \\p{Lu})', 'doutor'),
      abbreviation('ap(?:to)?\\.', 'apartamento'),
    ],
    counted: {
      m: 'dias?|m[êe]s|anos?|euro|dólar|rea[li]|minuto|segundo|metro|quil[ôo]metro|ponto|grau|bilhete|livro|artigo|produto|pacote|lugar',
      f: 'horas?|semana|pessoa|vez|noite|página|pergunta|reuni|mesa|garrafa|entrada|libra|milha|parcela',
    },
    hot: 'de r av p pç pça n sr sra dr dra ap apto h horas reais',
    acronyms: 'EUA UE API URL IA CEO USB FBI CIA ID RG IR',
  };
};
