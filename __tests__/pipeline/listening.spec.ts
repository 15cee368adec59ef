/**
 * Sometimes nobody should be heard: while a notice is read out, while a payment runs, while the room is loud. The
 * service then hears silence, never nothing: it has to end the utterance that it was in, and to keep its clock.
 */
import { afterGreeting, Pipeline, unlessToolsRun, type PipelineOptions, type VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat, type FakeLLMConfig } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { ofType, timeline } from './support/timeline.ts';

interface Rig {
  readonly pipeline: Pipeline;
  readonly clock: TestClock;
  readonly stt: FakeSTT;
  readonly events: VoiceEvent[];
  /** What the service receives of a voice that sounds now. */
  readonly heard: () => 'silence' | 'the user';
}

const voice = { data: new Uint8Array(16).fill(7), metadata: textAudioFormat };

async function rig(options: Partial<PipelineOptions>, answer?: FakeLLMConfig['answer']): Promise<Rig> {
  const clock = new TestClock();
  const config = { scheduler: clock };
  const [input, stt, llm] = [
    new FakeInput(config),
    new FakeSTT(config),
    new FakeLLM(answer ? { ...config, answer } : config),
  ];
  const pipeline = new Pipeline({
    providers: [input, stt, llm, new FakeTTS(config), new FakeOutput(config)],
    ...config,
    ...options,
  });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  const heard = (): 'silence' | 'the user' => {
    stt.sent.length = 0;
    input.push(voice);
    expect(stt.sent.map(({ data }) => data.length)).toEqual([16]);
    return stt.sent[0]?.data.every((byte) => byte === 0) ? 'silence' : 'the user';
  };
  return { pipeline, clock, stt, events, heard };
}

