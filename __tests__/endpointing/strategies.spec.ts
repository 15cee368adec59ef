/** When the user's turn ends, by each strategy, in whole conversations. */
import { delay, finalize, NEVER, of, throwError } from 'rxjs';
import type { EndOfTurn, HeardTurn } from 'rxvoice';
import { manual, scorer, silence, stt } from 'rxvoice/endpointing';
import { application, user, voiceTest, type VoiceStep, type VoiceTestOptions } from 'rxvoice/testing';
import { FakeSTT } from '../../lib/testing/fakes.ts';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

/** Words that are final, of an utterance that goes on. */
const marked = (text: string): VoiceStep => ({ user: { ...FakeSTT.result(text, 'interim'), isFinal: true } });
/** The same result, with the time at which its last word ended. */
const timed = (step: VoiceStep, endMs: number): VoiceStep =>
  'user' in step ? { user: { ...step.user, metadata: { words: [{ text: 'x', startMs: endMs - 50, endMs }] } } } : step;

type Story = Omit<VoiceTestOptions, 'untilMs'>;

/** When turns were committed, and with which words. */
const commits = (options: Story): readonly string[] =>
  timeline(voiceTest({ llm: { answer: () => '' }, ...options, untilMs: 30_000 }).events, 'turn.committed');

describe('silence()', () => {
  const story: Story = {
    ...{ endpointing: silence({ minMs: 500 }), vad: true },
    steps: { 60: user.voice(0), 400: user.interim('hello'), 1_250: user.silence(1_000), 1_300: marked('hello there') },
  };

  it('commits when the silence is long enough and the words are final', () => {
    expect(commits(story)).toEqual(['1500 turn.committed hello there']);
  });

  it('measures from the last voiced frame, not from the message that tells of it', () => {
    const late = { ...story.steps, 1_250: [], 1_450: user.silence(1_000) };
    expect(commits({ ...story, steps: late })).toEqual(['1500 turn.committed hello there']);
  });

  it('waits for a final that comes later', () => {
    const steps = { ...story.steps, 1_300: [], 1_800: marked('hello there') };
    expect(commits({ ...story, steps })).toEqual(['1800 turn.committed hello there']);
  });

  it('waits no longer for a final than this service usually takes', () => {
    const steps = { ...story.steps, 1_300: user.interim('hello there') };
    expect(commits({ ...story, steps })).toEqual(['2000 turn.committed hello there']);
    // Deepgram is fast, Amazon slow.
    expect(commits({ ...story, steps, stt: { name: 'AlphaSTT' } })).toEqual(['1500 turn.committed hello there']);
    expect(commits({ ...story, steps, stt: { name: 'LambdaSTT' } })).toEqual(['2900 turn.committed hello there']);
  });

  it('learns how long the service takes', () => {
    const turns: Record<number, VoiceStep> = {};
    for (const turn of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const at = turn * 3_000;
      turns[at + 60] = user.voice(at);
      turns[at + 1_250] = user.silence(at + 1_000);
      turns[at + 1_260] = user.interim(`word ${turn}`);
      turns[at + 1_500] = user.final(`word ${turn}`);
    }
    turns[30_060] = user.voice(30_000);
    turns[31_250] = user.silence(31_000);
    turns[31_260] = user.interim('last');
    const { events } = voiceTest({ ...story, llm: { answer: () => '' }, steps: turns, untilMs: 40_000 });
    const [committed = ''] = timeline(events, 'turn.committed').slice(-1);
    const [at = '', , text = ''] = committed.split(' ');
    // From 1,000 towards 500, a tenth of the way with each final.
    expect(text).toBe('last');
    expect(Number(at)).toBeGreaterThan(31_500);
    expect(Number(at)).toBeLessThan(31_750);
  });

  it('does not hear a final twice whose words were committed before it came', () => {
    const steps = { ...story.steps, 1_300: user.interim('hello there'), 2_400: user.final('Hello there.') };
    expect(commits({ ...story, steps })).toEqual(['2000 turn.committed hello there']);
    const more = { ...steps, 2_400: user.final('hello there my friend') };
    expect(commits({ ...story, steps: more }).at(-1)).toMatch(/ my friend$/);
  });

  it('new speech cancels the wait', () => {
    const steps = {
      ...story.steps,
      1_460: user.voice(1_400),
      2_400: user.interim('hello there my friend'),
      2_650: user.silence(2_400),
      2_700: user.final('hello there my friend'),
    };
    expect(commits({ ...story, steps })).toEqual(['2900 turn.committed hello there my friend']);
  });

  it('a click in the silence is no speech', () => {
    const steps = { ...story.steps, 1_360: user.voice(1_300), 1_490: user.silence(1_330, 'brief') };
    expect(commits({ ...story, steps })).toEqual(['1500 turn.committed hello there']);
  });

  it('a click alone is no turn', () => {
    const { events } = voiceTest({ ...story, steps: { 60: user.voice(0), 300: user.silence(50, 'brief') } });
    expect(timeline(events, 'transcript.timeout', 'turn.started', 'user.state')).toEqual([
      '60 user.state',
      '300 user.state',
    ]);
  });

  it('asks the service to finalize as soon as the voice ends, so that recordings are transcribed in time', () => {
    let asked = 0;
    commits({ ...story, stt: { finalize: () => asked++ } });
    expect(asked).toBe(1);
  });

  it('goes by the end of the last word where no voice is told of', () => {
    const steps = { 300: timed(user.interim('hello'), 250), 800: timed(marked('hello there'), 600) };
    expect(commits({ endpointing: silence(), reportsSpeechEnd: false, steps })).toEqual([
      '1100 turn.committed hello there',
    ]);
  });

  it('goes by the arrival of words where nothing else is known', () => {
    const steps = { 300: user.interim('hello'), 800: marked('hello there') };
    expect(commits({ endpointing: silence(), reportsSpeechEnd: false, steps })).toEqual([
      '1300 turn.committed hello there',
    ]);
  });

  it('tells the latency from the last voiced frame', () => {
    const { events } = voiceTest({ ...story, untilMs: 10_000 });
    expect(events.find(({ type }) => type === 'turn.metrics')).toMatchObject({ endpointing: 500, sttFinal: 300 });
  });

  it('tells which part of it the service took for its final, if one came', () => {
    const metricsOf = (steps: Story['steps']): object =>
      voiceTest({ ...story, steps, untilMs: 10_000 }).events.find(({ type }) => type === 'turn.metrics') ?? {};
    expect(metricsOf({ ...story.steps, 1_300: [], 1_800: marked('hello there') })).toMatchObject({
      ...{ endpointing: 800, sttFinal: 800 },
    });
    const unmarked = metricsOf({ ...story.steps, 1_300: user.interim('hello there') });
    expect(unmarked).toMatchObject({ endpointing: 1_000 });
    expect(unmarked).not.toHaveProperty('sttFinal');
  });
});

