import { abbreviation, list, noun, type LanguageOf } from './language.ts';

const below100 = list(
  `शून्य एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस
   बीस इक्कीस बाईस तेईस चौबीस पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस तीस इकतीस बत्तीस तैंतीस चौंतीस पैंतीस छत्तीस सैंतीस अड़तीस उनतालीस
   चालीस इकतालीस बयालीस तैंतालीस चौवालीस पैंतालीस छियालीस सैंतालीस अड़तालीस उनचास पचास इक्यावन बावन तिरपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ
   साठ इकसठ बासठ तिरसठ चौंसठ पैंसठ छियासठ सड़सठ अड़सठ उनहत्तर सत्तर इकहत्तर बहत्तर तिहत्तर चौहत्तर पचहत्तर छिहत्तर सतहत्तर अठहत्तर उन्यासी
   अस्सी इक्यासी बयासी तिरासी चौरासी पचासी छियासी सत्तासी अट्ठासी नवासी नब्बे इक्यानवे बानवे तिरानवे चौरानवे पचानवे छियानवे सत्तानवे अट्ठानवे निन्यानवे`,
);
const powers: readonly (readonly [number, string])[] = [
  [100_000_000_000, 'खरब'],
  [1_000_000_000, 'अरब'],
  [10_000_000, 'करोड़'],
  [100_000, 'लाख'],
  [1000, 'हज़ार'],
  [100, 'सौ'],
];
const firsts: Readonly<Record<number, string>> = { 1: 'पहल', 2: 'दूसर', 3: 'तीसर', 4: 'चौथ', 6: 'छठ' };

function cardinal(value: number): string {
  if (value < 100) return below100[value] ?? '';
  const said: string[] = [];
  let rest = value;
  for (const [power, name] of powers) {
    const count = Math.floor(rest / power);
    if (count === 0) continue;
    said.push(`${cardinal(count)} ${name}`);
    rest %= power;
  }
  return [...said, ...(rest > 0 ? [cardinal(rest)] : [])].join(' ');
}

/** The ending is written: पहला, पहली, पहले; वाँ, वीं, वें. */
function ordinal(value: number, mark: string): string {
  const stem = firsts[value];
  const vowel = mark.includes('ी') ? 'ी' : mark.includes('े') ? 'े' : 'ा';
  if (stem) return stem + vowel;
  return `${cardinal(value)}${vowel === 'ा' ? 'वाँ' : vowel === 'ी' ? 'वीं' : 'वें'}`;
}

/** Hindi. */
export const languageOf: LanguageOf = () => ({
  digits: below100.slice(0, 10),
  cardinal,
  ordinalMarks: 'वाँ|वां|वीं|वी|वें|वे|ला|ली|ले|रा|री|रे|था|थी|थे|ठा|ठी|ठे',
  ordinal,
  fraction: 'digits',
  words: {
    ...{ point: 'दशमलव', minus: 'माइनस', plus: 'प्लस', percent: 'प्रतिशत', to: 'से', at: 'ऐट', dot: 'डॉट' },
    ...{ hyphen: 'डैश', underscore: 'अंडरस्कोर', slash: 'स्लैश', andCents: ' ' },
  },
  currencies: {
    INR: { unit: noun('रुपया', 'रुपये'), cent: noun('पैसा', 'पैसे') },
    USD: { unit: noun('डॉलर'), cent: noun('सेंट') },
    EUR: { unit: noun('यूरो'), cent: noun('सेंट') },
    GBP: { unit: noun('पाउंड'), cent: noun('पेंस') },
    JPY: { unit: noun('येन') },
  },
  signs: { 'रु.': 'INR', रु: 'INR', 'Rs.': 'INR', Rs: 'INR' },
  magnitudes: { लाख: 'लाख', करोड़: 'करोड़', हज़ार: 'हज़ार', हजार: 'हज़ार', अरब: 'अरब' },
  units: { किमी: 'kilometer', 'कि.मी.': 'kilometer', किग्रा: 'kilogram', मी: 'meter', सेमी: 'centimeter' },
  unitNouns: {
    mg: noun('मिलीग्राम'),
    'm²': noun('वर्ग मीटर'),
    'km²': noun('वर्ग किलोमीटर'),
    'm³': noun('घन मीटर'),
    kWh: noun('किलोवाट घंटा', 'किलोवाट घंटे'),
    kW: noun('किलोवाट'),
    ...{ Hz: noun('हर्ट्ज़'), kHz: noun('किलोहर्ट्ज़'), MHz: noun('मेगाहर्ट्ज़'), GHz: noun('गीगाहर्ट्ज़') },
  },
  date: ({ day, monthName, year }) =>
    `${day === 1 ? 'पहली' : cardinal(day)} ${monthName}${year === undefined ? '' : ` ${cardinal(year)}`}`,
  timeMarks: { after: 'बजे' },
  time: ({ hour, minute = 0, second }) => {
    if (minute === 0 && !second) return `${cardinal(hour)} बजे`;
    const seconds = second ? ` ${cardinal(second)} सेकंड` : '';
    return `${cardinal(hour)} बजकर ${cardinal(minute)} मिनट${seconds}`;
  },
  abbreviations: [abbreviation('डॉ\\.', 'डॉक्टर'), abbreviation('श्री\\.', 'श्री'), abbreviation('नं\\.', 'नंबर')],
  hot: 'बजे डॉ श्री नं रु rs',
  acronyms: 'AI IT API URL USA EU UK UN ATM USB FBI CIA CEO ID PC OTP UPI BJP',
  letters: 'ए बी सी डी ई एफ़ जी एच आई जे के एल एम एन ओ पी क्यू आर एस टी यू वी डब्ल्यू एक्स वाई ज़ेड',
});
