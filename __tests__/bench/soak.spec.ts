// Slow: telephone calls at the speed of sound, twice.
import { lostWords, stuckAt, unheardWords, type Log, type Speech, type Told } from '../../bench/soak/judge.ts';
import { callOf, mishapsOf } from '../../bench/soak/script.ts';
import { grows, meansOf, slopeOf } from '../../bench/soak/slope.ts';
import { soak } from '../../bench/soak/soak.ts';

const told: Told = {
  ...{ call: 1, said: ['say river 1 0', 'tell a story amber 1 1'], due: 2, heard: 'Yes?river 1 0Once upon a ti' },
  ...{ lines: [], lateMs: 5, unanswered: 0, problems: [] },
};
const whole = (text: string): Speech => ({ text, heardText: text, interrupted: false, resumes: 0, restarts: 0 });
const cut = (text: string, heardText: string): Speech => ({
  text,
  heardText,
  interrupted: true,
  resumes: 0,
  restarts: 0,
});
const logOf = (...speeches: readonly Speech[]): Log => ({
  ...{ call: 1, open: { turns: 0, speeches: 0 }, speeches, mishaps: [], endMs: 5, lateMs: 5, trail: [] },
  history: speeches.map(({ heardText }) => ['assistant', heardText]),
});
const story = 'Once upon a time a lighthouse stood at the end of a long pier.';
const log = logOf(whole('Yes?'), whole('river 1 0'), cut(story, 'Once upon a'));

describe('the judge of what the model was sent', () => {
  const all = ['say river 1 0', 'Say river 1 0. Tell a story', 'Say river 1 0. Tell a story amber 1 1.'];
  it('takes requests that grow to all that was said', () => {
    expect(lostWords(told, log, all)).toEqual([]);
  });

  for (const [what, sent] of [
    ['a word that never came', all.slice(0, 2)],
    ['a word that was lost on the way', [...all, 'say river 1 0 tell story amber 1 1']],
    ['a word that came twice', ['say say river 1 0', ...all]],
    ["another caller's words", [...all, 'say river 2 0']],
    ['no request at all', []],
  ] as const) {
    it(`finds ${what}`, () => {
      expect(lostWords(told, log, sent)).toHaveLength(1);
    });
  }

  it('does not ask for what was said to a service that is told to be gone', () => {
    const gone = { ...log, mishaps: ['stt lost'] };
    expect(lostWords(told, gone, all.slice(0, 1))).toEqual([]);
    expect(lostWords(told, gone, ['say amber'])).toHaveLength(1);
  });

  it('asks nothing of services that stood still for longer than anybody waits', () => {
    expect(lostWords({ ...told, lateMs: 3_000 }, log, all.slice(0, 1))).toEqual([]);
    expect(lostWords({ ...told, lateMs: 300 }, log, all.slice(0, 1))).toHaveLength(1);
  });

  it('does not ask for what was said by a caller who was leaving', () => {
    expect(lostWords({ ...told, due: 1 }, log, all.slice(0, 1))).toEqual([]);
    expect(lostWords({ ...told, due: 1 }, log, ['say river 1'])).toHaveLength(1);
  });
});

