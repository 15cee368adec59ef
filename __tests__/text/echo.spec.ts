import { repeats } from '../../lib/text/echo.ts';
import { leastMs } from '../transport/least-time.ts';

const heard = 'Your parcel will arrive on Monday, between nine and eleven. Please be at home!';

describe('repeats', () => {
  it.each([
    'Your parcel will arrive',
    'arrive on monday between nine',
    'be at home',
    'Please be at home.',
    'your partial will arrive on monday between nine and eleven',
  ])('"%s" does', (text) => {
    expect(repeats(text, heard)).toBe('surely');
  });

  it.each(['your parcel', 'Monday', 'nine and'])('"%s" may become a repetition', (text) => {
    expect(repeats(text, heard)).toBe('partly');
  });

  it.each(['', '…', 'no', 'par', 'on Tuesday', 'arrive on Tuesday', 'will it be on Monday then', 'at home on Monday'])(
    '"%s" does not',
    (text) => {
      expect(repeats(text, heard)).toBe('not');
    },
  );

  it('is told of a whole sentence, however short', () => {
    expect(repeats('Fine', 'One. Fine! Two.')).toBe('surely');
    expect(repeats('Fine', 'One. Fine, thanks. Two.')).toBe('partly');
  });

  it.each([
    ['お荷物は月曜日に届きます', '荷物は月曜日に届き', '荷物は火曜日です'],
    ['您的包裹将于星期一上午送达', '包裹将于星期一', '我不在家里'],
    ['आपका पार्सल सोमवार को पहुँचेगा', 'पार्सल सोमवार को पहुँचेगा', 'मैं घर पर नहीं हूँ'],
    ['ستصل شحنتك يوم الاثنين صباحا', 'شحنتك يوم الاثنين', 'لن أكون في البيت'],
  ])('is told in any script: %s', (agent, echo, other) => {
    expect(repeats(echo, agent)).toBe('surely');
    expect(repeats(other, agent)).toBe('not');
  });

  it('takes little time, however much was heard', () => {
    const msFor = (words: number): number => {
      const text = 'so '.repeat(words);
      return leastMs(() => repeats(text, text), 1);
    };
    const ms = msFor(10_000);
    expect(ms < 1 || ms < 8 * msFor(2_500)).toBe(true);
  });
});
