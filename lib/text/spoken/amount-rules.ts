import type { Currency, Noun, Rule, SpokenLanguage } from './language.ts';
import { sayNumeral, valueOf, type Numeral } from './numbers.ts';
import { anyOf, lettersEnd, rangeOf, wordEnds, type RuleParts } from './parts.ts';

/** Units of every language, by the names of `Intl`. */
const international: Readonly<Record<string, string>> = {
  ...{ km: 'kilometer', m: 'meter', cm: 'centimeter', mm: 'millimeter', kg: 'kilogram', g: 'gram', l: 'liter' },
  ...{ L: 'liter', ml: 'milliliter', mL: 'milliliter', 'km/h': 'kilometer-per-hour', kmh: 'kilometer-per-hour' },
  ...{ 'm/s': 'meter-per-second', '°C': 'celsius', '°F': 'fahrenheit', '°': 'degree', ha: 'hectare' },
  ...{ kB: 'kilobyte', KB: 'kilobyte', MB: 'megabyte', GB: 'gigabyte', TB: 'terabyte', h: 'hour', min: 'minute' },
  ...{ s: 'second', ms: 'millisecond', 'Mbit/s': 'megabit-per-second', Mbps: 'megabit-per-second' },
  ...{ mg: 'mg', 'm²': 'm²', m2: 'm²', 'km²': 'km²', km2: 'km²', 'm³': 'm³', m3: 'm³', kWh: 'kWh', kW: 'kW' },
  ...{ Hz: 'Hz', kHz: 'kHz', MHz: 'MHz', GHz: 'GHz' },
};

/** How units are written. */
export const unitWords: readonly string[] = Object.keys(international);

/** Those that are read out without a number as well. */
const alone = '(?<alone>km/h|m/s|Mbit/s|kWh|m²|km²|m³)';

const codes =
  'USD|EUR|GBP|JPY|CNY|INR|BRL|CHF|CAD|AUD|NZD|MXN|ARS|CLP|COP|AED|SAR|EGP|KWD|QAR|MAD|RUB|TRY|KRW|SEK|NOK|DKK|PLN|CZK|HUF|ZAR|SGD|HKD';
const signs: Readonly<Record<string, string>> = {
  ...{ US$: 'USD', R$: 'BRL', C$: 'CAD', A$: 'AUD', '€': 'EUR', '£': 'GBP', '₹': 'INR', '₽': 'RUB', '₩': 'KRW' },
  ...{ '₺': 'TRY', '₪': 'ILS', '¥': 'JPY', $: 'USD' },
};

/** The expression of what may follow a number that says how much: a currency, a unit or a magnitude. */
export function amountMark({ units = {}, signs: own = {}, magnitudes }: SpokenLanguage): string {
  const marks = [international, units, signs, own, magnitudes].flatMap(Object.keys);
  return `\\s?(?:[%٪]|(?:${anyOf(marks)}|${codes})${lettersEnd})`;
}

/** Money, percentages and units. */
export function amountRules(parts: RuleParts): Rule[] {
  const { language, number, read } = parts;
  const { words, spaced = true } = language;
  const space = spaced ? ' ' : '';
  const percent = `(?<percent>[-−+]?${number})\\s?[%٪](?!\\d)`;
  const percentRule: Rule = {
    pattern: percent,
    say: ({ percent: written = '' }) => {
      const said = `${sayNumeral(read(written), language)}${space}${words.percent}`;
      return written.startsWith('+') ? `${words.plus}${space}${said}` : said;
    },
  };
  return [
    ...moneyRules(parts),
    rangeOf(percentRule, language),
    {
      pattern: `(?<from>${number}) ?[-–—] ?(?<to>${number})\\s?%`,
      say: ({ from = '', to = '' }) =>
        [sayNumeral(read(from), language), words.to, sayNumeral(read(to), language), words.percent].join(space),
    },
    percentRule,
    ...unitRules(parts),
  ];
}

