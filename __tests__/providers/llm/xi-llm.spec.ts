import type { Message } from '../../../lib/core/messages.ts';
import { XiLLM, type XiLLMConfig } from '../../../lib/providers/llm/xi-llm.ts';
import { serve, type Site } from '../../transport/http-fixture.ts';
import { eventsOf, listeningLogger, outcomeOf, stream } from './llm-fixture.ts';

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const usage = { prompt_tokens: 9, completion_tokens: 8, total_tokens: 17 };
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
const answer = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Hello!' }),
  chunk({ content: '' }, 'stop', { usage }),
  'data: [DONE]\n\n',
];

describe('XiLLM', () => {
  let site: Site;
  let llm: XiLLM;
  let body: readonly string[] = answer;
  const logger = listeningLogger();

  beforeEach(async () => {
    body = answer;
    logger.lines.length = 0;
    llm = new XiLLM({});
    site = await serve((response) => stream(response, ...body).end());
  });
  afterEach(async () => {
    await llm.dispose();
    await site.close();
  });

  async function ready(config: XiLLMConfig = {}): Promise<XiLLM> {
    await llm.dispose();
    llm = new XiLLM({ apiKey: 'xi-test-key', endpoint: `${site.url}/v1`, ...config }, logger);
    await llm.initialize();
    return llm;
  }
  const sent = (): Record<string, unknown> => JSON.parse(site.requests.at(-1)?.body ?? '{}') as Record<string, unknown>;

  it('asks for what the service knows, under its names', async () => {
    await ready({
      maxTokens: 50,
      seed: 7,
      temperature: 0.3,
      topP: 0.9,
      stopSequences: ['X'],
      extraBody: { safe_prompt: true },
    });
    expect(await eventsOf(llm.generate(hi))).toEqual([
      { type: 'token', text: 'Hello!' },
      { type: 'done', finishReason: 'stop', usage: { inputTokens: 9, outputTokens: 8, totalTokens: 17 } },
    ]);
    expect(site.requests[0]).toMatchObject({ method: 'POST', url: '/v1/chat/completions' });
    expect(site.requests[0]?.headers.authorization).toBe('Bearer xi-test-key');
    expect(sent()).toEqual({
      ...{ model: 'mistral-small-latest', messages: hi, stream: true, max_tokens: 50, random_seed: 7 },
      ...{ temperature: 0.3, top_p: 0.9, stop: ['X'], reasoning_effort: 'none', safe_prompt: true },
    });
  });

  it('has its own address, and sends no credential to a proxy', async () => {
    expect(new XiLLM({}).resolveBaseUrl()).toBe('https://api.mistral.ai/v1');
    await eventsOf((await ready({ proxyUrl: site.url })).generate(hi));
    expect(site.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('asks the models that can not to think, and warns of one that is retired', async () => {
    for (const [model, effort] of [
      ['mistral-small-2603', 'none'],
      ['mistral-large-latest', undefined],
      ['mistral-large-2411', undefined],
    ] as const) {
      await eventsOf((await ready({ model })).generate(hi));
      expect(sent()['reasoning_effort']).toBe(effort);
    }
    expect(logger.lines).toEqual([
      'XiLLM: the service has retired mistral-large-2411; use mistral-large-latest instead',
    ]);
  });

  it('makes a history one that the service takes', async () => {
    const call = (id: string) => ({ id, name: 'f', args: {}, argsText: '{}' });
    await eventsOf(
      (await ready()).generate([
        ...hi,
        { role: 'assistant', content: '', toolCalls: [call('call_of_another_vendor'), call('abcDEF123')] },
        { role: 'tool', toolCallId: 'abcDEF123', content: 'two' },
        { role: 'tool', toolCallId: 'call_of_another_vendor', content: 'one' },
        { role: 'user', content: 'And?' },
        { role: 'system', content: 'Hurry.' },
      ]),
    );
    const messages = sent()['messages'] as { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[];
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'user',
      'user',
    ]);
    expect(messages[4]).toEqual({ role: 'assistant', content: ' ' });
    const ids = messages[1]?.tool_calls?.map(({ id }) => id) ?? [];
    expect(ids.every((id) => /^[a-zA-Z0-9]{9}$/.test(id))).toBe(true);
    expect(ids[1]).toBe('abcDEF123');
    expect(messages.slice(2, 4).map(({ tool_call_id: id }) => id)).toEqual(ids);
  });

  it('gives ids of other vendors one of its own, each its own', async () => {
    const ids = Array.from({ length: 500 }, (_, at) => `call_${at}`);
    const toolCalls = ids.map((id) => ({ id, name: 'f', args: {}, argsText: '{}' }));
    await eventsOf((await ready()).generate([...hi, { role: 'assistant', content: '', toolCalls }]));
    const [, message] = sent()['messages'] as { tool_calls?: { id: string }[] }[];
    expect(new Set(message?.tool_calls?.map(({ id }) => id)).size).toBe(ids.length);
  });

  it('speaks no thoughts, and takes calls whose id says nothing', async () => {
    const thought = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
    const call = { index: 0, id: 'null', type: 'function', function: { name: 'f', arguments: { a: 1 } } };
    body = [chunk({ content: [thought, { type: 'text', text: 'So.' }] }), chunk({ tool_calls: [call] }, 'tool_calls')];
    const events = await eventsOf((await ready()).generate(hi, { tools: [{ name: 'f', description: 'F' }] }));
    expect(events).toMatchObject([
      { type: 'token', text: 'So.' },
      { type: 'tool-call', name: 'f', args: { a: 1 } },
      { type: 'done', finishReason: 'tool-calls' },
    ]);
    expect(events[1]?.type === 'tool-call' && /^[a-zA-Z0-9]{9}$/.test(events[1].id)).toBe(true);
  });

  it('a model that ran out of room was cut, and an error in the middle is one', async () => {
    body = [chunk({ content: 'Hel' }, 'model_length')];
    expect((await eventsOf((await ready()).generate(hi))).at(-1)).toMatchObject({ finishReason: 'length' });
    const error = { object: 'error', message: 'Service unavailable.', type: 'service_unavailable', code: '3000' };
    body = [chunk({ content: 'Hel' }), `data: ${JSON.stringify(error)}\n\n`];
    expect(await outcomeOf((await ready()).generate(hi))).toMatchObject({ text: 'Hel', error: { code: 'server' } });
    body = [chunk({ content: 'Hel' }), chunk({}, 'error')];
    expect(await outcomeOf((await ready()).generate(hi))).toMatchObject({ text: 'Hel', error: { code: 'server' } });
  });

  it('reads the many forms of its refusals', async () => {
    const rows: readonly (readonly [number, unknown, string, string])[] = [
      [401, { detail: 'Unauthorized' }, 'unauthorized', 'Unauthorized'],
      [
        422,
        { detail: [{ loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }] },
        'configuration',
        'Extra inputs are not permitted',
      ],
      [
        400,
        { object: 'error', message: { detail: [{ msg: 'Bad' }] }, type: 'invalid_request_error' },
        'configuration',
        'Bad',
      ],
    ];
    for (const [status, refusal, code, sentence] of rows) {
      await site.close();
      const text = JSON.stringify(refusal);
      site = await serve((response) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(text));
      const { error } = await outcomeOf((await ready()).generate(hi));
      expect(error).toMatchObject({ code, status, recoverable: false, cause: new Error(sentence) });
    }
  });
});
