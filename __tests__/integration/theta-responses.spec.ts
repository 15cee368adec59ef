import { lastValueFrom, toArray } from 'rxjs';
import { ThetaLLM, VoiceError, type LLMEvent, type Message, type ThetaLLMConfig } from 'rxvoice';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';

const weather = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;
const question: Message = { role: 'user', content: 'What is the weather in Paris?' };

describe('ThetaLLM by the Responses API', () => {
  let sandbox: Sandbox;
  const models: ThetaLLM[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(models.splice(0).map((llm) => llm.dispose()));
    sandbox.clearRecords();
    sandbox.clearFaults();
  });
  afterAll(() => sandbox.close());

  async function ready(config: Partial<ThetaLLMConfig> = {}): Promise<ThetaLLM> {
    const llm = new ThetaLLM({
      ...{ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.theta, api: 'responses', model: 'gpt-5.4-mini' },
      ...config,
    });
    models.push(llm);
    await llm.initialize();
    return llm;
  }
  const answer = (llm: ThetaLLM, ...args: Parameters<ThetaLLM['generate']>): Promise<LLMEvent[]> =>
    lastValueFrom(llm.generate(...args).pipe(toArray()));
  const textOf = (events: readonly LLMEvent[]): string =>
    events.map((event) => (event.type === 'token' ? event.text : '')).join('');
  const bodies = (): Record<string, unknown>[] =>
    sandbox
      .records('theta-llm')
      .map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown>);

  it('answers, and the service stores nothing', async () => {
    const llm = await ready({ systemPrompt: 'Be brief.', maxTokens: 200 });
    const events = await answer(llm, [{ role: 'user', content: 'say the quick brown fox' }]);
    expect(textOf(events)).toBe('the quick brown fox');
    expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: 'stop', usage: { reasoningTokens: 0 } });
    expect(JSON.stringify(events.at(-1))).toMatch(
      /"requestId":"req_.*"inputTokens":\d+|"inputTokens":\d+.*"requestId":"req_/,
    );
    expect(sandbox.records('theta-llm')[0]?.path).toBe('/responses');
    expect(bodies()).toEqual([
      {
        ...{ model: 'gpt-5.4-mini', instructions: 'Be brief.', stream: true, store: false, max_output_tokens: 200 },
        input: [{ role: 'user', content: 'say the quick brown fox' }],
        stream_options: { include_obfuscation: false },
        ...{ include: ['reasoning.encrypted_content'], reasoning: { effort: 'none' } },
      },
    ]);
  });

  it('calls tools, and gives the reasoning before the calls back with their results, until the next question', async () => {
    const llm = await ready({ model: 'gpt-5-mini', reasoningEffort: 'low' });
    const called = await answer(llm, [question], { tools: [weather] });
    const calls = called.filter((event) => event.type === 'tool-call');
    expect(calls).toMatchObject([{ name: 'get_weather', args: { city: 'Paris' }, argsText: '{"city":"Paris"}' }]);
    expect(called.at(-1)).toMatchObject({ finishReason: 'tool-calls' });
    const [call] = calls;
    if (!call) throw new Error('there is no call');
    const round: Message[] = [
      question,
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', toolCallId: call.id, content: '{"sky":"sunny"}' },
    ];
    const told = await answer(llm, round, { tools: [weather] });
    expect(textOf(told)).toContain('sunny');
    await answer(llm, [...round, { role: 'assistant', content: 'Sunny.' }, { role: 'user', content: 'Thanks' }]);
    const [, second, third] = bodies().map(({ input }) =>
      (input as { type?: string; role?: string }[]).map((item) => item.type ?? item.role),
    );
    expect(second).toEqual(['user', 'reasoning', 'function_call', 'function_call_output']);
    expect(third).toEqual(['user', 'function_call', 'function_call_output', 'assistant', 'user']);
    expect(sandbox.records('theta-llm').flatMap(({ refusal = [] }) => refusal)).toEqual([]);
  });

  const callers: readonly (readonly [config: ThetaLLMConfig, path: string])[] = [
    [{ model: 'gpt-6-luna' }, '/chat/completions'],
    [{ model: 'gpt-6-sol' }, '/chat/completions'],
    [{ model: 'gpt-6.1-terra' }, '/chat/completions'],
    [{ model: 'gpt-5.4-mini' }, '/chat/completions'],
    [{ model: 'gpt-6-astra' }, '/responses'],
    [{ model: 'gpt-6.1-sol' }, '/responses'],
    [{ model: 'gpt-6.2-sol' }, '/responses'],
    [{ model: 'gpt-5.6-luna', reasoningEffort: 'low' }, '/responses'],
    [{ model: 'gpt-5.4-mini', reasoningEffort: 'low' }, '/responses'],
  ];
  for (const [config, path] of callers) {
    it(`calls tools with ${JSON.stringify(config)} by the API that lets it`, async () => {
      const llm = new ThetaLLM({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.theta, ...config });
      models.push(llm);
      await llm.initialize();
      expect(
        (await answer(llm, [question], { tools: [weather] })).filter(({ type }) => type !== 'token'),
      ).toMatchObject([
        { type: 'tool-call', name: 'get_weather', args: { city: 'Paris' } },
        { type: 'done', finishReason: 'tool-calls' },
      ]);
      expect(sandbox.records('theta-llm').map((record) => record.path)).toEqual([path]);
    });
  }

  for (const model of [
    'gpt-5-pro',
    'gpt-5.4-pro-2026-03-05',
    'o3-pro',
    'gpt-5-codex',
    'gpt-5.1-codex-max',
    'gpt-5.3-codex',
  ]) {
    it(`asks ${model}, which has no chat completions, by the Responses API`, async () => {
      const llm = new ThetaLLM({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.theta, model });
      models.push(llm);
      await llm.initialize();
      expect(textOf(await answer(llm, [{ role: 'user', content: 'say yes' }]))).toBe('yes');
      expect(sandbox.records('theta-llm').map(({ path }) => path)).toEqual(['/responses']);
    });
  }

  it('asks as it is told to, though the service refuses it', async () => {
    const llm = await ready({ model: 'gpt-5-codex', api: 'chat' });
    await expect(answer(llm, [{ role: 'user', content: 'say yes' }])).rejects.toMatchObject({ code: 'not_found' });
    expect(sandbox.records('theta-llm').map(({ path }) => path)).toEqual(['/chat/completions']);
  });

  const labelled = [
    ['gpt-5.4-mini', ['commentary', 'final_answer']],
    ['gpt-6-astra', ['commentary', 'final_answer']],
    ['gpt-5.3-codex', ['commentary', 'final_answer']],
    ['gpt-5-mini', [undefined, undefined]],
    ['gpt-4.1-mini', [undefined, undefined]],
  ] as const;
  for (const [model, phases] of labelled) {
    it(`tells ${model} which of its turns were answers, if it labels them`, async () => {
      const llm = await ready({ model });
      const toolCalls = [{ id: 'call_1', name: 'get_weather', args: { city: 'Paris' }, argsText: '{"city":"Paris"}' }];
      await answer(llm, [
        question,
        { role: 'assistant', content: 'One moment.', toolCalls },
        { role: 'tool', toolCallId: 'call_1', content: 'sunny' },
        { role: 'assistant', content: 'It is sunny.' },
        { role: 'user', content: 'say yes' },
      ]);
      const input = bodies()[0]?.['input'] as readonly Readonly<Record<string, unknown>>[];
      expect(input.filter(({ role }) => role === 'assistant').map(({ phase }) => phase)).toEqual(phases);
    });
  }

  it('keeps to each model: none is asked for reasoning that it does not have', async () => {
    const llm = await ready({ model: 'gpt-4.1-mini', temperature: 0.5, stopSequences: ['STOP'], seed: 1 });
    expect(textOf(await answer(llm, [{ role: 'user', content: 'say yes' }]))).toBe('yes');
    const [body] = bodies();
    expect(body).toMatchObject({ temperature: 0.5 });
    expect(Object.keys(body ?? {})).not.toEqual(expect.arrayContaining(['include']));
    expect(Object.keys(body ?? {})).not.toEqual(expect.arrayContaining(['stop']));
  });

  it('shows images, and answers by a schema', async () => {
    const llm = await ready();
    const images = [{ data: new Uint8Array([1, 2, 3]), mediaType: 'image/png' }];
    await answer(llm, [{ role: 'user', content: 'What is this?', images }]);
    const responseFormat = {
      ...{ type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false },
    } as const;
    const json = await answer(llm, [{ role: 'user', content: 'Is it ok?' }], { responseFormat });
    expect(textOf(json)).toMatch(/^{\s*"ok":\s*(true|false)\s*}$/);
    const [seen, asked] = bodies();
    expect(seen?.['input']).toMatchObject([
      { content: [{ type: 'input_text' }, { type: 'input_image', image_url: 'data:image/png;base64,AQID' }] },
    ]);
    expect(asked?.['text']).toMatchObject({ format: { type: 'json_schema', name: 'answer', strict: true } });
  });

  it('has tools of the service’s own', async () => {
    const llm = await ready({ serviceTools: [{ type: 'web_search' }] });
    await answer(llm, [{ role: 'user', content: 'say yes' }], { tools: [weather] });
    expect(bodies()[0]?.['tools']).toMatchObject([{ type: 'web_search' }, { type: 'function', strict: false }]);
  });

  it('tells an answer that is cut short, and an error in the middle of one', async () => {
    const llm = await ready({ maxTokens: 16, maxRetries: 0 });
    const cut = await answer(llm, [{ role: 'user', content: 'tell a story' }]);
    expect(cut.at(-1)).toMatchObject({ type: 'done', finishReason: 'length' });
    sandbox.setFault('theta-llm', { kind: 'error', after: 4, times: 1 });
    const error = await answer(llm, [{ role: 'user', content: 'tell a story' }]).catch((cause: unknown) => cause);
    expect(VoiceError.is(error) && [error.code, error.recoverable]).toEqual(['server', true]);
  });

  it('is aborted with its subscription', async () => {
    const llm = await ready();
    await new Promise<void>((resolve) => {
      const running = llm.generate([{ role: 'user', content: 'Count to 50 slowly' }]).subscribe(({ type }) => {
        if (type !== 'token') return;
        running.unsubscribe();
        resolve();
      });
    });
    while (!sandbox.records('theta-llm')[0]?.aborted) await new Promise(setImmediate);
  });
});
