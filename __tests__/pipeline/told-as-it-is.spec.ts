/** What a user interface shows is what the events tell: where they tell less than is so, people wait, or search in vain. */
import { delay, of, Subject } from 'rxjs';
import { Pipeline, VoiceError, type ConnectionEvent, type DeviceEvent, type LLMEvent, type VoiceEvent } from 'rxvoice';
import {
  FakeInput,
  FakeLLM,
  FakeOutput,
  FakeSTT,
  FakeTTS,
  user,
  voiceTest,
  type FakeLLMConfig,
  type VoiceTestOptions,
  type VoiceTestResult,
} from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { call, over, type CallOptions } from './support/call.ts';
import { ofType, timeline } from './support/timeline.ts';

const done: LLMEvent = { type: 'done', finishReason: 'stop' };

describe('the metrics of a turn with tools', () => {
  /** A model that takes 300 ms to call a tool of 7 s, and 200 ms to say what it has found. */
  function looked(filler?: string): VoiceTestResult {
    const call: LLMEvent = { type: 'tool-call', id: 'one', name: 'look', args: {}, argsText: '{}' };
    const answer: FakeLLMConfig['answer'] = (messages) =>
      messages.at(-1)?.role === 'tool' ? [{ type: 'token', text: 'Found it.' }, done] : [call, done];
    return voiceTest({
      llm: { answer, firstTokenMs: 300, tokenMs: 0 },
      tools: [{ name: 'look', execute: () => of('found').pipe(delay(7_000)), ...(filler ? { filler } : {}) }],
      steps: { 0: user.final('look for it') },
    });
  }
  const metricsOf = ({ events }: VoiceTestResult): VoiceEvent<'turn.metrics'> | undefined =>
    ofType(events, 'turn.metrics')[0];

  it('have a part for the tools, and only its own time for the model', () => {
    const result = looked();
    const metrics = metricsOf(result);
    expect(metrics).toMatchObject({ llmFirstToken: 600, tools: 7_000 });
    const {
      hook = 0,
      llmFirstToken = 0,
      tools = 0,
      aggregation = 0,
      ttsFirstAudio = 0,
      outputLead = 0,
    } = metrics ?? {};
    const sum = hook + llmFirstToken + tools + aggregation + ttsFirstAudio + outputLead;
    expect(metrics?.total).toBe(sum);
    expect(ofType(result.events, 'speech.started')[0]?.at).toBe(sum);
  });

  it('count what is said meanwhile as the first that is heard', () => {
    const result = looked('Let me look.');
    expect(metricsOf(result)).toMatchObject({ llmFirstToken: 300, tools: 700 });
    expect(metricsOf(result)?.total).toBe(ofType(result.events, 'speech.started')[0]?.at);
  });

  it('have no such part without tools', () => {
    const result = voiceTest({ steps: { 0: user.final('hello') } });
    expect(metricsOf(result)).not.toHaveProperty('tools');
  });
});

/** An input that tells what becomes of its microphone. */
class Microphone extends FakeInput {
  readonly device$ = new Subject<DeviceEvent>();
}

/** A running pipeline with a microphone, in virtual time. */
async function talk({ scheduler = new TestClock(), ...options }: Omit<CallOptions, 'llm' | 'voice'> = {}) {
  const [input, stt, output] = [
    new Microphone({ scheduler }),
    new FakeSTT({ scheduler }),
    new FakeOutput({ scheduler }),
  ];
  const llm = new FakeLLM({ scheduler, firstTokenMs: 0, tokenMs: 0, answer: () => 'Fine.' });
  const tts = new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 100 });
  const pipeline = new Pipeline({ providers: [input, stt, llm, tts, output], scheduler, ...options });
  const events: VoiceEvent[] = [];
  pipeline.on('*', (event) => events.push(event));
  const start = async (): Promise<void> => {
    const started = pipeline.start();
    await scheduler.advance(0);
    await started;
  };
  await start();
  return { scheduler, input, stt, output, pipeline, events, start };
}

describe('a microphone', () => {
  const dead: readonly DeviceEvent[] = [
    { type: 'lost' },
    { type: 'muted' },
    { type: 'silent', forMs: 5_000 },
    { type: 'suspended' },
    { type: 'interrupted' },
  ];
  const back: Readonly<Record<string, DeviceEvent>> = {
    ...{ lost: { type: 'found', label: 'Other' }, muted: { type: 'unmuted' }, silent: { type: 'unmuted' } },
    ...{ suspended: { type: 'running' }, interrupted: { type: 'running' } },
  };
  for (const event of dead) {
    it(`that is ${event.type} leaves nobody listening, until it is back`, async () => {
      const { input, events, pipeline, ...rig } = await talk();
      input.device$.next(event);
      input.device$.next({ type: 'changed' });
      expect(pipeline.agentState).toBe('idle');
      // What is typed is answered all the same.
      pipeline.send('still there?');
      await rig.scheduler.advance(5_000);
      input.device$.next(back[event.type] ?? event);
      expect(ofType(events, 'agent.state').map(({ state }) => state)).toEqual([
        ...['listening', 'idle', 'thinking', 'speaking', 'idle'],
        'listening',
      ]);
      await over({ input, events, pipeline, ...rig });
    });
  }
});

