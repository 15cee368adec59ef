import { abbreviation, inThousands, list, noun, type Gender, type LanguageOf, type Noun } from './language.ts';

const ones = list('صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة');
const feminine = list('صفر واحدة اثنتان ثلاث أربع خمس ست سبع ثمانٍ تسع عشر');
const tens = list('عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون');
const hundreds = list('مئة مئتان ثلاثمئة أربعمئة خمسمئة ستمئة سبعمئة ثمانمئة تسعمئة');
const powers: readonly Noun[] = [
  counted('ألف', 'ألفان', 'آلاف', 'ألفًا'),
  counted('مليون', 'مليونان', 'ملايين', 'مليونًا'),
  counted('مليار', 'ملياران', 'مليارات', 'مليارًا'),
  counted('تريليون', 'تريليونان', 'تريليونات', 'تريليونًا'),
];
const firsts = list('الأول الثاني الثالث الرابع الخامس السادس السابع الثامن التاسع العاشر');

/** One, two, three to ten, eleven to ninety-nine; the others are as one. */
function counted(one: string, two: string, few: string, many: string, gender: Gender = 'm'): Noun {
  return { gender, forms: { zero: one, one, two, few, many, other: one } };
}

function below100(value: number, isFeminine: boolean): string {
  const units = isFeminine ? feminine : ones;
  if (value <= 10) return units[value] ?? '';
  if (value === 11) return isFeminine ? 'إحدى عشرة' : 'أحد عشر';
  if (value === 12) return isFeminine ? 'اثنتا عشرة' : 'اثنا عشر';
  if (value < 20) return `${(units[value - 10] ?? '').replace('ثمانٍ', 'ثماني')} ${isFeminine ? 'عشرة' : 'عشر'}`;
  const one = value % 10;
  const ten = tens[Math.floor(value / 10) - 2] ?? '';
  return one === 0 ? ten : `${one === 1 && isFeminine ? 'إحدى' : units[one]} و${ten}`;
}

function below1000(value: number, isFeminine: boolean): string {
  const [hundred, rest] = [hundreds[Math.floor(value / 100) - 1], value % 100];
  return [...(hundred ? [hundred] : []), ...(rest > 0 ? [below100(rest, isFeminine)] : [])].join(' و');
}

function cardinal(value: number, gender: Gender = 'm'): string {
  if (value === 0) return 'صفر';
  return inThousands(value, (group, power) => {
    const name = powers[power - 1]?.forms;
    if (!name) return below1000(group, gender === 'f');
    if (group <= 2) return (group === 1 ? name.one : name.two) ?? name.other;
    const rest = group % 100;
    const form = rest >= 3 && rest <= 10 ? name.few : rest > 10 ? name.many : name.other;
    return `${below1000(group, false)} ${form}`;
  }).join(' و');
}

/** With the article; feminine ones end in ة. */
function ordinal(value: number, isFeminine: boolean): string {
  const first = (digit: number): string => {
    const said = firsts[digit - 1] ?? '';
    return isFeminine ? (digit === 1 ? 'الأولى' : `${said}ة`) : said;
  };
  if (value <= 10) return first(value);
  const one = value % 10;
  const unit = one === 1 ? (isFeminine ? 'الحادية' : 'الحادي') : first(one);
  if (value < 20) return `${unit} ${isFeminine ? 'عشرة' : 'عشر'}`;
  const ten = `ال${tens[Math.floor(value / 10) - 2]}`;
  return one === 0 ? ten : `${unit} و${ten}`;
}

