/**
 * Models of the AI SDK against the sandbox: the real packages, in each version of the specification that is in use.
 *
 * Slow: calls at the speed of sound.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createOpenAICompatible as createV3 } from '@ai-sdk/openai-compatible';
import { extractReasoningMiddleware, wrapLanguageModel } from 'ai';
import { createOpenAICompatible as createV2 } from 'ai-sdk-2';
import { createOpenAICompatible as createV4 } from 'ai-sdk-4';
import { filter, firstValueFrom } from 'rxjs';
import {
  fromLanguageModel,
  Pipeline,
  type LanguageModelConfig,
  type LanguageModelLike,
  type LLMProvider,
  type Message,
  type Tool,
} from '../../lib/index.ts';
import { FakeInput, FakeOutput, FakeSTT, FakeTTS } from '../../lib/testing/index.ts';
import { outcomeOf } from '../providers/llm/llm-fixture.ts';
import { sandboxed } from '../providers/llm/sandboxed.ts';
import { until } from './wire.ts';

const ask: readonly Message[] = [{ role: 'user', content: 'Say hello to the caller' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather: Tool = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters,
  execute: () => ({ sky: 'sunny' }),
};
const definition = { name: weather.name, description: 'The weather in a city', parameters };

/** A system prompt by which the sandbox answers as it is told. */
const script = (rule: object): string => `sandbox: ${JSON.stringify({ rules: [{ when: '.', ...rule }] })}`;