function moneyRules({ language, locale, number, read }: RuleParts): Rule[] {
  const { words, spaced = true, currencies, magnitudes, beforeMagnitude = (said: string): string => said } = language;
  const space = spaced ? ' ' : '';
  const codeOf: Readonly<Record<string, string>> = { ...signs, ...language.signs };
  const plural = new Intl.PluralRules(locale);
  const nameOf = (code: string, { whole, decimals }: Numeral): string => {
    const unit = currencies[code]?.unit;
    if (unit) return formOf(unit, valueOf({ isNegative: false, whole, decimals }), plural);
    const options = { style: 'currency', currency: code, currencyDisplay: 'name', numberingSystem: 'latn' } as const;
    const format = new Intl.NumberFormat(locale, { ...options, minimumFractionDigits: decimals.length });
    const named = format.formatToParts(Number(`${whole}.${decimals || 0}`)).find(({ type }) => type === 'currency');
    return named?.value ?? code;
  };
  const ofMillions = (name: string): string =>
    (/^[aeiouy]/i.test(name) ? words.ofMillionsElided : undefined) ?? words.ofMillions ?? space;
  const counted = (numeral: Numeral, noun: Noun | undefined, name: string): string => {
    if (saysHowMany(noun, numeral)) return name;
    const link = /[1-9]0{6,}$/.test(numeral.whole) ? ofMillions(name) : space;
    return `${sayNumeral(numeral, language, noun?.gender ?? 'm')}${link}${name}`;
  };
  const say = (written: string, unit: string, magnitude: string | undefined): string => {
    const code = codeOf[unit] ?? unit;
    const currency: Currency | undefined = currencies[code];
    const numeral = read(written);
    const { whole, decimals, isNegative } = numeral;
    if (magnitude) {
      const many = nameOf(code, { isNegative, whole: '5000000', decimals: '' });
      const said = beforeMagnitude(sayNumeral(numeral, language, 'm'));
      return `${said}${space}${magnitudes[magnitude] ?? magnitude}${ofMillions(many)}${many}`;
    }
    const main: Numeral = { isNegative, whole, decimals: '' };
    if (decimals && !/^0+$/.test(decimals) && (decimals.length !== 2 || !currency?.cent)) {
      const exact = currency?.cent ? numeral : { ...numeral, decimals: decimals.replace(/(?<!0)0+$/, '') };
      return `${sayNumeral(exact, language)}${space}${nameOf(code, numeral)}`;
    }
    const cents: Numeral = { isNegative: false, whole: String(Number(decimals)), decimals: '' };
    const units = counted(main, currency?.unit, nameOf(code, main));
    if (!currency?.cent || cents.whole === '0') return units;
    const rest = counted(cents, currency.cent, formOf(currency.cent, Number(cents.whole), plural));
    if (Number(whole) > 0) return `${units}${words.andCents}${rest}`;
    return isNegative ? `${words.minus}${space}${rest}` : rest;
  };
  const unit = `(?<unit>${anyOf(Object.keys(codeOf))}|(?:${codes})(?![A-Z]))`;
  const links = words.ofMillions === undefined ? '' : `(?:${words.ofMillions.trim()} ?)?`;
  const magnitude = `(?:\\s?(?<magnitude>${anyOf(Object.keys(magnitudes))})${lettersEnd})`;
  // The sign of one amount is that of both: $5-10, 5-10 €.
  const span = `(?<from>${number})(?:-| ?[–—] ?)(?<amount>${number})`;
  const ranges = [
    `${unit}\\s?${span}${magnitude}`,
    `${unit}\\s?${span}${wordEnds}(?![-–—]\\d|\\s?%)`,
    `${span}${magnitude}\\s?${links}${unit}${wordEnds}`,
    `${span}\\s?${unit}${wordEnds}`,
  ].map((pattern): Rule => ({
    pattern,
    say: ({ from = '', amount = '', unit: found = '', magnitude: many }) => {
      const numeral = read(from);
      if (valueOf(numeral) >= valueOf(read(amount))) return undefined;
      const first = numeral.decimals && !many ? say(from, found, undefined) : sayNumeral(numeral, language);
      return `${first}${space}${words.to}${space}${say(amount, found, many)}`;
    },
  }));
  const amounts = [
    `(?<sign>[-−]?)${unit}\\s?(?<amount>[-−]?${number})${magnitude}`,
    `(?<sign>[-−]?)${unit}\\s?(?<amount>[-−]?${number})${wordEnds}`,
    `(?<sign>)(?<amount>[-−]?${number})${magnitude}\\s?${links}${unit}${wordEnds}`,
    `(?<sign>)(?<amount>[-−]?${number})\\s?${unit}${wordEnds}`,
  ].map((pattern): Rule => ({
    pattern,
    say: ({ sign = '', unit: found = '', amount = '', magnitude: many }) => say(sign + amount, found, many),
  }));
  return [...amounts.map((rule) => rangeOf(rule, language)), ...ranges, ...amounts];
}