describe('endpointing: { minMs, maxMs, dynamic } bounds every strategy', () => {
  it('nothing commits before minMs of silence, even if the service says so', () => {
    const steps = { 0: user.starts, 500: user.interim('hello'), 1_000: user.falls, 1_100: user.final('hello there') };
    expect(commits({ steps })).toEqual(['1100 turn.committed hello there']);
    expect(commits({ steps, endpointing: { minMs: 700 } })).toEqual(['1700 turn.committed hello there']);
    expect(commits({ steps, endpointing: stt({ minMs: 700 }) })).toEqual(['1700 turn.committed hello there']);
  });

  it('what the service ends too early is joined when the user goes on', () => {
    const steps = {
      ...{ 0: user.starts, 1_000: user.falls, 1_100: user.final('I would like'), 1_300: user.starts },
      ...{ 1_900: user.interim('a table'), 2_400: user.falls, 2_500: user.final('a table for two') },
    };
    expect(commits({ steps, endpointing: { minMs: 700 } })).toEqual([
      '3100 turn.committed I would like a table for two',
    ]);
  });

  it('all commits by maxMs, whatever the strategy thinks', () => {
    const never: EndOfTurn = () => Infinity;
    const steps = { 0: user.starts, 500: user.interim('hello'), 1_000: user.falls };
    const endpointing = Object.assign(never, { maxMs: 2_000 });
    expect(commits({ steps, endpointing })).toEqual(['3000 turn.committed hello']);
    expect(commits({ steps, endpointing: { maxMs: 1_500 } })).toEqual(['2500 turn.committed hello']);
  });

  it('adds to the pause of a service that ends utterances after less than 300 ms', () => {
    const steps = { 0: user.starts, 500: user.interim('hello'), 1_000: user.falls, 1_060: user.final('hello') };
    expect(commits({ steps, stt: { pauseMs: 50 } })).toEqual(['1300 turn.committed hello']);
    expect(commits({ steps, stt: { pauseMs: 300 } })).toEqual(['1060 turn.committed hello']);
    expect(commits({ steps, stt: { pauseMs: 50 }, endpointing: { minMs: 0 } })).toEqual(['1060 turn.committed hello']);
  });

  it('a final that a service forces in the middle of speech commits nothing', () => {
    const steps = {
      ...{ 0: user.starts, 5_000: user.final('a very long'), 6_000: user.interim('sentence') },
      ...{ 7_000: user.falls, 7_100: user.final('sentence that goes on') },
    };
    const long = 'turn.committed a very long sentence that goes on';
    expect(commits({ steps, stt: { pauseMs: 50 } })).toEqual([`7300 ${long}`]);
    const heard = { ...steps, 0: user.voice(0), 7_000: user.silence(6_800) };
    expect(commits({ steps: heard, vad: true })).toEqual([`7100 ${long}`]);
  });

  it('dynamic: true gives more time to a user who pauses for long', () => {
    const turns: Record<number, VoiceStep | VoiceStep[]> = {};
    for (const turn of [0, 1, 2, 3, 4, 5, 6, 7]) {
      const at = turn * 6_000;
      turns[at + 60] = user.voice(at);
      turns[at + 750] = [user.silence(at + 500), user.interim(`well ${turn}`)];
      turns[at + 1_960] = user.voice(at + 1_900);
      turns[at + 2_750] = [user.silence(at + 2_500), user.final(`well ${turn} yes`)];
    }
    const options: Story = { steps: turns, vad: true, llm: { answer: () => '' } };
    const delays = (dynamic: boolean): number[] => {
      const isDone = (text: string): number => (text.endsWith('yes') ? 1 : 0);
      const endpointing = scorer(isDone, { minMs: 300, maxMs: 3_000, dynamic });
      const { events } = voiceTest({ ...options, endpointing, untilMs: 60_000 });
      return timeline(events, 'turn.committed').map((line) => (Number(line.split(' ')[0]) % 6_000) - 2_500);
    };
    expect(new Set(delays(false))).toEqual(new Set([300]));
    const learnt = delays(true);
    expect(learnt[0]).toBe(410);
    expect(learnt.at(-1)).toBeGreaterThan(800);
    expect(learnt.at(-1)).toBeLessThan(1_400);
  });

  it('learns from a pause that was mistaken for the end', () => {
    const options = { vad: true, endpointing: silence({ minMs: 500, dynamic: true }), llm: { firstTokenMs: 900 } };
    const steps = {
      ...{ 60: user.voice(0), 750: user.silence(500), 800: user.final('I would like') },
      ...{ 1_560: user.voice(1_500), 1_900: user.interim('a table'), 2_250: user.silence(2_000) },
      ...{ 2_300: user.final('a table') },
    };
    const { events } = voiceTest({ ...options, steps, untilMs: 20_000 });
    expect(timeline(events, 'turn.committed')).toEqual([
      '1000 turn.committed I would like',
      // A tenth of the way from 500 to the second that the user paused.
      '2550 turn.committed a table',
    ]);
  });

  describe('dynamic: true learns nothing from backchannels', () => {
    const endpointing = silence({ minMs: 500, dynamic: true });
    const mended = (first: string, second: string): readonly string[] => {
      const steps = {
        ...{ 60: user.voice(0), 750: user.silence(500), 800: user.final(first) },
        ...{ 1_560: user.voice(1_500), 1_900: user.interim(second), 2_250: user.silence(2_000) },
        ...{ 2_300: user.final(second) },
      };
      const { events } = voiceTest({
        ...{ vad: true, endpointing, llm: { firstTokenMs: 900 } },
        ...{ steps, untilMs: 20_000 },
      });
      return timeline(events, 'turn.committed').map((line) => line.split(' ')[0] ?? '');
    };

    it('what follows a nod is no pause of the speaker', () => {
      expect(mended('I would like', 'a table')).toEqual(['1000', '2550']);
      expect(mended('Mm-hm.', 'a table')).toEqual(['1000', '2500']);
    });

    it('nor is what a nod follows', () => {
      expect(mended('I would like', 'mm-hm')).toEqual(['1000', '2500']);
    });

    it('within a turn neither', () => {
      const end = (first: string, second: string): number => {
        const isDone = (text: string): number => (text.endsWith('done') ? 1 : 0);
        const strategy = scorer(isDone, { minMs: 300, maxMs: 3_000, dynamic: true });
        const steps = {
          ...{ 60: user.voice(0), 750: [user.silence(500), user.final(first)] },
          ...{ 1_960: user.voice(1_900), 2_300: user.interim(second), 2_750: user.silence(2_500) },
          ...{ 4_060: user.voice(4_000), 4_400: user.interim(`${second} done`), 4_750: user.silence(4_500) },
          4_760: user.final(`${second} done`),
        };
        const [line = ''] = commits({ steps, vad: true, endpointing: strategy, llm: { answer: () => '' } });
        return Number(line.split(' ')[0]) - 4_500;
      };
      // Pauses of 1,400 and 1,500 ms: from 300 to 410, and from there to 519.
      expect(end('well', 'then')).toBe(519);
      expect(end('mm-hm', 'then')).toBe(420);
      expect(end('well', 'mm-hm')).toBe(420);
      expect(end('mm-hm', 'mm-hm')).toBe(300);
    });
  });

  it('maxTurnMs: a turn without an end is answered all the same', () => {
    const steps = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [index * 500, user.interim(`word ${index}`)]),
    );
    expect(commits({ steps: { 0: user.starts, ...steps }, endpointing: { maxTurnMs: 10_000 } })[0]).toBe(
      '10000 turn.committed word 20',
    );
    const held = { 0: application.does('begin'), 300: user.final('hello') };
    expect(commits({ steps: held, endpointing: manual({ maxTurnMs: 4_000 }) })).toEqual(['4000 turn.committed hello']);
  });

  describe('maxTurnMs: a user who goes on for several turns in one utterance', () => {
    const words = Array.from({ length: 48 }, (_, index) => `word${index}`);
    const upTo = (count: number): string => words.slice(0, count).join(' ');
    /** A word every 500 ms; then the final, written as finals are. */
    const talks = (id: string | undefined, final: string): Record<number, VoiceStep> => ({
      0: user.starts,
      ...Object.fromEntries(words.map((_, index) => [500 * (index + 1), user.interim(upTo(index + 1), id)])),
      24_300: user.final(final, id),
    });
    const asked = (steps: Story['steps'], maxTurnMs: number): readonly string[] =>
      voiceTest({ llm: { answer: () => '' }, steps, endpointing: { maxTurnMs }, untilMs: 30_000 })
        .history.messages()
        .map(({ content }) => content);

    it('has said each word once', () => {
      for (const id of ['7', undefined]) expect(asked(talks(id, upTo(48)), 7_000)).toEqual([upTo(48)]);
    });

    it('has said each word once, however long the turns', () => {
      expect(asked(talks('7', upTo(48)), 11_000)).toEqual([upTo(48)]);
    });

    it('has said each word once, if the final has other marks, capitals and spellings', () => {
      const final = `Word0, word1: ${words.slice(2).join(' ').replace('word20', 'Word-20')}.`;
      const [message] = asked(talks('7', final), 7_000);
      expect(message?.toLowerCase().match(/word\d+/g)).toEqual(words);
    });

    it('may say the same in another utterance', () => {
      const steps = { 0: user.starts, 500: user.interim('no', '1'), 13_000: [user.starts, user.final('no', '2')] };
      expect(asked(steps, 1_000)).toEqual(['no no']);
    });

    it('may begin another utterance with a word that begins alike', () => {
      const steps = { 0: user.starts, 500: user.interim('no', '1'), 3_000: [user.starts, user.final('nothing', '2')] };
      expect(asked(steps, 1_000)).toEqual(['no nothing']);
    });
  });
});

