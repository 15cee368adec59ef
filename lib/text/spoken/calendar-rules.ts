import type { Rule, SpokenLanguage } from './language.ts';
import { sayLetters } from './numbers.ts';
import { anyOf, rangeOf, wordEnds, type RuleParts } from './parts.ts';

/** In which order a locale writes a date of numbers. */
function orderOf(locale: string): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'short', timeZone: 'UTC', calendar: 'gregory' });
  return format
    .formatToParts(0)
    .map(({ type }) => (type === 'day' || type === 'month' || type === 'year' ? type[0] : ''))
    .join('');
}

/** Dates: 2026-11-23T10:00, 2026-11-23, 23/11/2026, 23 November 2026, Nov. 23. */
export function dateRules({ language, locale, months, monthNames }: RuleParts): Rule[] {
  const { dateLink = '', ordinalMarks, dottedOrdinals = false } = language;
  const isMonthFirst = orderOf(locale).startsWith('md');
  const say =
    (dayFirst?: boolean): Rule['say'] =>
    ({ day: dayText, month: monthText = '', year: yearText, first, second }, { before }) => {
      let [day, month] = [Number(dayText), months.get(monthText) ?? Number(monthText)];
      if (first !== undefined) [day, month] = [Number(first), Number(second)];
      if (first !== undefined && isMonthFirst) [day, month] = [month, day];
      if (month > 12) [day, month] = [month, day];
      const monthName = monthNames[month - 1];
      if (day < 1 || day > 31 || monthName === undefined) return undefined;
      const year = yearText === undefined ? undefined : Number(yearText.length === 2 ? `20${yearText}` : yearText);
      return language.date({ day, month, monthName, year, before, ...(dayFirst === undefined ? {} : { dayFirst }) });
    };
  const link = dateLink && `(?:${dateLink})?`;
  const month = `(?<month>${anyOf(months.keys())})(?![\\p{L}\\p{M}])\\.?`;
  const mark = ordinalMarks ? `(?:${ordinalMarks})?` : '';
  const year = `(?:,? ${link}(?<year>[12]\\d{3}))?`;
  const day = '(?<day>[0-3]?\\d)';
  const pair = (sign: string): string => `(?<first>[0-3]?\\d)${sign}(?<second>[0-3]?\\d)${sign}`;
  return [
    { pattern: isoTime, say: (groups, context) => sayIsoTime(say()(groups, context), groups, language) },
    { pattern: `(?<year>[12]\\d{3})[-/.](?<month>[01]?\\d)[-/.]${day}${wordEnds}`, say: say() },
    ...['\\.', '/', '-'].map((sign) => ({
      pattern: `${pair(sign)}(?<year>[12]\\d{3}${sign === '/' || dottedOrdinals ? '|\\d\\d' : ''})${wordEnds}`,
      say: say(),
    })),
    ...(months.size > 0
      ? [
          {
            pattern: `${day}${mark}${dottedOrdinals ? '\\.?' : ''} ?${link}${month}${year}${wordEnds}`,
            say: say(true),
          },
          { pattern: `${month} ${day}${mark}${year}${wordEnds}`, say: say(false) },
        ]
      : []),
  ];
}

const isoTime = [
  '(?<year>[12]\\d{3})-(?<month>[01]\\d)-(?<day>[0-3]\\d)T(?<hour>[01]\\d|2[0-4]):(?<minute>[0-5]\\d)',
  '(?::(?<second>[0-5]\\d)(?:[.,]\\d{1,9})?)?',
  '(?<zone>Z|(?<sign>[+\\-−])(?<ahead>[01]\\d)(?::?(?<rest>[0-5]\\d))?)?',
  wordEnds,
].join('');

/** The time of 2026-11-23T10:00, after its date. */
function sayIsoTime(
  date: string | undefined,
  { hour, minute, second, zone, sign, ahead, rest }: Readonly<Record<string, string | undefined>>,
  language: SpokenLanguage,
): string | undefined {
  const { words, spaced = true, phonePause: pause = ', ', cardinal } = language;
  const at = { hour: Number(hour), minute: Number(minute), second: Number(second ?? 0), mark: '', before: '' };
  const time = language.time(at);
  if (date === undefined || time === undefined) return undefined;
  const offset = [Number(ahead ?? 0), Number(rest ?? 0)].filter((part) => part > 0).map((part) => cardinal(part));
  const said = [
    ...[time, ...(zone === undefined ? [] : [sayLetters('UTC', language)])],
    ...(offset.length > 0 ? [sign === '+' ? words.plus : words.minus, ...offset] : []),
  ];
  return `${date}${spaced ? pause : ''}${said.join(spaced ? ' ' : '')}`;
}

function lower(text: string = ''): string {
  return text.toLowerCase();
}

/** Times of day: 3:45 pm, 15:45, 3 pm. */
export function timeRules({ language }: RuleParts): Rule[] {
  const { before: head = '', after: tail = '' } = language.timeMarks;
  const hour = '(?<hour>[01]?\\d|2[0-4])';
  const minute = '(?<minute>[0-5]\\d)';
  const opening = head && `(?<head>${head})\\s?`;
  const closing = tail && `\\s?(?<tail>${tail})(?![\\p{L}\\p{M}\\d])`;
  const clock = `${hour}:${minute}(?::(?<second>[0-5]\\d))?`;
  const say: Rule['say'] = ({ hour: hours, minute: minutes, second, head: front, tail: back, mark }, { before }) =>
    language.time({
      hour: Number(hours),
      minute: minutes === undefined ? undefined : Number(minutes),
      second: second === undefined ? undefined : Number(second),
      mark: lower(front ?? back ?? mark),
      before,
    });
  const timeRule = (pattern: string): Rule => ({ pattern, takesDot: true, say });
  const plain = timeRule(clock + wordEnds);
  const closed = timeRule(clock + closing);
  const rules = [
    ...(head ? [timeRule(opening + clock + wordEnds)] : []),
    ...(tail ? [closed, timeRule(hour + closing)] : []),
    ...(language.times ?? []).map((pattern) => timeRule(pattern + wordEnds)),
    plain,
  ];
  // A mark after the second time belongs to both.
  const marked = tail && `(?!\\s?(?:${tail}))`;
  const ranges = rules
    .map((rule) => rangeOf(rule, language))
    .map((rule) => ({ ...rule, pattern: rule.pattern + marked }));
  // A mark after the second time alone: 9:00-17:00 Uhr.
  const mixed = tail ? [rangeOf(plain, language, closed)] : [];
  return [...mixed, ...ranges, ...rules];
}