function unitRules({ language, locale, number, read }: RuleParts): Rule[] {
  const { unitNouns, unitGenders = {}, spaced = true } = language;
  const space = spaced ? ' ' : '';
  const ids: Readonly<Record<string, string>> = { ...international, ...language.units };
  const plural = new Intl.PluralRules(locale);
  const say = (numeral: Numeral, id: string): string => {
    const own = unitNouns[id];
    const value = valueOf(numeral);
    if (own) {
      const name = formOf(own, value, plural);
      return saysHowMany(own, numeral) ? name : `${sayNumeral(numeral, language, own.gender ?? 'm')}${space}${name}`;
    }
    const said = sayNumeral(numeral, language, unitGenders[id] ?? 'm');
    const format = new Intl.NumberFormat(locale, {
      ...{ style: 'unit', unit: id, unitDisplay: 'long', numberingSystem: 'latn', useGrouping: false },
      minimumFractionDigits: numeral.decimals.length,
    });
    let isSaid = false;
    return format
      .formatToParts(value)
      .map(({ type, value: text }) => {
        if (type === 'unit') return text;
        if (type === 'literal') return spaced ? text.replace(/\s/g, ' ') : text.trim();
        const isFirst = !isSaid;
        isSaid = true;
        return isFirst ? said : '';
      })
      .join('');
  };
  const unit = `(?<unit>${anyOf(Object.keys(ids))})`;
  const ends = `(?![²³/])${lettersEnd}`;
  return [
    {
      pattern: `(?<from>${number}) ?[-–—] ?(?<amount>${number})\\s?${unit}${ends}`,
      say: ({ from = '', amount = '', unit: found = '' }) => {
        const first = sayNumeral(read(from), language, unitGenders[ids[found] ?? ''] ?? 'm');
        return `${first}${space}${language.words.to}${space}${say(read(amount), ids[found] ?? found)}`;
      },
    },
    {
      pattern: `(?<amount>[-−]?${number})[\\s\\-‑]?${unit}${ends}`,
      say: ({ amount = '', unit: found = '' }, { before }) => {
        const said = say(read(amount), ids[found] ?? found);
        // Where the unit is said before the number, it may be written there as well.
        const [head = ''] = said.split(sayNumeral(read(amount), language, 'm'), 1);
        return head !== '' && head !== said && before.endsWith(head) ? said.slice(head.length) : said;
      },
    },
    {
      pattern: `${alone}${wordEnds}`,
      say: ({ alone: found = '' }) => {
        const ten: Numeral = { isNegative: false, whole: '15', decimals: '' };
        return say(ten, ids[found] ?? found)
          .replace(language.cardinal(15), '')
          .replace(language.cardinal(15, 'f'), '')
          .trim();
      },
    },
  ];
}

function formOf({ forms }: Noun, value: number, plural: Intl.PluralRules): string {
  return forms[plural.select(value)] ?? forms.other;
}

/** A dual says how many there are, and beside it the singular. */
function saysHowMany(noun: Noun | undefined, { whole, decimals, isNegative }: Numeral): boolean {
  return noun?.forms.two !== undefined && !isNegative && !decimals && ['1', '2'].includes(whole);
}
