import type { Message } from '../../../lib/core/messages.ts';
import { ThetaLLM, type ThetaLLMConfig } from '../../../lib/providers/llm/theta-llm.ts';
import { serve, type Site } from '../../transport/http-fixture.ts';
import { eventsOf, outcomeOf, stream } from './llm-fixture.ts';

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const chunk = (choices: unknown, usage: unknown = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4.1-mini', choices, usage })}\n\n`;
const delta = (content: object, finish_reason: string | null = null): unknown[] => [
  { index: 0, delta: content, finish_reason },
];
const answer = [
  chunk(delta({ role: 'assistant', content: '' })),
  chunk(delta({ content: 'Hello' })),
  chunk(delta({ content: ' there!' })),
  chunk(delta({}, 'stop')),
  chunk([], { prompt_tokens: 14, completion_tokens: 3, total_tokens: 17 }),
  'data: [DONE]\n\n',
];

describe('ThetaLLM', () => {
  let site: Site;
  let llm: ThetaLLM;
  let body: readonly string[] = answer;

  beforeEach(async () => {
    body = answer;
    llm = new ThetaLLM({ model: 'x' });
    site = await serve((response) => stream(response, ...body).end());
  });
  afterEach(async () => {
    await llm.dispose();
    await site.close();
  });

  async function ready(config: Partial<ThetaLLMConfig> = {}): Promise<ThetaLLM> {
    await llm.dispose();
    llm = new ThetaLLM({ apiKey: 'sk-test-key', endpoint: `${site.url}/v1`, model: 'gpt-4.1-mini', ...config });
    await llm.initialize();
    return llm;
  }
  const sent = (): Record<string, unknown> => JSON.parse(site.requests.at(-1)?.body ?? '{}') as Record<string, unknown>;

  it('speaks its session', async () => {
    await ready({
      systemPrompt: 'Be brief.',
      organizationId: 'org-1',
      projectId: 'proj-1',
      extraHeaders: { 'X-A': 'b' },
    });
    expect(await eventsOf(llm.generate(hi))).toEqual([
      { type: 'token', text: 'Hello' },
      { type: 'token', text: ' there!' },
      { type: 'done', finishReason: 'stop', usage: { inputTokens: 14, outputTokens: 3, totalTokens: 17 } },
    ]);
    const [request] = site.requests;
    expect(request).toMatchObject({ method: 'POST', url: '/v1/chat/completions' });
    expect(request?.headers).toMatchObject({
      ...{ authorization: 'Bearer sk-test-key', 'openai-organization': 'org-1', 'openai-project': 'proj-1' },
      'x-a': 'b',
    });
    expect(sent()).toEqual({
      ...{ model: 'gpt-4.1-mini', messages: [{ role: 'system', content: 'Be brief.' }, ...hi], stream: true },
      stream_options: { include_usage: true, include_obfuscation: false },
    });
  });

  it('has its own address, and needs a model and a credential or a proxy', async () => {
    expect(new ThetaLLM({ model: 'x' }).resolveBaseUrl()).toBe('https://api.openai.com/v1');
    for (const config of [
      { model: 'x' },
      { model: '', apiKey: 'k' },
      { model: 'x', apiKey: 'k', organizationId: ' ' },
    ]) {
      let failure: unknown;
      await new ThetaLLM(config).initialize().catch((error: unknown) => (failure = error));
      expect(failure).toMatchObject({ name: 'ProviderInitializationError', provider: 'ThetaLLM' });
    }
    await eventsOf((await ready({ proxyUrl: site.url, organizationId: 'org-1' })).generate(hi));
    expect(site.requests[0]?.headers.authorization).toBeUndefined();
  });

  const given = { temperature: 0.5, topP: 0.9, stopSequences: ['X'], maxTokens: 50 };
  const all = { temperature: 0.5, top_p: 0.9, stop: ['X'], max_completion_tokens: 50 };
  const stopped = { stop: ['X'], max_completion_tokens: 50 };
  const unstopped = { temperature: 0.5, top_p: 0.9, max_completion_tokens: 50 };
  const families: readonly (readonly [Partial<ThetaLLMConfig>, Record<string, unknown>])[] = [
    [{ model: 'gpt-4o' }, all],
    [{ model: 'gpt-4.1-mini' }, all],
    [{ model: 'gpt-5-chat-latest' }, all],
    [{ model: 'ft:my-own' }, all],
    [{ model: 'o1' }, { ...stopped, reasoning_effort: 'low' }],
    [{ model: 'o3' }, { max_completion_tokens: 50, reasoning_effort: 'low' }],
    [{ model: 'o4-mini' }, { max_completion_tokens: 50, reasoning_effort: 'low' }],
    [{ model: 'gpt-5-mini' }, { max_completion_tokens: 50, reasoning_effort: 'minimal' }],
    [{ model: 'gpt-5.4-mini' }, { ...all, reasoning_effort: 'none' }],
    [
      { model: 'gpt-5.4-mini', reasoningEffort: 'high', api: 'chat' },
      { ...stopped, reasoning_effort: 'high' },
    ],
    [{ model: 'gpt-6-luna' }, { ...unstopped, reasoning_effort: 'none' }],
    [{ model: 'gpt-6-sol' }, { ...unstopped, reasoning_effort: 'none' }],
    [{ model: 'gpt-6.1-terra' }, { ...unstopped, reasoning_effort: 'none' }],
    [
      { model: 'gpt-6-astra', api: 'chat' },
      { max_completion_tokens: 50, reasoning_effort: 'low' },
    ],
    [
      { model: 'gpt-6.1-sol', api: 'chat', extraBody: { temperature: 1, verbosity: 'low' } },
      { max_completion_tokens: 50, reasoning_effort: 'low', temperature: 1, verbosity: 'low' },
    ],
  ];
  for (const [config, expected] of families) {
    it(`sends ${JSON.stringify(config)} what it takes`, async () => {
      await eventsOf((await ready({ ...given, ...config })).generate(hi));
      const { model: _model, messages: _messages, stream: _stream, stream_options: _options, ...rest } = sent();
      expect(rest).toEqual(expected);
    });
  }

  it('puts parallel calls together from their fragments', async () => {
    const call = (index: number, more: object): unknown => ({ index, ...more });
    body = [
      chunk(
        delta({
          tool_calls: [call(0, { id: 'call_abc', type: 'function', function: { name: 'get_weather', arguments: '' } })],
        }),
      ),
      chunk(delta({ tool_calls: [call(0, { function: { arguments: '{"ci' } })] })),
      chunk(
        delta({
          tool_calls: [
            call(0, { function: { arguments: 'ty":"Paris"}' } }),
            call(1, { id: 'call_def', type: 'function', function: { name: 'get_time', arguments: '{}' } }),
          ],
        }),
      ),
      chunk(delta({}, 'tool_calls')),
      'data: [DONE]\n\n',
    ];
    expect(await eventsOf((await ready()).generate(hi))).toMatchObject([
      { type: 'tool-call', id: 'call_abc', name: 'get_weather', args: { city: 'Paris' } },
      { type: 'tool-call', id: 'call_def', name: 'get_time', args: {} },
      { type: 'done', finishReason: 'tool-calls' },
    ]);
  });

  it('keeps late instructions, lets the assistant begin, and sends nothing of other vendors back', async () => {
    const toolCalls = [
      { id: 'a', name: 'f', args: {}, argsText: '{}', providerExtras: { extra_content: { google: 's' } } },
    ];
    const history: Message[] = [
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', toolCallId: 'a', content: 'ok' },
      { role: 'system', content: 'Hurry.' },
    ];
    await eventsOf((await ready()).generate(history));
    expect(sent()['messages']).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'system', content: 'Hurry.' },
    ]);
  });

  it('speaks a refusal, and says that it is one', async () => {
    body = [chunk(delta({ refusal: 'I cannot do that.' })), chunk(delta({}, 'stop')), 'data: [DONE]\n\n'];
    expect(await eventsOf((await ready()).generate(hi))).toEqual([
      { type: 'token', text: 'I cannot do that.' },
      { type: 'done', finishReason: 'filtered' },
    ]);
  });

  it('replays the failing session of the docs: the text stands, the turn fails', async () => {
    const error = { message: 'The server had an error while processing your request.', type: 'server_error' };
    body = [...answer.slice(0, 2), `data: ${JSON.stringify({ error: { ...error, param: null, code: null } })}\n\n`];
    expect(await outcomeOf((await ready()).generate(hi))).toMatchObject({ text: 'Hello', error: { code: 'server' } });
    expect(site.requests).toHaveLength(1);
  });

  it('says what a wrong key, a spent account and an unknown model are answered with', async () => {
    const rows: readonly (readonly [number, string, string])[] = [
      [401, 'invalid_api_key', 'unauthorized'],
      [429, 'insufficient_quota', 'quota'],
      [404, 'model_not_found', 'not_found'],
      [400, 'unsupported_parameter', 'configuration'],
    ];
    for (const [status, code, expected] of rows) {
      await site.close();
      const text = JSON.stringify({ error: { message: 'm', type: 'invalid_request_error', param: null, code } });
      site = await serve((response) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(text));
      const { error } = await outcomeOf((await ready()).generate(hi));
      expect(error).toMatchObject({ code: expected, status, recoverable: false });
      expect(site.requests).toHaveLength(1);
    }
  });
});
