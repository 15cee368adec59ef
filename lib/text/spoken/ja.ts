import { list, noun, type LanguageOf } from './language.ts';

const digits = list('ゼロ 一 二 三 四 五 六 七 八 九');
const powers = ['', '万', '億', '兆'];

function below10000(value: number): string {
  return [1000, 100, 10, 1]
    .map((power, index) => {
      const digit = Math.floor(value / power) % 10;
      if (digit === 0) return '';
      return (digit === 1 && power > 1 ? '' : (digits[digit] ?? '')) + (['千', '百', '十'][index] ?? '');
    })
    .join('');
}

function cardinal(value: number): string {
  if (value === 0) return 'ゼロ';
  return [3, 2, 1, 0]
    .map((power) => {
      const group = Math.floor(value / 10_000 ** power) % 10_000;
      if (group === 0) return '';
      const head = power > 0 && group >= 1000 && group < 2000 ? '一' : '';
      return head + below10000(group) + (powers[power] ?? '');
    })
    .join('');
}

/** Japanese. */
export const languageOf: LanguageOf = () => ({
  digits,
  spaced: false,
  cardinal,
  fraction: 'digits',
  words: {
    ...{ point: '点', minus: 'マイナス', plus: 'プラス', percent: 'パーセント', to: 'から', at: 'アットマーク' },
    ...{ dot: 'ドット', hyphen: 'ハイフン', underscore: 'アンダーバー', slash: 'スラッシュ', andCents: '' },
  },
  currencies: {
    JPY: { unit: noun('円') },
    USD: { unit: noun('ドル'), cent: noun('セント') },
    EUR: { unit: noun('ユーロ'), cent: noun('セント') },
    GBP: { unit: noun('ポンド'), cent: noun('ペンス') },
    CNY: { unit: noun('元') },
  },
  signs: { 円: 'JPY', ドル: 'USD', ユーロ: 'EUR', '¥': 'JPY' },
  magnitudes: { 万: '万', 億: '億', 兆: '兆' },
  // "千万" alone would be read as one word, so the one is said.
  beforeMagnitude: (said) => said.replace(/(?<![二三四五六七八九])千/, '一千'),
  units: { '㎞': 'kilometer', '㎏': 'kilogram', '㎝': 'centimeter', '℃': 'celsius' },
  unitNouns: {
    mg: noun('ミリグラム'),
    'm²': noun('平方メートル'),
    'km²': noun('平方キロメートル'),
    'm³': noun('立方メートル'),
    kWh: noun('キロワット時'),
    kW: noun('キロワット'),
    ...{ Hz: noun('ヘルツ'), kHz: noun('キロヘルツ'), MHz: noun('メガヘルツ'), GHz: noun('ギガヘルツ') },
  },
  date: ({ day, month, year }) =>
    `${year === undefined ? '' : `${cardinal(year)}年`}${cardinal(month)}月${cardinal(day)}日`,
  timeMarks: { before: '午前|午後' },
  time: ({ hour, minute = 0, second, mark }) => {
    const head = mark.startsWith('午') ? mark : '';
    const rest = minute > 0 ? `${cardinal(minute)}分` : '';
    return `${head}${hour === 0 ? '零' : cardinal(hour)}時${rest}${second ? `${cardinal(second)}秒` : ''}`;
  },
  phonePause: 'の',
  abbreviations: [],
  hot: '',
  acronyms: 'AI IT API URL USA EU UK UN ATM USB FBI CIA CEO OS ID IC PC UFO NHK JR',
  letters:
    'エー ビー シー ディー イー エフ ジー エイチ アイ ジェー ケー エル エム エヌ オー ピー キュー アール エス ティー ユー ブイ ダブリュー エックス ワイ ゼット',
});
