/** An application around a pipeline is full of promises, which never settle on a `TestScheduler`: its tests took real time. */
import { filter, firstValueFrom, timer } from 'rxjs';
import { defineTool, Pipeline, type PipelineOptions, type VoiceEvent } from '../../lib/index.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, VirtualClock } from '../../lib/testing/index.ts';

const weather = defineTool<{ city: string }>({
  name: 'get_weather',
  description: 'The weather in a city, now.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: async ({ city }) => {
    await Promise.resolve();
    return `rain in ${city}`;
  },
});

async function talk(options: Partial<PipelineOptions> = {}, answer?: FakeLLM['config']['answer']) {
  const scheduler = new VirtualClock();
  const stt = new FakeSTT({ scheduler });
  const llm = new FakeLLM({ scheduler, ...(answer && { answer }) });
  const ends = [new FakeInput({ scheduler }), new FakeOutput({ scheduler })];
  const agent = new Pipeline({ providers: [...ends, stt, llm, new FakeTTS({ scheduler })], scheduler, ...options });
  const events: VoiceEvent[] = [];
  agent.events$.subscribe((event) => events.push(event));
  await agent.initialize();
  await scheduler.run(agent.start());
  const at = (type: VoiceEvent['type']): number[] =>
    events.filter((event) => event.type === type).map((each) => each.at);
  return { scheduler, stt, llm, agent, at };
}

describe('a pipeline on a virtual clock', () => {
  it('waits for an asynchronous tool and an asynchronous onUserTurn, and neither costs time', async () => {
    const { scheduler, stt, agent, at } = await talk(
      {
        tools: [weather],
        onUserTurn: async ({ text }) => {
          await Promise.resolve();
          return { text: `${text} Please.` };
        },
      },
      (messages) => {
        const last = messages.at(-1);
        if (last?.role === 'tool') return `There is ${last.content}.`;
        const call = { name: 'get_weather', args: { city: 'Rome' }, argsText: '{"city":"Rome"}' };
        return [
          { type: 'tool-call', id: '1', ...call },
          { type: 'done', finishReason: 'tool-calls' },
        ];
      },
    );
    stt.hearWords(FakeSTT.result('The weather?', 'final'));
    await scheduler.pass(10_000);
    expect(agent.history.messages().map(({ role, content }) => [role, content])).toEqual([
      ['user', 'The weather? Please.'],
      ['assistant', ''],
      ['tool', 'rain in Rome'],
      ['assistant', 'There is rain in Rome.'],
    ]);
    expect(at('tool.result')).toEqual(at('tool.call'));
    expect(at('error')).toEqual([]);
    await scheduler.run(agent.dispose());
  });

  it('takes what an application does in between: push-to-talk, then hands-free again', async () => {
    const { scheduler, stt, agent, llm } = await talk();
    agent.update({ turnTaking: { strategy: 'manual' } });
    stt.hearWords(FakeSTT.result('nobody asked', 'final'));
    await scheduler.pass(2_000);
    expect(llm.requests).toHaveLength(0);
    agent.beginTurn();
    stt.hearWords(FakeSTT.result('by hand', 'final'));
    await scheduler.pass(1_000);
    agent.commitTurn();
    await scheduler.pass(5_000);
    agent.update({ turnTaking: undefined });
    stt.hearWords(FakeSTT.result('and without', 'final'));
    await scheduler.pass(5_000);
    expect(llm.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['by hand', 'and without']);
    await scheduler.run(agent.dispose());
  });

  it('passes an hour to the millisecond, and nothing that is due after it', async () => {
    const { scheduler, agent, at } = await talk();
    const startedAt = scheduler.now();
    const due: number[] = [];
    timer(3_600_000, scheduler).subscribe(() => due.push(scheduler.now()));
    timer(3_600_001, scheduler).subscribe(() => due.push(scheduler.now()));
    await scheduler.pass(3_600_000);
    expect(scheduler.now()).toBe(startedAt + 3_600_000);
    expect(due).toEqual([startedAt + 3_600_000]);
    await scheduler.pass(0.5);
    expect(scheduler.now()).toBe(startedAt + 3_600_000.5);
    expect(at('user.away')).toEqual([startedAt + 30_000]);
    await scheduler.run(agent.dispose());
  });

  it('goes on until an event, and tells what it throws', async () => {
    const { scheduler, stt, agent } = await talk();
    stt.hearWords(FakeSTT.result('hello', 'final'));
    const ended = firstValueFrom(agent.turns$.pipe(filter(({ type }) => type === 'turn.ended')));
    expect(await scheduler.run(ended)).toMatchObject({ reason: 'completed' });
    await expect(scheduler.run(Promise.reject(new Error('of the application')))).rejects.toThrow('of the application');
    await scheduler.run(agent.dispose());
  });
});
