import { list, noun, type Gender, type LanguageOf } from './language.ts';

const digits = list('零 一 二 三 四 五 六 七 八 九');

/** Chinese; in traditional characters for Taiwan, Hong Kong and Macao. */
export const languageOf: LanguageOf = ({ region, script, language }) => {
  const isTraditional = script === 'Hant' || ['TW', 'HK', 'MO'].includes(region ?? '') || language === 'yue';
  const form = (simple: string, traditional: string): string => (isTraditional ? traditional : simple);
  const powers = ['', form('万', '萬'), form('亿', '億'), '兆'];
  const two = form('两', '兩');

  const below10000 = (value: number, isFirst: boolean): string => {
    let said = '';
    let isGap = !isFirst && value < 1000;
    for (const [index, power] of [1000, 100, 10, 1].entries()) {
      const digit = Math.floor(value / power) % 10;
      if (digit === 0) {
        isGap ||= said !== '';
        continue;
      }
      const name =
        digit === 1 && power === 10 && said === '' && isFirst
          ? ''
          : digit === 2 && power === 1000
            ? two
            : digits[digit];
      said += `${isGap ? '零' : ''}${name}${['千', '百', '十', ''][index]}`;
      isGap = false;
    }
    return said;
  };
  const cardinal = (value: number, gender?: Gender): string => {
    if (value === 0) return '零';
    // Before a measure word, two is another word.
    if (value === 2 && gender) return two;
    let said = '';
    for (let power = 3; power >= 0; power -= 1) {
      const group = Math.floor(value / 10_000 ** power) % 10_000;
      if (group === 0) continue;
      said += (group === 2 && power > 0 ? two : below10000(group, said === '')) + (powers[power] ?? '');
    }
    return said;
  };
  const halves: Readonly<Record<string, string>> = { am: '上午', pm: '下午' };
  return {
    digits,
    spaced: false,
    cardinal,
    fraction: 'digits',
    words: {
      ...{ point: form('点', '點'), minus: form('负', '負'), plus: '加', percent: '%', to: '到' },
      ...{ at: '艾特', dot: form('点', '點'), hyphen: form('杠', '槓'), underscore: form('下划线', '底線') },
      ...{ slash: form('斜杠', '斜線'), andCents: '' },
    },
    currencies: {
      CNY: { unit: noun('元') },
      USD: { unit: noun('美元') },
      EUR: { unit: noun(form('欧元', '歐元')) },
      GBP: { unit: noun(form('英镑', '英鎊')) },
      JPY: { unit: noun(form('日元', '日圓')) },
      ...{ TWD: { unit: noun('元') }, HKD: { unit: noun('港元') } },
    },
    signs: { 元: isTraditional ? 'TWD' : 'CNY', '¥': 'CNY', 美元: 'USD', NT$: 'TWD', HK$: 'HKD' },
    magnitudes: { 万: '万', 亿: '亿', 萬: '萬', 億: '億' },
    units: { 公里: 'kilometer', 公斤: 'kilogram', 米: 'meter', 厘米: 'centimeter', '℃': 'celsius' },
    unitNouns: {
      mg: noun('毫克'),
      'm²': noun('平方米'),
      'km²': noun('平方公里'),
      'm³': noun(form('立方米', '立方公尺')),
      kWh: noun(form('千瓦时', '千瓦時')),
      kW: noun('千瓦'),
      ...{ Hz: noun(form('赫兹', '赫茲')), kHz: noun('千赫'), MHz: noun('兆赫') },
      GHz: noun('吉赫'),
    },
    rules: [
      {
        pattern: '(?<year>[12]\\d{3})(?=年)',
        say: ({ year = '' }) => Array.from(year, (digit) => digits[Number(digit)]).join(''),
      },
      {
        // The percent sign is said first.
        pattern: '(?<sign>[-−]?)(?<whole>\\d{1,15})(?:\\.(?<decimals>\\d{1,12}))?\\s?%',
        say: ({ sign, whole = '', decimals = '' }) => {
          const rest = decimals && form('点', '點') + Array.from(decimals, (digit) => digits[Number(digit)]).join('');
          return `${sign ? form('负', '負') : ''}百分之${cardinal(Number(whole))}${rest}`;
        },
      },
    ],
    date: ({ day, month, year }) => {
      const spelled =
        year === undefined ? '' : `${Array.from(String(year), (digit) => digits[Number(digit)]).join('')}年`;
      return `${spelled}${cardinal(month)}月${cardinal(day)}日`;
    },
    timeMarks: { before: '上午|下午|晚上|早上|中午|凌晨', after: '[ap]m|[AP]M' },
    time: ({ hour, minute = 0, second, mark }) => {
      const head = halves[mark] ?? mark;
      const minutes = minute > 0 ? `${minute < 10 ? '零' : ''}${cardinal(minute)}分` : '';
      return `${head}${cardinal(hour, 'm')}${form('点', '點')}${minutes}${second ? `${cardinal(second)}秒` : ''}`;
    },
    phonePause: '，',
    phoneGroup: (group) => Array.from(group, (digit) => (digit === '1' ? '幺' : digits[Number(digit)])).join(''),
    abbreviations: [],
    counted: { m: '点|點|个|個|位|杯|张|張|本|次|天|年|小时|小時|公里|公斤|块|塊|只|家|件|条|條|台|种|種|双|雙' },
    hot: '',
    acronyms: 'AI IT API URL USA EU UK UN ATM USB FBI CIA CEO ID PC',
  };
};
