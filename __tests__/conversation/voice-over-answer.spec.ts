/**
 * A voice that is on while the agent speaks, and finals of words that are already being answered: neither may end a turn,
 * or an answer, too soon.
 */
import { manual, silence } from 'rxvoice/endpointing';
import { application, FakeSTT, user, voiceTest, type VoiceStep, type VoiceTestResult } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const story = 'One two three four five. Six seven eight nine ten.';
const committed = ({ events }: VoiceTestResult): string[] =>
  ofType(events, 'turn.committed').map(({ at, text }) => `${at} ${text}`);
const heard = ({ events }: VoiceTestResult): string[] =>
  ofType(events, 'speech.ended').map(({ heardText, interrupted }) => (interrupted ? `${heardText}…` : heardText));

/** By a voice detector and half a second of silence; the service marks no utterance by itself. */
const detected = { vad: true, endpointing: silence({ minMs: 500 }), stt: { name: 'AlphaSTT' } } as const;
const answers = { answer: (): string => story, firstTokenMs: 300 };

describe('a caller who goes on speaking after a barge-in', () => {
  const order: Record<number, VoiceStep> = {
    2_500: user.interim('wait I want'),
    3_600: user.interim('wait I want to order'),
    4_800: user.interim('wait I want to order a table'),
    6_000: user.silence(6_000),
    6_200: user.final('wait I want to order a table for two'),
  };

  it.each([
    ['over the answer', { 0: user.final('count'), 2_000: user.voice(1_950) }, { answer: (): string => story }],
    [
      'when the agent ends by itself',
      { 0: user.final('count'), 1_500: user.voice(1_450) },
      { answer: (): string => 'One two.' },
    ],
    [
      'over a message of the application',
      { 0: application.say(story), 1_500: user.voice(1_450) },
      { answer: (): string => 'Yes.' },
    ],
  ])('has one turn, which ends with the voice: %s', (_, steps, llm) => {
    const result = voiceTest({ ...detected, llm, steps: { ...steps, ...order }, untilMs: 12_000 });
    expect(committed(result).at(-1)).toBe('6500 wait I want to order a table for two');
    expect(committed(result).filter((each) => each.includes('wait'))).toHaveLength(1);
  });

  it('joins the question that is being thought about, once', () => {
    const result = voiceTest({
      ...detected,
      llm: { answer: () => story, firstTokenMs: 900 },
      steps: {
        0: user.voice(0),
        300: user.interim('I want'),
        600: user.silence(600),
        700: user.final('I want'),
        1_300: user.voice(1_290),
        1_600: user.interim('a table'),
        2_800: user.interim('a table for two'),
        4_000: user.silence(4_000),
        4_200: user.final('a table for two please'),
      },
      untilMs: 12_000,
    });
    expect(committed(result)).toEqual(['1100 I want', '4500 a table for two please']);
    expect(result.llm.requests).toHaveLength(2);
    expect(result.history.messages()[0]).toMatchObject({ role: 'user', content: 'I want a table for two please' });
  });

  it('is not answered at a final that the service forces in the middle', () => {
    const result = voiceTest({
      stt: { name: 'EtaSTT', pauseMs: 300 },
      llm: { answer: (): string => story },
      steps: {
        0: user.final('count'),
        1_700: user.starts,
        2_100: user.interim('wait I want', '2'),
        3_000: user.final('wait I want to order', '2'),
        3_200: user.interim('a table', '3'),
        4_000: user.falls,
        4_200: user.final('a table for two', '3'),
      },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['0 count', '4200 wait I want to order a table for two']);
  });

  it('whose end is never told waits no longer than for speech-to-text', () => {
    const result = voiceTest({
      stt: { name: 'EtaSTT', pauseMs: 300 },
      llm: { answer: (): string => story },
      steps: { 0: user.final('count'), 1_700: user.starts, 2_300: user.final('wait I want to order') },
      untilMs: 12_000,
    });
    expect(committed(result)).toEqual(['0 count', '7300 wait I want to order']);
  });
});

describe('the final of words that are being answered (F16)', () => {
  const question = { 0: user.voice(0), 300: user.interim('book a table', '1'), 600: user.silence(600) };

  it.each([
    ['while the agent thinks', 1_400, 'Book a table.'],
    ['while it speaks', 2_200, 'Book a table.'],
    ['in other words', 2_200, 'Book the table.'],
  ])('interrupts nothing, and asks nothing twice: %s', (_, at, text) => {
    const result = voiceTest({
      ...detected,
      llm: answers,
      steps: { ...question, [at]: user.final(text, '1') },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['1100 book a table']);
    expect(heard(result)).toEqual([story]);
    expect(timeline(result.events, 'bargeIn.suspected', 'bargeIn.ignored', 'user.state')).toEqual([
      '0 user.state',
      '600 user.state',
    ]);
    expect(result.llm.requests).toHaveLength(1);
  });

  it('cuts no message of the application off', () => {
    const result = voiceTest({
      ...{ ...detected, llm: { answer: (): string => 'Yes.' } },
      steps: { ...question, 1_500: application.say(story), 2_200: user.final('Book a table.', '1') },
      untilMs: 9_000,
    });
    expect(heard(result)).toEqual(['Yes.', story]);
  });

  it('interrupts with what it adds, which alone is a new message', () => {
    const result = voiceTest({
      ...{ ...detected, llm: answers },
      steps: { ...question, 2_200: user.final('Book a table for two.', '1') },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['1100 book a table', '2700 for two.']);
    expect(heard(result)).toEqual(['One two three…', story]);
  });

  it('is no interruption either where the words were final before the utterance was', () => {
    const segment: VoiceStep = { user: { ...FakeSTT.result('Book a table.', 'interim', '1'), isFinal: true } };
    const result = voiceTest({
      ...{ ...detected, llm: answers },
      steps: { ...question, 700: segment, 1_700: user.final('Book a table.', '1') },
      untilMs: 9_000,
    });
    expect([committed(result), heard(result)]).toEqual([['1100 Book a table.'], [story]]);
  });

  it.each([
    ['a command', 'stop the timer', 'Stop.'],
    ['a correction', 'no I mean the red one', 'No no!'],
    ['the start of a word', 'nothing else thanks', 'No.'],
  ])('is not what another utterance says, though it begins alike: %s', (_, asked, said) => {
    const result = voiceTest({
      ...{ ...detected, llm: answers },
      steps: {
        0: user.voice(0),
        300: user.interim(asked, '1'),
        600: user.silence(600),
        2_200: user.interim(said, '2'),
        2_400: user.final(said, '2'),
      },
      untilMs: 9_000,
    });
    expect(heard(result)[0]).toMatch(/…$/);
    if (said !== 'Stop.') expect(committed(result).at(-1)).toContain(said);
  });

  it('opens no turn while a noise is on', () => {
    const result = voiceTest({
      ...{ ...detected, llm: answers },
      steps: {
        ...question,
        2_000: user.voice(1_990),
        2_200: user.final('Book a table.', '1'),
        2_600: user.silence(2_590),
      },
      untilMs: 12_000,
    });
    expect([committed(result), heard(result)]).toEqual([['1100 book a table'], [story]]);
    expect(timeline(result.events, 'transcript.timeout')).toEqual([]);
  });

  it('that comes in the next press of push-to-talk is no part of that message', () => {
    const result = voiceTest({
      ...{ endpointing: manual(), stt: { finalize: () => undefined }, turnTaking: { sttTimeoutMs: 1_000 } },
      llm: { answer: (): string => 'Yes.' },
      steps: {
        0: application.does('begin'),
        100: user.starts,
        400: user.interim('book a table', '1'),
        500: application.does('commit'),
        3_000: application.does('begin'),
        3_100: user.final('Book a table.', '1'),
        3_400: user.interim('for two', '2'),
        3_500: application.does('commit'),
        3_600: user.final('for two', '2'),
      },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['1500 book a table', '3600 for two']);
  });
});

describe('a short message in the next press of push-to-talk', () => {
  it('is a message, though the one before had the same word and no final', () => {
    const result = voiceTest({
      ...{ endpointing: manual(), stt: { finalize: () => undefined }, turnTaking: { sttTimeoutMs: 1_000 } },
      llm: { answer: () => 'Fine.' },
      steps: {
        0: application.does('begin'),
        100: user.interim('yes', '1'),
        500: application.does('commit'),
        4_000: application.does('begin'),
        4_100: user.interim('yes', '2'),
        4_300: application.does('commit'),
        4_400: user.final('Yes.', '2'),
      },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['1500 yes', '4400 Yes.']);
  });
});

describe('noise with bargeIn: false', () => {
  it('delays an answer that nobody has heard yet by a second at most', () => {
    const result = voiceTest({
      ...{ vad: true, bargeIn: false, llm: answers },
      steps: { 0: user.final('go'), 100: user.voice(100) },
      untilMs: 9_000,
    });
    expect(ofType(result.events, 'speech.started')[0]?.at).toBe(1_100);
  });
});

describe('"Stop." said to a silent agent', () => {
  it.each([
    ['a voice that brought no words', {}, { 1_000: user.starts, 1_400: user.falls, 1_500: user.final('') }],
    ['a sound too short for one', { vad: true }, { 1_000: user.voice(990), 1_100: user.silence(1_050, 'brief') }],
  ])('is a message like any other, after %s has cut the agent off', (_, options, steps) => {
    const result = voiceTest({
      ...{ bargeIn: 'immediate', llm: { answer: (): string => story }, ...options },
      steps: { 0: user.final('go'), ...steps, 4_000: user.final('Stop.') },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['0 go', '4000 Stop.']);
  });

  it('is obeyed while it belongs to the voice that cut the agent off', () => {
    const result = voiceTest({
      ...{ bargeIn: 'immediate', llm: { answer: () => story } },
      steps: {
        0: user.final('go'),
        1_000: user.starts,
        1_400: user.falls,
        1_500: user.final(''),
        1_900: user.final('Stop.'),
      },
      untilMs: 9_000,
    });
    expect(committed(result)).toEqual(['0 go']);
  });
});