/** An address at which nobody listens. */
async function nowhere(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/v1`;
}

const makers = { v2: createV2, v3: createV3, v4: createV4 };

describe.each(Object.entries(makers))('fromLanguageModel(), a model of specification %s', (version, create) => {
  const { sandbox, ready, bodies } = sandboxed();
  const modelOf = (id = 'local', apiKey = 'sandbox-key'): LanguageModelLike => {
    const baseURL = sandbox().endpoints.compatible;
    return create({ name: 'sandbox', baseURL, apiKey, includeUsage: true })(id);
  };
  const llmOf = (config?: LanguageModelConfig, id?: string): Promise<LLMProvider> =>
    ready(fromLanguageModel(modelOf(id), config));

  it('is of that version', () => {
    expect(modelOf().specificationVersion).toBe(version);
  });

  it('streams text, and tells what it cost; nothing of its reasoning', async () => {
    const llm = await llmOf({ systemPrompt: 'Be brief.', maxTokens: 50, temperature: 0.5 });
    const told: string[] = [];
    llm.tokens$.subscribe((text) => told.push(text));
    const { events, text } = await outcomeOf(llm.generate(ask, { seed: 7, stopSequences: ['END'] }));
    expect(text).toBe('hello to the caller');
    expect(told.join('')).toBe(text);
    expect(events.filter(({ type }) => type === 'token').length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({
      ...{ type: 'done', finishReason: 'stop' },
      usage: {
        inputTokens: expect.any(Number) as number,
        outputTokens: expect.any(Number) as number,
        totalTokens: expect.any(Number) as number,
        cachedTokens: expect.any(Number) as number,
        reasoningTokens: expect.any(Number) as number,
      },
    });
    expect(bodies('compatible-llm')[0]).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Say hello to the caller' },
      ],
      ...{ model: 'local', max_tokens: 50, temperature: 0.5, seed: 7, stop: ['END'], stream: true },
    });
  });

  it('drops reasoning, of which the service bills', async () => {
    const prompt = script({ think: 'The caller wants a greeting.', say: 'Good day.' });
    const llm = await llmOf({ systemPrompt: prompt });
    const { events, text } = await outcomeOf(llm.generate(ask));
    expect(text).toBe('Good day.');
    const done = events.at(-1);
    expect(done?.type === 'done' && done.usage?.reasoningTokens).toBeGreaterThan(0);
  });

  it('calls tools by their ids, and is told their results', async () => {
    const llm = await llmOf();
    const question: Message = { role: 'user', content: 'What is the weather in Paris and Rome?' };
    const first = await outcomeOf(llm.generate([question], { tools: [definition] }));
    const calls = first.events.flatMap((event) => (event.type === 'tool-call' ? [event] : []));
    expect(calls.map(({ name, args }) => ({ name, args }))).toEqual([
      { name: 'get_weather', args: { city: 'Paris' } },
      { name: 'get_weather', args: { city: 'Rome' } },
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect(first.events.at(-1)).toMatchObject({ finishReason: 'tool-calls' });

    const history: Message[] = [
      question,
      { role: 'assistant', content: '', toolCalls: calls },
      ...calls.map(({ id }): Message => ({ role: 'tool', toolCallId: id, content: '{"sky":"sunny"}' })),
    ];
    const second = await outcomeOf(llm.generate(history, { tools: [definition], toolChoice: 'none' }));
    expect(second.text).toMatch(/get_weather says: sky sunny/);
    const [{ id } = { id: '' }] = calls;
    expect(bodies('compatible-llm')[1]).toMatchObject({
      tool_choice: 'none',
      messages: expect.arrayContaining([
        expect.objectContaining({ role: 'tool', tool_call_id: id, content: '{"sky":"sunny"}' }),
      ]) as unknown,
    });
  });

  it('must call the tool that is named', async () => {
    const llm = await llmOf();
    const options = { tools: [definition], toolChoice: { name: 'get_weather' } };
    const { events } = await outcomeOf(llm.generate(ask, options));
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool-call', name: 'get_weather' }));
  });

  it('sees images: as data, as a data URL, by address', async () => {
    const images = [
      { data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' },
      { url: 'data:image/webp;base64,UklGRg==' },
      { url: 'https://images.example.com/cat.jpg' },
    ];
    const llm = await llmOf();
    const { text } = await outcomeOf(llm.generate([{ role: 'user', content: 'What do you see?', images }]));
    expect(text).toBe('I see a png and a webp and a picture.');
  });

  it('answers in JSON by a schema', async () => {
    const llm = await llmOf();
    const responseFormat = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    const { text } = await outcomeOf(llm.generate(ask, { responseFormat }));
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });

  it.each(['before the service accepts it', 'before its first token'])(
    'aborts its request when nobody wants the answer any more, %s',
    async (moment) => {
      if (moment.includes('accepts')) sandbox().setFault('compatible-llm', { kind: 'slowAccept', ms: 60_000 });
      const llm = await llmOf({ systemPrompt: script({ say: 'one two three', tokenDelayMs: 60_000 }) });
      const answer = llm.generate(ask).subscribe();
      await until(() => sandbox().records('compatible-llm').length === 1);
      answer.unsubscribe();
      await until(() => sandbox().records('compatible-llm')[0]?.aborted === true);
    },
  );

  it('says what to do about a refusal, and why the service refused in its cause', async () => {
    const { error } = await outcomeOf((await llmOf({}, 'no-such-model')).generate(ask));
    expect(error).toMatchObject({
      ...{ code: 'not_found', status: 404, recoverable: false, provider: 'sandbox.chat' },
      message: expect.stringContaining('the service has no such model, voice or address') as string,
    });
    expect(String(error?.cause)).toContain('no-such-model');
    expect(bodies('compatible-llm')).toHaveLength(1);
  });

  it('tries again after a transient refusal, and tells so', async () => {
    sandbox().setFault('compatible-llm', { kind: 'status', status: 503, times: 1 });
    const llm = await llmOf();
    const told: string[] = [];
    llm.connection$?.subscribe(({ type }) => told.push(type));
    expect(await outcomeOf(llm.generate(ask))).toMatchObject({ text: 'hello to the caller' });
    expect(told).toEqual(['reconnecting', 'connected']);
  });

  it('fails when the connection breaks in the middle of the answer', async () => {
    sandbox().setFault('compatible-llm', { kind: 'dropAfter', messages: 3 });
    const { error } = await outcomeOf((await llmOf({ maxRetries: 0 })).generate(ask));
    expect(error).toMatchObject({ code: 'connection', recoverable: true, provider: 'sandbox.chat' });
    expect(error?.message).not.toContain('hello');
  });

  it('says that nobody answers at the address', async () => {
    const model = create({ name: 'gone', baseURL: await nowhere() })('local');
    const llm = await ready(fromLanguageModel(model, { maxRetries: 0 }));
    const { error } = await outcomeOf(llm.generate(ask));
    expect(error).toMatchObject({ code: 'connection', recoverable: true, provider: 'gone.chat' });
  });

  it('talks in a pipeline: a tool, its result, and a barge-in that reaches the service', async () => {
    const [stt, output] = [new FakeSTT(), new FakeOutput()];
    const llm = fromLanguageModel(modelOf());
    await using pipeline = new Pipeline({
      providers: [new FakeInput(), stt, llm, new FakeTTS(), output],
      tools: [weather],
    });
    await pipeline.start();
    const { heardText } = await pipeline.send('What is the weather in Paris?').done;
    expect(heardText).toMatch(/get_weather says: sky sunny/);
    const usage = firstValueFrom(pipeline.events$.pipe(filter(({ type }) => type === 'session.closed')));
    pipeline.update({ systemPrompt: script({ say: 'one two three four', tokenDelayMs: 60_000 }) });
    const sent = pipeline.send('Count');
    await until(() => sandbox().records('compatible-llm').length === 3);
    pipeline.interrupt();
    await sent.done;
    await until(() => sandbox().records('compatible-llm')[2]?.aborted === true);
    await pipeline.stop();
    expect(await usage).toMatchObject({
      usage: expect.arrayContaining([expect.objectContaining({ provider: 'sandbox.chat' })]) as unknown,
    });
  });
});

it('a model behind middleware of the AI SDK is one too', async () => {
  const model = wrapLanguageModel({
    model: createV3({ name: 'gone', baseURL: await nowhere() })('local'),
    middleware: extractReasoningMiddleware({ tagName: 'think' }),
  });
  const llm = fromLanguageModel(model, { maxRetries: 0 });
  await llm.initialize();
  expect(await outcomeOf(llm.generate(ask))).toMatchObject({ error: { code: 'connection' } });
  await llm.dispose();
});
