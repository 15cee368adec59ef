/** Slow: the vendor's client takes seconds to load. */
import Anthropic from '@anthropic-ai/sdk';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';

const haiku = { model: 'claude-haiku-5-5', max_tokens: 1024 } as const;
const quiet = { ...haiku, thinking: { type: 'disabled' } } as const;
const user = (content: string): { role: 'user'; content: string } => ({ role: 'user', content });
const weather: Anthropic.Tool = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
};

describe("the sandbox's /v1/messages", () => {
  let sandbox: Sandbox;
  let client: Anthropic;
  beforeAll(async () => {
    sandbox = await startSandbox();
    client = new Anthropic({
      apiKey: 'sandbox-key',
      baseURL: sandbox.endpoints.mu,
      maxRetries: 0,
      dangerouslyAllowBrowser: true,
    });
  });
  afterAll(() => sandbox.close());

  it('streams what the official client reads', async () => {
    const types: string[] = [];
    let text = '';
    for await (const event of await client.messages.create({
      ...quiet,
      messages: [user('count to 3')],
      stream: true,
    })) {
      types.push(event.type);
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
    }
    expect(text).toBe('1, 2, 3.');
    expect([types[0], types[1], ...types.slice(-3)]).toEqual([
      'message_start',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const record = sandbox.records('mu-llm').at(-1);
    expect(record?.headers['authorization']).toBe('Bearer sandbox-key');
    expect(record?.headers['anthropic-version']).toBe('2026-10-21');
  });

  it('thinks first where the model does so by default', async () => {
    const message = await client.messages.stream({ ...haiku, messages: [user('Hi')] }).finalMessage();
    expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect(message.stop_reason).toBe('end_turn');
  });

  it('calls tools in parallel, and answers from their results', async () => {
    const question = user('Weather in Paris and Rome?');
    const message = await client.messages.stream({ ...quiet, messages: [question], tools: [weather] }).finalMessage();
    expect(message.stop_reason).toBe('tool_use');
    const calls = message.content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
    expect(calls.map(({ input }) => input)).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
    const results = calls.map(({ id }, index) => ({
      ...({ type: 'tool_result', tool_use_id: id, content: index === 0 ? '{"c":18}' : 'Timed out.' } as const),
      ...(index === 1 ? { is_error: true } : {}),
    }));
    const answer = await client.messages.create({
      ...quiet,
      tools: [weather],
      messages: [
        question,
        {
          role: 'assistant',
          content: message.content.map((block) => (block.type === 'text' ? { type: 'text', text: block.text } : block)),
        },
        { role: 'user', content: results },
      ],
    });
    expect(answer.content).toMatchObject([
      { type: 'text', text: 'get_weather says: c 18. get_weather failed: Timed out.' },
    ]);
  });

  it('stops at max_tokens and at stop sequences', async () => {
    const short = await client.messages.create({ ...quiet, max_tokens: 2, messages: [user('count to 9')] });
    expect([short.stop_reason, short.content]).toMatchObject(['max_tokens', [{ text: '1, 2,' }]]);
    const stopped = await client.messages.create({ ...quiet, stop_sequences: [' 4'], messages: [user('count to 9')] });
    expect([stopped.stop_reason, stopped.stop_sequence]).toEqual(['stop_sequence', ' 4']);
  });

  const toolUse = { type: 'tool_use', id: 'toolu_01', name: 'get_weather', input: {} };
  const bad: readonly (readonly [name: string, body: Record<string, unknown>, status: number, message: RegExp])[] = [
    ['temperature', { temperature: 0.5 }, 400, /temperature: Extra inputs are not permitted/],
    ['an unknown field', { stop: 'x' }, 400, /stop: Extra inputs/],
    ['no max_tokens', { max_tokens: undefined }, 400, /max_tokens is required/],
    ['an unknown model', { model: 'claude-nobody' }, 404, /model: claude-nobody/],
    [
      'thinking that the model lacks',
      { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2048 },
      400,
      /not supported/,
    ],
    [
      'disabled thinking on the mid tier',
      { model: 'claude-sonnet-5-5', thinking: { type: 'disabled' } },
      400,
      /not supported/,
    ],
    [
      'a forced call on the mid tier',
      { model: 'claude-sonnet-5-5', thinking: undefined, tools: [weather], tool_choice: { type: 'any' } },
      400,
      /forced tool use/,
    ],
    ['an assistant first', { messages: [{ role: 'assistant', content: 'a' }, user('b')] }, 400, /first message/],
    ['an assistant last', { messages: [user('b'), { role: 'assistant', content: 'a' }] }, 400, /prefill/],
    ['an empty text', { messages: [user('')] }, 400, /non-empty/],
    ['a blank text', { messages: [user('  ')] }, 400, /non-whitespace/],
    [
      'an unanswered call',
      { tools: [weather], messages: [user('a'), { role: 'assistant', content: [toolUse] }, user('Stop')] },
      400,
      /without `tool_result` blocks immediately after: toolu_01/,
    ],
    [
      'a result without a call',
      {
        tools: [weather],
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_09', content: 'x' }] }],
      },
      400,
      /unexpected `tool_use_id`/,
    ],
    [
      'text before results',
      {
        tools: [weather],
        messages: [
          user('a'),
          { role: 'assistant', content: [toolUse] },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'b' },
              { type: 'tool_result', tool_use_id: 'toolu_01', content: 'x' },
            ],
          },
        ],
      },
      400,
      /must come first/,
    ],
    [
      'calls in the history without tools',
      {
        messages: [
          user('a'),
          { role: 'assistant', content: [toolUse] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_01', content: 'x' }] },
        ],
      },
      400,
      /must define tools/,
    ],
  ];
  for (const [name, body, status, message] of bad) {
    it(`refuses ${name}`, async () => {
      const answer = await fetch(`${sandbox.endpoints.mu}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': 'sandbox-key', 'anthropic-version': '2026-10-21', 'content-type': 'application/json' },
        body: JSON.stringify({ ...quiet, messages: [user('a')], ...body }),
      });
      expect(answer.status).toBe(status);
      const refusal = (await answer.json()) as {
        type: string;
        error: { type: string; message: string };
        request_id: string;
      };
      expect([refusal.type, refusal.error.type]).toEqual([
        'error',
        status === 404 ? 'not_found_error' : 'invalid_request_error',
      ]);
      expect(refusal.error.message).toMatch(message);
      expect(answer.headers.get('request-id')).toBe(refusal.request_id);
    });
  }

  it('wants a version and a key', async () => {
    const post = async (headers: Record<string, string>, base = sandbox.endpoints.mu): Promise<number> =>
      (
        await fetch(`${base}/v1/messages`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ ...quiet, messages: [user('a')] }),
        })
      ).status;
    const version = { 'anthropic-version': '2023-06-01' };
    expect(await post({ 'x-api-key': 'sandbox-key' })).toBe(400);
    expect(await post(version)).toBe(401);
    expect(await post({ ...version, 'x-api-key': 'wrong' })).toBe(401);
    expect(await post({ ...version, 'x-api-key': 'sandbox-key' })).toBe(200);
    expect(await post(version, sandbox.proxies.mu)).toBe(200);
    expect(await post({ ...version, 'x-api-key': 'sandbox-key' }, sandbox.proxies.mu)).toBe(400);
  });

  it('fails in the middle as the service does', async () => {
    sandbox.setFault('mu-llm', { kind: 'error', after: 6, times: 1 });
    let text = '';
    const run = async (): Promise<void> => {
      for await (const event of await client.messages.create({
        ...quiet,
        messages: [user('count to 9')],
        stream: true,
      })) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text;
      }
    };
    await expect(run()).rejects.toMatchObject({ type: 'overloaded_error' });
    expect(text).toBe('1, 2, 3,');
  });
});