describe('scorer()', () => {
  const steps = { 60: user.voice(0), 1_250: user.silence(1_000), 1_300: marked('I would like to') };
  const heard = (score: NonNullable<EndOfTurn['score']>, options: Parameters<typeof scorer>[1] = {}): unknown =>
    commits({ vad: true, steps, endpointing: scorer(score, options) });

  it('lets silence decide about what it finds complete', () => {
    expect(heard(() => 0.9)).toEqual(['1500 turn.committed I would like to']);
  });

  it('vetoes up to maxMs', () => {
    expect(heard(() => 0.1)).toEqual(['4000 turn.committed I would like to']);
    expect(heard(() => 0.1, { maxMs: 2_000 })).toEqual(['3000 turn.committed I would like to']);
  });

  it('has a second to answer, then silence decides', () => {
    expect(heard(() => of(0.9).pipe(delay(600)))).toEqual(['1900 turn.committed I would like to']);
    expect(heard(() => NEVER)).toEqual(['2300 turn.committed I would like to']);
    expect(heard(() => NEVER, { timeoutMs: 300 })).toEqual(['1600 turn.committed I would like to']);
  });

  it('one that fails is told of, once, and silence decides', () => {
    const { events } = voiceTest({
      ...{ vad: true, steps: { ...steps, 1_400: marked('I would like to go') } },
      endpointing: scorer(() => throwError(() => new Error('no model'))),
      untilMs: 10_000,
    });
    expect(timeline(events, 'error', 'turn.committed')).toEqual([
      expect.stringContaining('error'),
      '1500 turn.committed I would like to go',
    ]);
  });

  it('is asked about each text once, and not while the user speaks', () => {
    const asked: string[] = [];
    heard((text) => {
      asked.push(text);
      return 0.9;
    });
    expect(asked).toEqual(['I would like to']);
  });

  it('new speech cancels the veto, and new words the question', () => {
    let cancelled = 0;
    const unanswered$ = NEVER.pipe(finalize(() => cancelled++));
    const more = {
      ...steps,
      1_460: user.voice(1_400),
      2_250: user.silence(2_000),
      2_300: marked('I would like a table'),
    };
    const endpointing = scorer((text) => (text.endsWith('table') ? 0.9 : unanswered$));
    expect(commits({ vad: true, steps: more, endpointing })).toEqual(['2500 turn.committed I would like a table']);
    expect(cancelled).toBe(1);
  });
});

