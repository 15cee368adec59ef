import { afterEcho, repeats } from '../../lib/text/echo.ts';
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
    let run = 0;
    const msFor = (words: number): number =>
      // What was asked about last is not looked at again.
      leastMs(() => {
        const text = `${'so '.repeat(words)}${run++}`;
        repeats(text, text);
      }, 1);
    const ms = msFor(10_000);
    expect(ms < 1 || ms < 8 * msFor(2_500)).toBe(true);
  });
});

describe('afterEcho', () => {
  const monday = 'Your parcel will arrive on Monday, between';
  const colour = 'It comes in two. Do you want the red one or the blue one?';
  const parts = (text: string, agent: string): string => {
    const { echo, rest, isLong, isOwn } = afterEcho(text, agent) ?? {};
    if (echo === undefined) return 'one';
    return `${echo} | ${rest ?? ''}${isLong ? '' : ' (short)'}${isOwn ? '' : ' (or misheard)'}`;
  };

  it.each([
    ['parcel will arrive stop', monday, 'parcel will arrive | stop (or misheard)'],
    ['Will arrive on Monday. Stop!', monday, 'Will arrive on Monday | Stop! (or misheard)'],
    [
      'a parcel will arrive on Monday, hold on',
      `${monday} nine`,
      'a parcel will arrive on Monday | hold on (or misheard)',
    ],
    ['will arrive on Monday, «no» — I am away', monday, 'will arrive on Monday | «no» — I am away'],
    ['the red one or the blue one, ¿el azul?', colour, 'the red one or the blue one | ¿el azul?'],
    [
      'Le café est là Stop'.normalize('NFD'),
      'le café est là'.normalize('NFD'),
      'Le café est là | Stop'.normalize('NFD'),
    ],
    ['Don’t wait for the bus. Stop', 'don’t wait for the bus', 'Don’t wait for the bus | Stop'],
  ])('"%s" is parted', (text, agent, expected) => {
    expect(parts(text, agent)).toBe(expected);
  });

  it('takes the same words again for somebody’s own', () => {
    expect(parts('the red one or the blue one the blue one', colour)).toBe(
      'the red one or the blue one | the blue one',
    );
  });

  it.each([
    ['a word', 'will arrive on Monday between wine', 'nine and'],
    ['three words, of which one was not', 'will arrive on Monday between wine and heaven', 'nine and eleven in the'],
  ])('says that %s may be the echo, misheard', (_, text, following) => {
    expect(parts(text, `${monday} ${following}`)).toMatch(/ \(or misheard\)$/);
  });

  it.each([
    ['more words than had sounded', 'will arrive on Monday between no', monday],
    ['three others', 'will arrive on Monday between I am away', `${monday} nine and eleven in the morning`],
  ])('says that %s are somebody’s own', (_, text, agent) => {
    expect(afterEcho(text, agent)?.isOwn).toBe(true);
  });

  it.each([
    ['parcel stop', 'parcel | stop (short) (or misheard)'],
    ['your parcel no', 'your parcel | no (short) (or misheard)'],
  ])('says that the beginning of "%s" is short', (text, expected) => {
    expect(parts(text, monday)).toBe(expected);
  });

  it.each([
    '',
    '…',
    'stop',
    'your parcel',
    'will arrive on Monday',
    'stop, will arrive on Monday',
    'I am on Monday away',
  ])('"%s" is one', (text) => {
    expect(parts(text, monday)).toBe('one');
  });

  it.each([
    ['お荷物は月曜日に届きます', 'お荷物は月曜日に待って', '待って'],
    ['您的包裹将于星期一上午送达', '包裹将于星期一，等一下', '等一下'],
    ['आपका पार्सल सोमवार को पहुँचेगा', 'आपका पार्सल सोमवार रुकिए', 'रुकिए'],
    ['ستصل شحنتك يوم الاثنين صباحا', 'ستصل شحنتك يوم توقف', 'توقف'],
  ])('parts any script: %s', (agent, text, rest) => {
    expect(afterEcho(text, agent)?.rest).toBe(rest);
  });

  it.each([
    ['one two three stop four', 'stop'],
    ['one two three hold on four five', 'hold on'],
    ['one two three stop, four. Five!', 'stop'],
    ['one two three stop five four', 'stop five'],
    ['one two three stop two three', 'stop two three'],
    ['one two three four five', ''],
  ])('finds what was said while the echo went on: "%s"', (text, between) => {
    expect(afterEcho(text, 'One two three four five.')?.between ?? '').toBe(between);
  });

  it('keeps all of what follows in a long text', () => {
    const long = `will arrive on Monday between ${'and so on and on '.repeat(100)}end`;
    expect(afterEcho(long, monday)?.rest).toMatch(/^and so .* on end$/);
  });

  it('takes little time, however much was heard', () => {
    let run = 0;
    const msFor = (words: number): number =>
      leastMs(() => {
        const text = `${'so '.repeat(words)}stop ${run++}`;
        afterEcho(text, text.replace('stop', 'now'));
      }, 1);
    const ms = msFor(10_000);
    expect(ms < 1 || ms < 8 * msFor(2_500)).toBe(true);
  });
});
