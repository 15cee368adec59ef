import type { Message } from '../../../lib/core/messages.ts';
import { OmicronLLM, type OmicronLLMConfig } from '../../../lib/providers/llm/omicron-llm.ts';
import { serve, type Site } from '../../transport/http-fixture.ts';
import { eventsOf, listeningLogger, outcomeOf, stream } from './llm-fixture.ts';

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const answer = [chunk({ role: 'assistant', content: 'Hello!' }), chunk({}, 'stop'), 'data: [DONE]\n\n'];
const signed = (id: string, city: string) => ({
  ...{ id, type: 'function', function: { name: 'get_weather', arguments: JSON.stringify({ city }) } },
  extra_content: { google: { thought_signature: `sig-${id}` } },
});

describe('OmicronLLM', () => {
  let site: Site;
  let llm: OmicronLLM;
  let body: readonly string[] = answer;
  const logger = listeningLogger();

  beforeEach(async () => {
    body = answer;
    logger.lines.length = 0;
    llm = new OmicronLLM({});
    site = await serve((response) => stream(response, ...body).end());
  });
  afterEach(async () => {
    await llm.dispose();
    await site.close();
  });

  async function ready(config: OmicronLLMConfig = {}): Promise<OmicronLLM> {
    await llm.dispose();
    llm = new OmicronLLM({ apiKey: 'AIza-test-key', endpoint: `${site.url}/v1beta/openai/`, ...config }, logger);
    await llm.initialize();
    return llm;
  }
  const sent = (): Record<string, unknown> => JSON.parse(site.requests.at(-1)?.body ?? '{}') as Record<string, unknown>;

  it('asks for what the service knows, under its names', async () => {
    await ready({ maxTokens: 500 });
    expect(await eventsOf(llm.generate(hi))).toMatchObject([{ text: 'Hello!' }, { finishReason: 'stop' }]);
    expect(site.requests[0]).toMatchObject({ method: 'POST', url: '/v1beta/openai/chat/completions' });
    expect(site.requests[0]?.headers.authorization).toBe('Bearer AIza-test-key');
    expect(sent()).toEqual({
      ...{ model: 'gemini-3.8-flash', messages: hi, stream: true, stream_options: { include_usage: true } },
      ...{ max_tokens: 500, reasoning_effort: 'low' },
    });
  });

  it('has its own address, and sends no credential to a proxy', async () => {
    expect(new OmicronLLM({}).resolveBaseUrl()).toBe('https://generativelanguage.googleapis.com/v1beta/openai');
    await eventsOf((await ready({ proxyUrl: site.url })).generate(hi));
    expect(site.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('asks a model for as little thought as it can, and warns of those that retire', async () => {
    for (const [model, effort] of [
      ['gemini-2.5-flash', 'none'],
      ['gemini-2.5-pro', 'low'],
      ['gemini-flash-latest', 'low'],
      ['gemini-2.0-flash', 'low'],
    ] as const) {
      await eventsOf((await ready({ model })).generate(hi));
      expect(sent()['reasoning_effort']).toBe(effort);
    }
    expect(logger.lines).toEqual([
      'OmicronLLM: the service retires gemini-2.5-flash on 2026-12-01; use gemini-3.5-flash-lite instead',
      'OmicronLLM: the service retires gemini-2.5-pro on 2026-12-01; use gemini-3.8-flash instead',
      'OmicronLLM: the service has retired gemini-2.0-flash; use gemini-3.8-flash instead',
    ]);
  });

  it('takes whole calls without an index, in one chunk or two, and sends their signatures back', async () => {
    for (const calls of [
      [chunk({ tool_calls: [signed('a', 'Paris'), signed('b', 'Rome')] }, 'stop')],
      [chunk({ tool_calls: [signed('a', 'Paris')] }), chunk({ tool_calls: [signed('b', 'Rome')] }, 'stop')],
    ]) {
      body = [...calls, 'data: [DONE]\n\n'];
      const events = await eventsOf((await ready()).generate(hi));
      expect(events).toMatchObject([
        { type: 'tool-call', id: 'a', args: { city: 'Paris' } },
        { type: 'tool-call', id: 'b', args: { city: 'Rome' } },
        { type: 'done', finishReason: 'tool-calls' },
      ]);
      const toolCalls = events.flatMap((event) => (event.type === 'tool-call' ? [event] : []));
      body = answer;
      await eventsOf(llm.generate([...hi, { role: 'assistant', content: '', toolCalls }]));
      const [, message] = sent()['messages'] as { tool_calls?: unknown[] }[];
      expect(message?.tool_calls).toEqual([signed('a', 'Paris'), signed('b', 'Rome')]);
    }
  });

  it('says of calls of other vendors that nobody signed them', async () => {
    const toolCalls = [{ id: 'a', name: 'f', args: {}, argsText: '{}' }];
    await eventsOf((await ready()).generate([...hi, { role: 'assistant', content: '', toolCalls }]));
    const [, message] = sent()['messages'] as { tool_calls?: unknown[] }[];
    expect(message?.tool_calls).toMatchObject([
      { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } },
    ]);
  });

  it('knows a wrong key, which is a 400 here, and a wait in its own words', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }];
    const message = 'API key not valid. Please pass a valid API key.';
    const rows: readonly (readonly [number, unknown, object])[] = [
      [
        400,
        [{ error: { code: 400, message, status: 'INVALID_ARGUMENT', details } }],
        { code: 'unauthorized', status: 400, recoverable: false },
      ],
      [
        429,
        { error: { code: 429, message: 'm', status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '600s' }] } },
        { code: 'rate_limited', retryAfterMs: 600_000 },
      ],
    ];
    for (const [status, refusal, expected] of rows) {
      await site.close();
      const text = JSON.stringify(refusal);
      site = await serve((response) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(text));
      const { error } = await outcomeOf((await ready()).generate(hi));
      expect(error).toMatchObject(expected);
      expect(site.requests).toHaveLength(1);
    }
  });
});