describe('the judge of what is told as heard', () => {
  it('takes what sounded, and of a cut answer the word that it was cut in', () => {
    expect(unheardWords(told, log)).toEqual([]);
    expect(unheardWords({ ...told, heard: 'Yes?river 1 0Once upon a ti\uFFFD' }, log)).toEqual([]);
    expect(
      unheardWords(
        { ...told, heard: 'Yes?river 1 0Once up' },
        logOf(...log.speeches.slice(0, 2), cut(story, 'Once upon')),
      ),
    ).toEqual([]);
  });

  for (const [what, heard, remembered] of [
    ['a word that never sounded', 'Yes?river 0Once upon a ti', log],
    ['a damaged word', 'Yes?riv\uFFFDr 1 0Once upon a ti', log],
    ['a word that sounded twice', 'Yes?river river 1 0Once upon a ti', log],
    ['an answer that is told as heard, and was cut before', 'Yes?river 1 0Once', log],
    ['an answer that went on long after the cut', 'Yes?river 1 0Once upon a time a lighthouse', log],
    ['an answer that nobody tells of', 'Yes?river 1 0Once upon a tiamber 1 1', log],
    ['a history that is not what is told', told.heard, { ...log, history: log.history.slice(1) }],
  ] as const) {
    it(`finds ${what}`, () => {
      expect(unheardWords({ ...told, heard }, remembered)).toHaveLength(1);
    });
  }

  it('asks nothing of a machine that stood still, but that the history is what is told', () => {
    const other = { ...told, heard: 'Yes?' };
    for (const [call, agent] of [
      [{ ...other, lateMs: 300 }, log],
      [other, { ...log, lateMs: 300 }],
    ] as const) {
      expect(unheardWords(call, agent)).toEqual([]);
      expect(unheardWords(call, { ...agent, history: [] })).toHaveLength(1);
    }
  });

  it('forgives a pause the characters that it damages, and no more', () => {
    const paused = logOf({ ...whole('one two'), resumes: 1 });
    const heard = (text: string): unknown => unheardWords({ ...told, heard: text }, paused);
    for (const text of ['one two', 'on\uFFFD two', 'one \uFFFDtwo', 'on\uFFFD\uFFFDtwo'])
      expect(heard(text)).toEqual([]);
    expect(heard('\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDo')).toHaveLength(1);
    expect(heard('one tw')).toEqual([]);
    expect(heard('one t')).toHaveLength(1);
  });

  it('forgives a pause in the mark that ends a speech, which nobody counts, before another', () => {
    const [before, paused, after] = [whole('Yes?'), { ...whole('8, 9.'), resumes: 1 }, cut(story, 'Once upon')];
    const heard = (text: string, ...speeches: readonly Speech[]): unknown =>
      unheardWords({ ...told, heard: text }, logOf(...speeches));
    expect(heard('Yes?8, 9\uFFFDOnce upon', before, paused, after)).toEqual([]);
    expect(heard('Yes?8, 9\uFFFD', before, paused)).toEqual([]);
    expect(heard('Yes?8, 9\uFFFDOnce upon', before, whole('8, 9.'), after)).toHaveLength(1);
    expect(heard('Yes?8, 9xOnce upon', before, paused, after)).toHaveLength(1);
    expect(heard('Yes?8, 9\uFFFD\uFFFD\uFFFD\uFFFDOnce upon', before, paused, after)).toHaveLength(1);
  });
});

describe('the judge of a voice that is lost and begins anew', () => {
  const heard = (text: string, speech: Partial<Speech>): unknown =>
    unheardWords(
      { ...told, heard: `Yes?${text}You said: river` },
      logOf(whole('Yes?'), { ...cut(story, 'Once'), ...speech }, whole('You said: river')),
    );

  it('takes what sounded before, which may be more than what did after', () => {
    for (const text of ['Once upon aOnce', 'Once upOnc', 'OncOnce up', 'Once'])
      expect(heard(text, { restarts: 1 })).toEqual([]);
  });

  it('finds words that sounded twice without a loss, and more or fewer than are told', () => {
    expect(heard('Once upon aOnce', { restarts: 0 })).toHaveLength(1);
    expect(heard('Once upon aOnceOnce', { restarts: 1 })).toHaveLength(1);
    expect(heard('Once upon a time a lOnce', { restarts: 1 })).toHaveLength(1);
    expect(heard('Once upon aOnce', { restarts: 1, heardText: 'Once upon a time a lighthouse' })).toHaveLength(1);
    expect(heard('Once upon aOnce', { restarts: 1, interrupted: false })).toHaveLength(1);
  });
});

describe('the judge of an answer that begins with the cut of another', () => {
  const speeches = [whole('Yes?'), cut(story, 'Once upon a'), whole('You said: river')];
  const heard = (text: string): unknown => unheardWords({ ...told, heard: text }, logOf(...speeches));

  it('forgives it the letter that runs into the cut one', () => {
    expect(heard('Yes?Once upon a ti\uFFFD\uFFFDou said: river')).toEqual([]);
    expect(heard('Yes?Once upon a ti\uFFFDYou said: river')).toEqual([]);
    expect(heard('Yes?Once upon a tiYou said: river')).toEqual([]);
  });

  it('forgives no more, and none that is merely missing', () => {
    for (const text of [
      'Yes?Once upon a tiou said: river',
      'Yes?Once upon a ti\uFFFD\uFFFDu said: river',
      'Yes?Once upon a ti\uFFFD\uFFFDou river',
    ])
      expect(heard(text)).toHaveLength(1);
  });
});