describe('a strategy of the application', () => {
  it('is a function from what is known to the time of the end', () => {
    const seen: HeardTurn[] = [];
    const endpointing: EndOfTurn = (turn) => {
      seen.push(turn);
      return (turn.silentSince ?? Infinity) + 800;
    };
    const steps = { 60: user.voice(0), 900: user.interim('hello'), 1_250: user.silence(1_000) };
    expect(commits({ vad: true, steps, endpointing })).toEqual(['1800 turn.committed hello']);
    expect(seen.at(-1)).toMatchObject({ text: 'hello', startedAt: 60, silentSince: 1_000, sttLagMs: 1_000 });
  });

  it('what it throws is told once, and the service decides', () => {
    const { events } = voiceTest({
      steps: { 0: user.interim('a'), 500: user.final('a b'), 5_000: user.final('c') },
      endpointing: () => {
        throw new Error('bug');
      },
      untilMs: 10_000,
    });
    expect(timeline(events, 'error', 'turn.committed')).toEqual([
      expect.stringMatching(/^0 error/),
      '500 turn.committed a b',
      '5000 turn.committed c',
    ]);
    expect(ofType(events, 'error')[0]?.message).toBe('endpointing failed: bug');
  });

  it.each<readonly [string, unknown, string]>([
    ['a strategy that was not called', silence, 'a function'],
    ['nothing', () => undefined, 'undefined'],
    ['a promise', () => Promise.resolve(500), '[object Promise]'],
    ['NaN', () => NaN, 'NaN'],
  ])('what is no time is told once, and the service decides: %s', (_, endpointing, what) => {
    const { events } = voiceTest({
      steps: { 0: user.interim('a'), 500: user.final('a b'), 5_000: user.final('c') },
      endpointing: endpointing as EndOfTurn,
      untilMs: 10_000,
    });
    expect(timeline(events, 'error', 'turn.committed')).toEqual([
      expect.stringMatching(/^0 error/),
      '500 turn.committed a b',
      '5000 turn.committed c',
    ]);
    expect(ofType(events, 'error')[0]?.message).toBe(
      `endpointing failed: it must return the time at which the turn ends, or Infinity, not ${what}`,
    );
  });
});

