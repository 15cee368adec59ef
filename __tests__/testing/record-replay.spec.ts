import { from, map, NEVER, timer } from 'rxjs';
import type { LLMEvent, VoiceEvent } from 'rxvoice';
import { scriptedCaller } from 'rxvoice/evaluation';
import {
  application,
  readSession,
  recordSession,
  replaySession,
  user,
  voiceTest,
  type VoiceTestOptions,
} from 'rxvoice/testing';
import { VoiceError } from '../../lib/core/errors.ts';
import { callWith } from '../evaluation/support.ts';

const record = (events: readonly VoiceEvent[]): string => {
  const lines: string[] = [];
  from(events)
    .pipe(recordSession())
    .subscribe((line) => lines.push(line));
  return lines.join('');
};

const session = (): ReturnType<typeof voiceTest> =>
  voiceTest({
    llm: { answer: (_, request) => (request <= 2 ? 'One two three four five. Six seven eight nine ten.' : 'Fine.') },
    steps: {
      500: user.starts,
      800: user.preflight('tell me'),
      900: user.resumes,
      1_000: user.preflight('tell me more'),
      1_300: user.final('tell me more'),
      2_400: user.starts,
      2_500: user.interim('stop'),
      2_600: user.interim('stop it'),
      3_000: [user.falls, user.final('stop it')],
      9_000: application.send('and typed'),
    },
    untilMs: 20_000,
  });

describe('recordSession', () => {
  it('writes a line for each event, and reads the same events back, audio included', () => {
    const { events } = session();
    const ndjson = record(events);
    expect(ndjson.trimEnd().split('\n')).toHaveLength(events.length);
    expect(readSession(ndjson)).toEqual(events.map((event) => ({ ...event })));
  });

  it("writes nothing of an error's cause", () => {
    const cause = new VoiceError('inner', { code: 'internal', cause: { headers: { authorization: 'Token canary' } } });
    const event: VoiceEvent = { type: 'error', at: 1, code: 'internal', message: 'outer', recoverable: false, cause };
    expect(record([event])).toBe('{"type":"error","at":1,"code":"internal","message":"outer","recoverable":false}\n');
  });
});

describe("an application's own words", () => {
  it.each([{ cause: 'water', damage: { cause: 'a pipe' } }, { base64: 'AAAA' }, { base64: 'not base64!' }])(
    'are read back as they were: %j',
    (args) => {
      const call = { id: 'a', name: 'claim', args, argsText: JSON.stringify(args) };
      const event: VoiceEvent = { type: 'tool.call', at: 1, call };
      expect(readSession(record([event]))).toEqual([event]);
    },
  );
});