describe('the judge of how calls end', () => {
  it('takes a question without an answer where something went wrong, and says so', () => {
    expect(stuckAt({ ...told, unanswered: 1 }, { ...log, mishaps: ['llm timeout'] })).toEqual([]);
  });

  it('measures no time by a clock that stood still', () => {
    expect(stuckAt({ ...told, lateMs: 300 }, { ...log, endMs: 3_000 })).toEqual([]);
    expect(stuckAt({ ...told, unanswered: 1, lateMs: 300 }, log)).toHaveLength(1);
    expect(stuckAt({ ...told, unanswered: 1, lateMs: 3_000 }, log)).toEqual([]);
  });

  for (const [what, call, remembered] of [
    ['a question without an answer', { ...told, unanswered: 1 }, log],
    ['a turn without an end', told, { ...log, open: { turns: 1, speeches: 0 } }],
    ['speech without an end', told, { ...log, open: { turns: 0, speeches: 1 } }],
    ['an end that takes too long', told, { ...log, endMs: 3_000 }],
    ['a bug', told, { ...log, mishaps: ['stt internal'] }],
    ["the platform's complaint", { ...told, problems: ['payload is not base64'] }, log],
  ] as const) {
    it(`finds ${what}`, () => {
      expect(stuckAt(call, remembered)).toHaveLength(1);
    });
  }
});

describe('the judge of slopes', () => {
  const points = (grow: number, noise: number) =>
    Array.from({ length: 60 }, (_, x) => ({ x, y: 1e7 + grow * x + noise * Math.sin(x * 7) }));

  it('finds what grows under noise, and takes noise for none', () => {
    expect(slopeOf(points(1_000, 0)).slope).toBeCloseTo(1_000);
    expect(grows(points(20_000, 100_000), 7_168)).toBe(true);
    expect(grows(points(0, 1_000_000), 7_168)).toBe(false);
    expect(grows(points(5_000, 1_000), 7_168)).toBe(false);
    expect(meansOf(points(10, 0), 20).map(({ x, y }) => [x, y - 1e7])).toEqual([
      [9.5, 95],
      [29.5, 295],
      [49.5, 495],
    ]);
  });
});

describe('the script', () => {
  it('is the same for the same seed, and another one for another', () => {
    const script = (seed: number): unknown => [callOf(seed, 7), mishapsOf(seed, 7), mishapsOf(seed, 8)];
    expect(script(1)).toEqual(script(1));
    expect(script(1)).not.toEqual(script(2));
  });

  it('lets every service have its turn', () => {
    const calls = Array.from({ length: 14 }, (_, call) => callOf(5, call));
    const count = (names: readonly string[]): number => new Set(names).size;
    expect([count(calls.map(({ ear }) => ear)), count(calls.map(({ voice }) => voice))]).toEqual([11, 14]);
  });
});

describe('twenty seconds of calls in which everything goes wrong', () => {
  // How late frames are is the machine's, which other specs share.
  const ofWords = /words|calls that end|nothing/;

  it('lose no word, and leave nothing', async () => {
    const checks = (await soak({ seconds: 20, calls: 6, seed: 1 })).filter(({ name }) => ofWords.test(name));
    expect(checks.flatMap(({ problems }) => problems)).toEqual([]);
    expect(checks).toHaveLength(5);
  }, 120_000);

  it('are found out when one word is swallowed', async () => {
    // The last of the first text of each call: some service may be told to be gone in any one of them.
    const pronounce = (text: string): string => text.replace(/ 0$/, '');
    const checks = await soak({ seconds: 6, calls: 4, seed: 2, pronounce });
    expect(checks.filter(({ name, ok }) => ofWords.test(name) && !ok)).toMatchObject([
      {
        name: 'user words in what the model was sent',
        problems: expect.arrayContaining([expect.stringContaining('the model was sent')]) as unknown,
      },
    ]);
  }, 120_000);
});