it('an async strategy that fails does not end the process', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (cause: unknown): void => void unhandled.push(cause);
  process.on('unhandledRejection', onUnhandled);
  const endpointing = (() => Promise.reject(new Error('late'))) as unknown as EndOfTurn;
  voiceTest({ steps: { 0: user.final('a') }, endpointing, untilMs: 1_000 });
  await new Promise(setImmediate);
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled).toEqual([]);
});

describe('push-to-talk never waits when nothing is open', () => {
  const turnTaking = { strategy: 'manual' } as const;
  const press = { 0: application.does('begin') };
  const letGo = (at: number): Story['steps'] => ({ [at]: application.does('commit') });
  const asks = { finalize: (): void => undefined };

  it('commits at once when all of it is final', () => {
    const steps = { ...press, 900: user.final('hello'), ...letGo(2_000) };
    expect(commits({ steps, turnTaking })).toEqual(['2000 turn.committed hello']);
    expect(commits({ steps, endpointing: manual() })).toEqual(['2000 turn.committed hello']);
  });

  it('asks a service for a word spoken just before, of which nothing has told yet', () => {
    const steps = { ...press, 900: user.final('hello'), ...letGo(2_000) };
    const told = (answer: Story['steps']): readonly string[] =>
      commits({ steps: { ...steps, ...answer }, turnTaking, stt: asks });
    expect(told({ 2_080: user.final('') })).toEqual(['2080 turn.committed hello']);
    expect(told({ 2_200: user.final('you') })).toEqual(['2200 turn.committed hello you']);
    // A service that does not answer.
    expect(told({})).toEqual(['3000 turn.committed hello']);
  });

  it('waits for the last words while some are open', () => {
    const steps = { ...press, 900: user.interim('hello'), ...letGo(1_000), 1_400: user.final('hello there') };
    expect(commits({ steps, turnTaking, stt: asks })).toEqual(['1400 turn.committed hello there']);
    expect(commits({ steps, turnTaking })).toEqual(['1400 turn.committed hello there']);
  });

  it('waits no longer for a service that cannot be asked than its finals usually take', () => {
    const steps = { ...press, 900: user.interim('hello'), ...letGo(1_000) };
    expect(commits({ steps, turnTaking })).toEqual(['2000 turn.committed hello']);
    expect(commits({ steps, turnTaking, stt: asks })).toEqual(['6000 turn.committed hello']);
  });

  it('a turn in which nothing was heard is over after as long', () => {
    const again = { 3_000: application.does('begin'), ...letGo(4_000) };
    const steps = {
      ...press,
      900: user.interim('hello'),
      1_000: user.final('hello'),
      ...letGo(1_500),
      1_550: user.final(''),
      ...again,
    };
    const { events } = voiceTest({ steps, turnTaking, stt: asks });
    expect(timeline(events, 'turn.committed', 'transcript.timeout')).toEqual([
      '1550 turn.committed hello',
      '5000 transcript.timeout',
    ]);
  });

  it('a service that transcribes whole recordings is waited for: it tells nothing before', () => {
    const steps = { ...press, ...letGo(2_000), 4_500: user.final('hello there') };
    expect(commits({ steps, turnTaking, stt: asks })).toEqual(['4500 turn.committed hello there']);
  });

  it('a voice since the last final is waited for', () => {
    const steps = {
      ...{ ...press, 500: user.final('hello'), 1_000: user.voice(940), ...letGo(1_500) },
      ...{ 1_700: user.silence(1_450), 1_900: user.final('again') },
    };
    expect(commits({ steps, turnTaking, vad: true, stt: asks })).toEqual(['1900 turn.committed hello again']);
  });
});