describe('replaySession', () => {
  it('makes the same conversation again', () => {
    const first = session();
    const again = voiceTest(replaySession(record(first.events)));
    expect(again.history.messages()).toEqual(first.history.messages());
    expect(again.heardText).toBe(first.heardText);
    const told = ({ events }: typeof first): string[] =>
      events.filter(({ type }) => /^(turn|preflight|bargeIn)\./.test(type)).map(({ at, type }) => `${at} ${type}`);
    expect(told(again).filter((line) => !line.includes('metrics'))).toEqual(
      told(first).filter((line) => !line.includes('metrics')),
    );
  });

  const whole = (tts: VoiceTestOptions['tts'] = {}): ReturnType<typeof voiceTest> =>
    voiceTest({
      ...{ tts, greeting: 'Good day.' },
      tools: [
        { name: 'look_up', execute: () => timer(250).pipe(map(() => 'found')) },
        {
          name: 'book',
          execute: () => {
            throw new Error('no table');
          },
        },
      ],
      llm: {
        answer: (messages, request) => {
          const { role, content } = messages.at(-1) ?? { role: 'user', content: '' };
          if (role === 'tool') return content === 'found' ? [...callOf('book', 'b')] : 'There is none, I am sorry.';
          if (content === 'look it up') return [{ type: 'token', text: 'One moment. ' }, ...callOf('look_up', 'a')];
          return `This is answer ${request}, which is long enough to be cut off.`;
        },
      },
      steps: {
        2_000: user.starts,
        2_300: [user.falls, user.final('again')],
        5_000: application.does('interrupt'), //            an answer
        6_000: user.final('again'),
        10_000: application.say('By the way.', { interruptible: false }),
        10_100: application.say('And more.', { store: false }),
        14_000: user.final('look it up'),
        20_000: application.say('A long thing that is cut off'),
        20_500: application.does('interrupt'), //           what was said
        22_000: application.send('again'),
        22_050: application.does('interrupt'), //           a thought
        24_000: user.final('oh not again'),
        25_000: application.say('And this is said while the agent speaks'),
        26_000: application.send('again'), //               a question that interrupts by itself
        27_000: [user.starts, user.interim('no')],
        27_200: user.interim('no not that'),
        27_500: [user.falls, user.final('no not that')],
      },
      untilMs: 40_000,
    });

  /** What happened before the end, which is half a minute later in the second conversation. */
  const course = ({ events }: Pick<ReturnType<typeof voiceTest>, 'events'>, endMs: number): readonly VoiceEvent[] =>
    events.filter(({ at, type }) => at < endMs && type !== 'audio.chunk');

  it('makes the whole conversation again: greeting, what was said, interruptions, tools, each question’s own answer', () => {
    const first = whole();
    const again = voiceTest(replaySession(record(first.events)));
    expect(again.heardText).toBe(first.heardText);
    expect(again.history.messages()).toEqual(first.history.messages());
    expect(course(again, 40_000)).toEqual(course(first, 40_000));
  });

  it('speaks as fast as the voice did, so that an interruption cuts off the same words', () => {
    const first = whole({ msPerCharacter: 67, latencyMs: 240 });
    const again = voiceTest(replaySession(record(first.events)));
    expect(again.heardText).toBe(first.heardText);
    expect(again.history.messages()).toEqual(first.history.messages());
    expect(course(again, 40_000)).toEqual(course(first, 40_000));
  });

  it('is of some use where something is lost: the end of what was said, and of the answer', () => {
    const first = whole();
    const cut = first.events.filter(({ at }) => at < 4_000);
    const again = voiceTest(replaySession(record(cut)));
    expect(again.history.messages().slice(0, 2)).toEqual(first.history.messages().slice(0, 2));
  });

  it('runs an application’s tools as they ran then, with everything else of them', () => {
    const { events } = whole();
    const execute = (): never => {
      throw new Error('this would cost money');
    };
    const parameters = { type: 'object' };
    const replay = replaySession(record(events), {
      tools: [{ name: 'look_up', parameters, execute, filler: 'Let me see.' }],
    });
    expect(replay.tools?.map(({ name }) => name).sort()).toEqual(['book', 'look_up']);
    const again = voiceTest(replay);
    expect(again.events.find(({ type }) => type === 'tool.result')).toMatchObject({
      content: 'found',
      durationMs: 250,
    });
  });

  it('plays a tool that was called off, which never came back', () => {
    const first = voiceTest({
      tools: [{ name: 'look_up', execute: () => NEVER }],
      llm: { answer: (_, request) => (request === 1 ? callOf('look_up', 'a') : 'Never mind then.') },
      steps: { 1_000: user.final('look it up'), 4_000: application.does('interrupt'), 6_000: user.final('thanks') },
      untilMs: 12_000,
    });
    const again = voiceTest(replaySession(record(first.events)));
    expect(course(again, 12_000)).toEqual(course(first, 12_000));
    expect(first.events.some(({ type }) => type === 'tool.cancelled')).toBe(true);
  });

  it('plays what a whole pipeline recorded', async () => {
    const call = await callWith(
      { greeting: 'Good day.', replies: (_, request) => `This is answer ${request}.` },
      { caller: scriptedCaller(['the same', 'the same', 'the same']) },
    );
    const again = voiceTest(replaySession(record(call.events)));
    expect(again.history.messages()).toEqual(call.history);
    expect(call.history.map(({ content }) => content)).toEqual([
      'Good day.',
      ...['the same', 'This is answer 1.', 'the same', 'This is answer 2.', 'the same', 'This is answer 3.'],
    ]);
  });
});

function callOf(name: string, id: string): LLMEvent[] {
  return [
    { type: 'tool-call', id, name, args: { name }, argsText: `{"name":"${name}"}` },
    { type: 'done', finishReason: 'tool-calls' },
  ];
}