/** Arabic. */
export const languageOf: LanguageOf = () => ({
  digits: ones.slice(0, 10),
  cardinal,
  fraction: 'number',
  words: {
    ...{ point: 'فاصلة', minus: 'سالب', plus: 'زائد', percent: 'بالمئة', to: 'إلى', at: 'آت', dot: 'نقطة' },
    ...{ hyphen: 'شرطة', underscore: 'شرطة سفلية', slash: 'شرطة مائلة', andCents: ' و' },
  },
  currencies: {
    USD: {
      unit: counted('دولار', 'دولاران', 'دولارات', 'دولارًا'),
      cent: counted('سنت', 'سنتان', 'سنتات', 'سنتًا'),
    },
    EUR: { unit: counted('يورو', 'يورو', 'يورو', 'يورو'), cent: counted('سنت', 'سنتان', 'سنتات', 'سنتًا') },
    SAR: {
      unit: counted('ريال', 'ريالان', 'ريالات', 'ريالًا'),
      cent: counted('هللة', 'هللتان', 'هللات', 'هللة', 'f'),
    },
    AED: { unit: counted('درهم', 'درهمان', 'دراهم', 'درهمًا'), cent: counted('فلس', 'فلسان', 'فلوس', 'فلسًا') },
    EGP: {
      unit: counted('جنيه', 'جنيهان', 'جنيهات', 'جنيهًا'),
      cent: counted('قرش', 'قرشان', 'قروش', 'قرشًا'),
    },
  },
  signs: { 'ر.س': 'SAR', 'د.إ': 'AED', 'ج.م': 'EGP', دولار: 'USD', يورو: 'EUR', ريال: 'SAR', درهم: 'AED', جنيه: 'EGP' },
  phonePause: '، ',
  magnitudes: { مليون: 'مليون', مليار: 'مليار', ألف: 'ألف', ملايين: 'ملايين' },
  units: {
    كم: 'kilometer',
    'كم/س': 'kilometer-per-hour',
    كغ: 'kilogram',
    كجم: 'kilogram',
    م: 'meter',
    سم: 'centimeter',
  },
  unitNouns: {
    kilometer: counted('كيلومتر', 'كيلومتران', 'كيلومترات', 'كيلومترًا'),
    kilogram: counted('كيلوغرام', 'كيلوغرامان', 'كيلوغرامات', 'كيلوغرامًا'),
    meter: counted('متر', 'متران', 'أمتار', 'مترًا'),
    mg: counted('مليغرام', 'مليغرامان', 'مليغرامات', 'مليغرامًا'),
    'm²': counted('متر مربع', 'متران مربعان', 'أمتار مربعة', 'مترًا مربعًا'),
    'km²': counted('كيلومتر مربع', 'كيلومتران مربعان', 'كيلومترات مربعة', 'كيلومترًا مربعًا'),
    'm³': counted('متر مكعب', 'متران مكعبان', 'أمتار مكعبة', 'مترًا مكعبًا'),
    kWh: noun('كيلوواط ساعة'),
    kW: noun('كيلوواط'),
    ...{ Hz: noun('هرتز'), kHz: noun('كيلوهرتز'), MHz: noun('ميغاهرتز'), GHz: noun('غيغاهرتز') },
  },
  unitGenders: { hour: 'f', minute: 'f', second: 'f', inch: 'f', ounce: 'f', yard: 'f' },
  date: ({ day, monthName, year }) =>
    `${ordinal(day, false)} من ${monthName}${year === undefined ? '' : ` ${cardinal(year)}`}`,
  dateLink: 'من ',
  timeMarks: { after: '[صم](?:باح[اًا]*|ساء[ًا]*)?' },
  time: ({ hour, minute = 0, second, mark }) => {
    const half = mark.startsWith('ص') ? ' صباحًا' : mark.startsWith('م') ? ' مساءً' : '';
    const hours = hour === 1 ? 'الواحدة' : hour === 0 ? 'منتصف الليل' : ordinal(hour, true);
    const rest = minute === 0 ? '' : ` و${cardinal(minute, 'f')} ${minute > 10 ? 'دقيقة' : 'دقائق'}`;
    return hours + rest + (second ? ` و${cardinal(second, 'f')} ${second > 10 ? 'ثانية' : 'ثوانٍ'}` : '') + half;
  },
  abbreviations: [abbreviation('د\\.(?= \\p{L})', 'الدكتور'), abbreviation('ش\\.(?= \\p{L})', 'شارع')],
  hot: 'دولار يورو ريال درهم جنيه ص م د ش من صباحا صباحًا مساء مساءً',
  acronyms: 'AI IT API URL USA EU UK UN ATM USB FBI CIA CEO ID PC',
});