describe('preflight for any speech-to-text by stable interims', () => {
  const story: Story = {
    preflight: { stableInterimMs: 300 },
    steps: { 0: user.interim('book a'), 400: user.interim('Book a table.'), 1_500: user.final('Book a table.') },
  };
  const told = (options: Story): readonly string[] =>
    timeline(
      voiceTest({ ...options, untilMs: 20_000 }).events,
      ...(['preflight.started', 'preflight.adopted', 'preflight.discarded', 'turn.committed'] as const),
    );

  it('an interim that ends like a sentence and does not change is prepared for', () => {
    expect(told(story)).toEqual([
      '700 preflight.started Book a table.',
      '1500 turn.committed Book a table.',
      '1500 preflight.adopted 800',
    ]);
  });

  it('is off by default', () => {
    expect(told({ steps: story.steps })).toEqual(['1500 turn.committed Book a table.']);
  });

  it('not for an interim that changes, or that does not end like a sentence', () => {
    const steps = { 0: user.interim('Book.'), 200: user.interim('Book a'), 1_500: user.final('Book a table.') };
    expect(told({ ...story, steps })).toEqual(['1500 turn.committed Book a table.']);
  });

  it('a repeated interim is the same interim', () => {
    const steps = { ...story.steps, 600: user.interim('Book a table.') };
    expect(told({ ...story, steps })[0]).toBe('700 preflight.started Book a table.');
  });

  it('is discarded when the voice goes on', () => {
    const steps = {
      ...{ 60: user.voice(0), 400: user.interim('Book a table.'), 650: user.silence(400), 900: user.voice(840) },
      ...{ 1_500: user.silence(1_300), 1_600: user.final('Book a table. For two.') },
    };
    expect(told({ ...story, vad: true, steps })).toEqual([
      '700 preflight.started Book a table.',
      expect.stringMatching(/^900 preflight.discarded/),
      '1600 turn.committed Book a table. For two.',
    ]);
  });

  it.each(['本を予約してください。', 'मेज़ चाहिए।', 'هل لديكم طاولة؟', '¿Tienen mesa?'])('in any script: %s', (text) => {
    expect(told({ ...story, steps: { 0: user.interim(text), 1_000: user.final(text) } })[0]).toMatch(/^300 preflight/);
  });
});