describe('policies of listening', () => {
  it('afterGreeting: the service hears silence until the first greeting is over', async () => {
    const { pipeline, clock, events, heard } = await rig({ greeting: 'Hello!', listening: afterGreeting });
    expect(heard()).toBe('silence');
    await clock.advance(300);
    expect(heard()).toBe('silence');
    await clock.advance(2_000);
    expect(heard()).toBe('the user');
    // What is said later is no greeting.
    void pipeline.say('We close in five minutes.');
    await clock.advance(200);
    expect(heard()).toBe('the user');
    expect(ofType(events, 'input.listening').map(({ listening }) => listening)).toEqual([false, true]);
    await pipeline.dispose();
  });

  it('afterGreeting: without a greeting the user is heard at once', async () => {
    const { pipeline, events, heard } = await rig({ listening: afterGreeting });
    expect(heard()).toBe('the user');
    expect(ofType(events, 'input.listening')).toEqual([]);
    await pipeline.dispose();
  });

  it('afterGreeting: a greeting that fails is over too', async () => {
    const { pipeline, clock, heard } = await rig({ greeting: 'Hello!', listening: afterGreeting });
    pipeline.interrupt();
    await clock.advance(1);
    expect(heard()).toBe('the user');
    await pipeline.dispose();
  });

  it('unlessToolsRun: the service hears silence while a tool runs, and the user again with its result', async () => {
    let finish = (_result: string): void => undefined;
    const execute = (): Promise<string> => new Promise((resolve) => (finish = resolve));
    const call = { type: 'tool-call', id: 'c1', name: 'pay', args: {}, argsText: '{}' } as const;
    const { pipeline, clock, stt, events, heard } = await rig(
      { tools: [{ name: 'pay', execute }], listening: [unlessToolsRun] },
      (_messages, request) => (request === 1 ? [call, { type: 'done', finishReason: 'tool-calls' }] : 'It is paid.'),
    );
    stt.hearWords(FakeSTT.result('pay the bill', 'final'));
    expect(heard()).toBe('the user');
    await clock.advance(2_000);
    expect(heard()).toBe('silence');
    finish('paid');
    await clock.advance(1);
    expect(heard()).toBe('the user');
    await clock.advance(5_000);
    expect(
      timeline(events, 'input.listening', 'tool.call', 'tool.result').map((line) => line.replace(/^\d+ /, '')),
    ).toEqual(['input.listening false', 'tool.call pay', 'tool.result paid', 'input.listening true']);
    await pipeline.dispose();
  });

  it('a function of the application decides by the moment, with all the others', async () => {
    let isQuiet = true;
    const { pipeline, clock, stt, heard } = await rig({
      listening: [({ agentState }) => agentState !== 'speaking', () => isQuiet],
    });
    expect(heard()).toBe('the user');
    stt.hearWords(FakeSTT.result('hello', 'final'));
    await clock.advance(600);
    expect(pipeline.agentState).toBe('speaking');
    expect(heard()).toBe('silence');
    await clock.advance(10_000);
    expect(heard()).toBe('the user');
    isQuiet = false;
    pipeline.update({});
    expect(heard()).toBe('silence');
    pipeline.update({ listening: undefined });
    expect(heard()).toBe('the user');
    await pipeline.dispose();
  });

  it('what the service heard before counts, whenever its words come', async () => {
    const { pipeline, clock, stt, events } = await rig({ listening: ({ userState }) => userState === 'silent' });
    stt.hearVoice('started');
    expect(ofType(events, 'input.listening').map(({ listening }) => listening)).toEqual([false]);
    stt.hearWords(FakeSTT.result('hello', 'final'));
    await clock.advance(10_000);
    expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['completed']);
    await pipeline.dispose();
  });

  it('commitTurn() and cancelTurn() make nobody deaf without push-to-talk', async () => {
    const { pipeline, heard } = await rig({});
    pipeline.commitTurn();
    expect(heard()).toBe('the user');
    pipeline.cancelTurn();
    expect(heard()).toBe('the user');
    await pipeline.dispose();
  });

  it('one that has failed is not asked again because the user speaks another language', async () => {
    const broken = (): boolean => {
      throw new Error('broken');
    };
    const { pipeline, clock, stt, events } = await rig({ listening: broken, followLanguage: true, locale: 'en' });
    await clock.advance(0);
    expect(ofType(events, 'error')).toHaveLength(1);
    stt.hearWords({ ...FakeSTT.result('guten Morgen zusammen', 'final'), metadata: { language: 'de' } });
    await clock.advance(5_000);
    expect(ofType(events, 'user.language').map(({ language }) => language)).toEqual(['de']);
    expect(ofType(events, 'error')).toHaveLength(1);
    await pipeline.dispose();
  });

  it('mute() holds whatever the policies say, and the policies whatever unmute() says', async () => {
    let isOn = true;
    const { pipeline, heard } = await rig({ listening: () => isOn });
    pipeline.mute();
    expect(heard()).toBe('silence');
    isOn = false;
    pipeline.update({});
    pipeline.unmute();
    expect(heard()).toBe('silence');
    pipeline.mute();
    isOn = true;
    pipeline.update({});
    expect(heard()).toBe('silence');
    pipeline.unmute();
    expect(heard()).toBe('the user');
    await pipeline.dispose();
  });

  it('hold for push-to-talk too: nothing from before is sent when it is pressed', async () => {
    let isOn = false;
    const { pipeline, stt, heard } = await rig({ turnTaking: { strategy: 'manual' }, listening: () => isOn });
    heard();
    pipeline.beginTurn();
    expect(heard()).toBe('silence');
    isOn = true;
    stt.sent.length = 0;
    pipeline.update({});
    expect(stt.sent).toEqual([]);
    expect(heard()).toBe('the user');
    await pipeline.dispose();
  });

  const broken: readonly (readonly [string, () => boolean])[] = [
    [
      'throws',
      () => {
        throw new Error('no idea');
      },
    ],
    ['returns no boolean', () => 'yes' as unknown as boolean],
  ];
  for (const [what, policy] of broken) {
    it(`one that ${what} is one error, has no say any more, and ends nothing`, async () => {
      const { pipeline, clock, stt, events, heard } = await rig({
        listening: [policy, ({ agentState }) => agentState !== 'speaking'],
      });
      expect(heard()).toBe('the user');
      stt.hearWords(FakeSTT.result('hello', 'final'));
      await clock.advance(600);
      // The others still have theirs.
      expect(heard()).toBe('silence');
      await clock.advance(10_000);
      expect(heard()).toBe('the user');
      expect(ofType(events, 'error').map(({ code, message }) => [code, message.split(':')[0]])).toEqual([
        ['internal', 'a listening policy failed, and is ignored from now on'],
      ]);
      expect(ofType(events, 'turn.ended').map(({ reason }) => reason)).toEqual(['completed']);
      await pipeline.dispose();
    });
  }

  it('begin anew with each session', async () => {
    const { pipeline, clock, events } = await rig({ greeting: 'Hello!', listening: afterGreeting });
    await pipeline.stop();
    await pipeline.start();
    await clock.advance(5_000);
    expect(ofType(events, 'input.listening').map(({ listening }) => listening)).toEqual([false, true, false, true]);
    await pipeline.dispose();
  });

  it('end with their session: nobody who shows what was told last shows a deaf agent in the next', async () => {
    let isOn = false;
    const { pipeline, clock, events, heard } = await rig({ listening: () => isOn });
    const shown: boolean[] = [];
    const late = (): unknown[] => {
      const seen: unknown[] = [];
      pipeline.input$.subscribe((event) => seen.push(event)).unsubscribe();
      return seen;
    };
    pipeline.on('input.listening', ({ listening }) => shown.push(listening));
    expect(heard()).toBe('silence');
    expect(late()).toMatchObject([{ type: 'input.listening', listening: false }]);
    const stopped = pipeline.stop();
    expect(shown).toEqual([true]);
    await stopped;
    expect(late()).toEqual([]);
    isOn = true;
    await pipeline.start();
    await clock.advance(1_000);
    expect(heard()).toBe('the user');
    expect(late()).toEqual([]);
    expect(shown).toEqual([true]);
    expect(timeline(events, 'input.listening', 'session.closed').map((line) => line.replace(/^\d+ /, ''))).toEqual([
      'input.listening false',
      'input.listening true',
      'session.closed',
    ]);
    await pipeline.dispose();
  });
});