describe('what is no word', () => {
  it('of an interim holds nothing back, and is not shown', async () => {
    const rig = await talk({ greeting: 'Welcome to the house.' });
    await rig.scheduler.advance(300);
    rig.stt.hearWords(FakeSTT.result('…', 'interim'));
    await rig.scheduler.advance(3_000);
    rig.stt.hearWords(FakeSTT.result('?', 'interim'));
    await rig.scheduler.advance(1_000);
    expect(timeline(rig.events, 'bargeIn.suspected', 'turn.started', 'transcript.interim', 'user.state')).toEqual([]);
    expect(ofType(rig.events, 'speech.ended')[0]).toMatchObject({ heardText: 'Welcome to the house.' });
    await over(rig);
  });

  it('does not put off user.idle', async () => {
    const rig = await call();
    await rig.scheduler.advance(10_000);
    rig.stt.hearWords(FakeSTT.result('', 'interim'));
    rig.stt.hearWords(FakeSTT.result('…', 'interim'));
    await rig.scheduler.advance(10_000);
    expect(timeline(rig.events, 'user.idle')).toEqual(['15000 user.idle']);
    await over(rig);
  });
});

it('a voice of more than 30 s is still one when a detector hears it, and words come', () => {
  const words = Array.from({ length: 14 }, (_, count) => [
    (count + 1) * 3_000,
    user.interim('and then '.repeat(count + 1).trim()),
  ]);
  const steps: VoiceTestOptions['steps'] = {
    0: user.voice(0),
    ...(Object.fromEntries(words) as VoiceTestOptions['steps']),
  };
  const { events } = voiceTest({ vad: true, steps, untilMs: 44_000 });
  expect(ofType(events, 'user.state').map(({ at, state }) => [at, state])).toEqual([
    [0, 'speaking'],
    [44_000, 'silent'],
  ]);
});

it('the verdict of onUserTurn may be anything that can be awaited', async () => {
  const rig = await talk({
    onUserTurn: () => {
      const query: PromiseLike<{ text: string }> = {
        then: (resolve) => Promise.resolve({ text: 'what the query found' }).then(resolve),
      };
      return query as Promise<{ text: string }>;
    },
  });
  rig.stt.hearWords(FakeSTT.result('hello', 'final'));
  await rig.scheduler.advance(3_000);
  expect(rig.pipeline.history.items[0]).toMatchObject({ role: 'user', text: 'what the query found' });
  await over(rig);
});

it("a model's retry is told, with its reason", async () => {
  const llm = Object.assign(new FakeLLM(), { connection$: new Subject<ConnectionEvent>() });
  const pipeline = new Pipeline({ providers: [new FakeInput(), new FakeSTT(), llm, new FakeTTS(), new FakeOutput()] });
  const events: VoiceEvent[] = [];
  pipeline.connection$.subscribe((event) => events.push(event));
  const error = new VoiceError('too many requests', { code: 'rate_limited', recoverable: true });
  llm.connection$.next({ type: 'reconnecting', attempt: 1, delayMs: 1_000, error });
  llm.connection$.next({ type: 'connected' });
  const [retry, ...rest] = events;
  expect(retry).toMatchObject({
    ...{ type: 'provider.reconnecting', role: 'llm', provider: 'FakeLLM' },
    ...{ attempt: 1, delayMs: 1_000, message: 'too many requests', code: 'rate_limited' },
  });
  expect(rest.map(({ type }) => type)).toEqual(['provider.connected']);
  await pipeline.dispose();
});

describe('provider.format', () => {
  const told = ({ events }: { readonly events: readonly VoiceEvent[] }): string[] =>
    ofType(events, 'provider.format').map(({ from }) => from.split(' ')[0] ?? '');

  it('names the voice that speaks, of whichever agent', async () => {
    const scheduler = new TestClock();
    const other = new FakeTTS({ scheduler, latencyMs: 0, msPerCharacter: 100 });
    Object.defineProperty(other, 'name', { value: 'OtherTTS' });
    const rig = await talk({ agents: { sales: { tts: other }, desk: {} }, scheduler });
    rig.pipeline.send('hello');
    await rig.scheduler.advance(2_000);
    rig.pipeline.update({ agent: 'desk' });
    rig.pipeline.send('hello');
    await rig.scheduler.advance(2_000);
    expect(told(rig)).toEqual(['FakeInput', 'OtherTTS', 'FakeTTS']);
    await over(rig);
  });

  it('is told again in the next session', async () => {
    const rig = await talk({ greeting: 'Hello.' });
    await rig.scheduler.advance(2_000);
    const stopped = rig.pipeline.stop();
    await rig.scheduler.advance(5_000);
    await stopped;
    await rig.start();
    await rig.scheduler.advance(2_000);
    expect(told(rig)).toEqual(['FakeInput', 'FakeTTS', 'FakeInput', 'FakeTTS']);
    await over(rig);
  });
});