describe('a wordless interruption', () => {
  const interrupted: Story = {
    bargeIn: 'immediate',
    steps: { 0: user.final('tell me'), 1_000: user.starts, 1_300: user.falls },
  };

  it('the application may say that it did not catch that', () => {
    const { events, heardText, history } = voiceTest({
      ...interrupted,
      onUnclear: () => 'Sorry, I did not catch that.',
      untilMs: 20_000,
    });
    expect(heardText).toMatch(/^You said.*Sorry, I did not catch that\.$/);
    expect(timeline(events, 'transcript.timeout', 'speech.created').slice(1)).toEqual([
      '6300 transcript.timeout',
      '6300 speech.created say',
    ]);
    expect(history.messages().at(-1)?.content).not.toContain('Sorry');
  });

  it('is not asked about when words came', () => {
    let asked = 0;
    const onUnclear = (): undefined => {
      asked++;
    };
    const steps = { ...interrupted.steps, 1_500: user.final('stop it') };
    voiceTest({ ...interrupted, steps, onUnclear, untilMs: 20_000 });
    expect(asked).toBe(0);
  });

  it('an empty final is no words either', () => {
    let asked = 0;
    const onUnclear = (): undefined => {
      asked++;
    };
    const steps = { ...interrupted.steps, 1_500: user.final('') };
    voiceTest({ ...interrupted, steps, onUnclear, untilMs: 20_000 });
    expect(asked).toBe(1);
  });

  it('is not asked about when the conversation stops, or ends with it', () => {
    let asked = 0;
    const onUnclear = (): string => {
      asked++;
      return 'Sorry?';
    };
    const stop: Story['steps'] = { ...interrupted.steps, 2_000: application.does('stop') };
    const drain: Story['steps'] = {
      ...interrupted.steps,
      1_100: { command: { type: 'stop', drain: true } },
    };
    for (const steps of [stop, drain]) voiceTest({ ...interrupted, steps, onUnclear, untilMs: 20_000 });
    expect(asked).toBe(0);
  });

  it('what the hook throws is told', () => {
    const { events } = voiceTest({
      ...interrupted,
      onUnclear: () => {
        throw new Error('bug');
      },
      untilMs: 20_000,
    });
    expect(timeline(events, 'error')).toHaveLength(1);
  });
});

describe('turn.committed tells what ended the turn', () => {
  const enders = (options: Story): readonly string[] =>
    voiceTest({ llm: { answer: () => '' }, ...options, untilMs: 30_000 }).events.flatMap((event) =>
      event.type === 'turn.committed' ? event.endedBy : [],
    );
  const said = { 0: user.interim('hello'), 900: user.final('hello') };
  const quiet = { 60: user.voice(0), 400: user.interim('hello'), 1_250: user.silence(1_000), 1_300: marked('hello') };

  it('a strategy, by its name', () => {
    expect(enders({ steps: said })).toEqual(['stt']);
    expect(enders({ steps: said, endpointing: stt() })).toEqual(['stt']);
    expect(enders({ steps: said, endpointing: ({ completeAt = Infinity }) => completeAt })).toEqual(['custom']);
    expect(enders({ steps: quiet, endpointing: silence(), vad: true })).toEqual(['silence']);
    expect(enders({ steps: quiet, endpointing: scorer(() => 1), vad: true })).toEqual(['scorer']);
  });

  it('a bound that comes before it', () => {
    const endpointing = scorer(() => 0.1, { maxMs: 2_000 });
    expect(enders({ steps: quiet, endpointing: stt({ maxMs: 1_000 }), vad: true })).toEqual(['maxMs']);
    expect(enders({ steps: quiet, endpointing, vad: true })).toEqual(['scorer']);
    const talks = { 0: user.interim('a'), 400: user.interim('a b'), 800: user.interim('a b c') };
    expect(enders({ steps: talks, endpointing: { maxTurnMs: 600 } })[0]).toBe('maxTurnMs');
  });

  it('push-to-talk, its limit, and a service that does not answer', () => {
    const press = { 0: application.does('begin'), 900: user.final('hello') };
    const steps = { ...press, 2_000: application.does('commit') };
    expect(enders({ steps, endpointing: manual() })).toEqual(['manual']);
    expect(enders({ steps: press, endpointing: manual({ maxTurnMs: 1_500 }) })).toEqual(['maxTurnMs']);
    expect(enders({ steps, endpointing: manual(), stt: { finalize: (): void => undefined } })).toEqual(['timeout']);
  });

  it('words without a final, and a typed message', () => {
    expect(enders({ steps: { 0: user.interim('hello') } })).toEqual(['timeout']);
    expect(enders({ steps: { 0: application.send('hello') } })).toEqual(['text']);
  });
});
