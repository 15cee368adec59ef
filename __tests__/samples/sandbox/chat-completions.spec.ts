import { bodyJson, startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox, ServiceName } from '../../../samples/sandbox/index.ts';
import { respond, story } from '../../../samples/sandbox/responder.ts';
import { isObject, member, textMember } from '../../../samples/sandbox/validate.ts';
import { events } from './client.ts';

type Body = Readonly<Record<string, unknown>>;
type VendorKey = 'nu' | 'theta' | 'compatible';

const models: Readonly<Record<VendorKey, string>> = {
  nu: 'llama-3.3-70b-versatile',
  theta: 'gpt-4.1-mini',
  compatible: 'local',
};
const user = (content: string): Body => ({ role: 'user', content });
const tool = (name: string, ...fields: string[]): Body => {
  const properties = Object.fromEntries(fields.map((field) => [field, { type: 'string' }]));
  return { type: 'function', function: { name, parameters: { type: 'object', properties } } };
};

function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (Array.isArray(inner) ? inner[Number(key)] : member(inner, String(key))),
    value,
  );
}

describe("the sandbox's chat completions", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const post = (
    vendor: VendorKey,
    body: Body,
    headers: Record<string, string> = { authorization: 'Bearer sandbox-key' },
  ): Promise<Response> =>
    fetch(`${sandbox.endpoints[vendor]}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: models[vendor], stream: true, ...body }),
    });
  const stream = async (vendor: VendorKey, body: Body): Promise<unknown[]> => {
    const answer = await post(vendor, body);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
    return events(await answer.text());
  };
  const say = async (vendor: VendorKey, ...messages: Body[]): Promise<string> =>
    textOf(await stream(vendor, { messages }));
  const textOf = (chunks: unknown[]): string =>
    chunks.map((chunk) => textMember(at(chunk, 'choices', 0, 'delta'), 'content')).join('');

  for (const vendor of ['nu', 'theta', 'compatible'] as const) {
    it(`${vendor} streams role, tokens, reason and [DONE]`, async () => {
      const chunks = await stream(vendor, { messages: [user('count to 4')] });
      expect(at(chunks[0], 'choices', 0, 'delta', 'role')).toBe('assistant');
      expect(textOf(chunks)).toBe('1, 2, 3, 4.');
      expect(chunks.at(-1)).toBe('[DONE]');
      expect(at(chunks.at(-2), 'choices', 0, 'finish_reason')).toBe('stop');
      expect(chunks.filter(isObject).map(({ object }) => object)).toEqual(
        chunks.slice(1).map(() => 'chat.completion.chunk'),
      );
    });

    it(`${vendor} streams the arguments of two calls in fragments, then takes their results`, async () => {
      const question = user('What is the weather in Paris and Rome?');
      const tools = [tool('get_weather', 'city')];
      const chunks = await stream(vendor, { messages: [question], tools });
      const fragments = chunks.flatMap((chunk) => (at(chunk, 'choices', 0, 'delta', 'tool_calls') ?? []) as Body[]);
      const calls: { id: string; name: string; args: string }[] = [];
      for (const { index, id, function: definition } of fragments) {
        const known = calls[Number(index)];
        if (known) known.args += String(at(definition, 'arguments'));
        else
          calls.push({
            id: String(id),
            name: String(at(definition, 'name')),
            args: String(at(definition, 'arguments')),
          });
      }
      expect(calls.map(({ name, args }) => [name, args])).toEqual([
        ['get_weather', '{"city":"Paris"}'],
        ['get_weather', '{"city":"Rome"}'],
      ]);
      expect(fragments.length).toBeGreaterThan(5);
      expect(at(chunks.at(-2), 'choices', 0, 'finish_reason')).toBe('tool_calls');
      const history = [
        question,
        {
          role: 'assistant',
          content: 'One moment.',
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        },
        { role: 'tool', tool_call_id: calls[0]?.id, content: '{"c":18}' },
        { role: 'tool', tool_call_id: calls[1]?.id, content: 'Error: timed out.' },
      ];
      expect(textOf(await stream(vendor, { messages: history, tools }))).toBe(
        'get_weather says: c 18. get_weather failed: Error: timed out.',
      );
    });
  }

  it('says a result that is a sentence as it is', () => {
    const told = (...texts: string[]): string =>
      respond({
        ...{ system: '', tools: [], choice: 'auto', parallel: true, maxTokens: 100, stop: [] },
        turns: texts.map((text) => ({ role: 'result', tool: 'get_weather', text, failed: false })),
      }).tokens.join('');
    expect(told('Paris is cloudy at 13 degrees', 'Rome is clear.')).toBe(
      'Paris is cloudy at 13 degrees. Rome is clear.',
    );
    expect(told('Cancelled: the user interrupted.', 'sunny')).toBe(
      'get_weather says: Cancelled: the user interrupted. get_weather says: sunny.',
    );
  });

  it('calls a tool for a word that says what it does, and not for a preposition in its name', () => {
    const called = (text: string): string[] =>
      respond({
        ...{ system: '', choice: 'auto', parallel: true, maxTokens: 100, stop: [] },
        tools: ['transfer_to_person', 'hang_up', 'book_table_for_guests'].map((name) => ({ name, parameters: {} })),
        turns: [{ role: 'user', text }],
      }).calls.map(({ name }) => name);
    expect(called('count to 40, look it up for me')).toEqual([]);
    expect(called('please transfer me')).toEqual(['transfer_to_person']);
    expect(called('a table, then a person')).toEqual(['transfer_to_person', 'book_table_for_guests']);
  });

  it('answers by the rules that it documents', async () => {
    expect(
      await say('compatible', user('My name is Ada.'), { role: 'assistant', content: 'Hi' }, user('What is my name?')),
    ).toBe('Your name is Ada.');
    expect(await say('compatible', user('A'), { role: 'assistant', content: 'B' }, user('what did you say?'))).toBe(
      'B',
    );
    expect(await say('compatible', user('A'), { role: 'assistant', content: 'B' }, user('What did I say?'))).toBe('A');
    expect(await say('compatible', user('Tell me a long story.'))).toBe(story);
    expect(await say('compatible', user('say Good night, moon.'))).toBe('Good night, moon.');
    expect(await say('compatible', user('Hello!'))).toBe('Hello! How can I help you?');
    expect(await say('compatible', user('Anything else'))).toBe('You said: Anything else');
  });

  it('follows the rules of the system prompt', async () => {
    const rules = [
      { when: 'ping', say: 'pong', finish: 'length' },
      { when: 'go', call: [{ name: 'go', args: { to: 'x' } }] },
    ];
    const system = { role: 'system', content: `Be brief.\nsandbox: ${JSON.stringify({ rules })}` };
    const chunks = await stream('nu', { messages: [system, user('ping!')] });
    expect([textOf(chunks), at(chunks.at(-2), 'choices', 0, 'finish_reason')]).toEqual(['pong', 'length']);
    const calls = await stream('nu', { messages: [system, user('go')], tools: [tool('go', 'to')] });
    expect(at(calls.at(-2), 'choices', 0, 'finish_reason')).toBe('tool_calls');
  });

  it('heeds tool_choice, parallel_tool_calls, the token limit and stop sequences', async () => {
    const tools = [tool('get_weather', 'city'), tool('get_time', 'city')];
    const ask = async (more: Body, content = 'weather in Paris and Rome'): Promise<unknown[]> =>
      stream('theta', { messages: [user(content)], tools, ...more });
    const names = (chunks: unknown[]): unknown[] =>
      chunks
        .flatMap((chunk) => (at(chunk, 'choices', 0, 'delta', 'tool_calls') ?? []) as Body[])
        .flatMap((each) => (each['id'] ? [at(each, 'function', 'name')] : []));
    expect(names(await ask({ tool_choice: 'none' }))).toEqual([]);
    expect(names(await ask({ parallel_tool_calls: false }))).toEqual(['get_weather']);
    expect(names(await ask({ tool_choice: { type: 'function', function: { name: 'get_time' } } }, 'Hi'))).toEqual([
      'get_time',
    ]);
    expect(names(await ask({ tool_choice: 'required' }, 'Hi'))).toEqual(['get_weather']);
    const short = await stream('theta', { messages: [user('count to 9')], max_completion_tokens: 3 });
    expect([textOf(short), at(short.at(-2), 'choices', 0, 'finish_reason')]).toEqual(['1, 2, 3,', 'length']);
    expect(textOf(await stream('theta', { messages: [user('count to 9')], stop: [' 5'] }))).toBe('1, 2, 3, 4,');
  });

  it("nu's chunks carry x_groq, usage at the end, and reasoning of reasoning models", async () => {
    const chunks = await stream('nu', { model: 'openai/gpt-oss-20b', reasoning_effort: 'low', messages: [user('Hi')] });
    expect(at(chunks[0], 'x_groq', 'id')).toMatch(/^req_/);
    expect(at(chunks.at(-2), 'x_groq', 'usage', 'total_tokens')).toBeGreaterThan(0);
    expect(chunks.map((chunk) => at(chunk, 'choices', 0, 'delta', 'reasoning')).filter(Boolean)).toHaveLength(1);
    expect(textOf(chunks)).toBe('Hello! How can I help you?');
  });

  it("theta's usage comes on request, in a chunk without choices", async () => {
    const chunks = await stream('theta', {
      messages: [user('Hi')],
      stream_options: { include_usage: true, include_obfuscation: false },
    });
    expect(at(chunks.at(-2), 'choices')).toEqual([]);
    expect(at(chunks.at(-2), 'usage', 'total_tokens')).toBeGreaterThan(0);
    expect(at(chunks[0], 'usage')).toBe(null);
    expect(at(chunks[0], 'obfuscation')).toBe(undefined);
    const plain = await stream('theta', { messages: [user('Hi')] });
    expect(at(plain.at(-2), 'usage')).toBe(undefined);
  });

  it('answers in one piece without stream', async () => {
    const answer = await post('theta', { messages: [user('count to 2')], stream: false });
    expect(await answer.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: '1, 2.' }, finish_reason: 'stop' }],
    });
  });

  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const bad: readonly (readonly [vendor: VendorKey, name: string, body: Body, status: number, message: RegExp])[] = [
    [
      'nu',
      'an unknown field',
      { messages: [user('a')], temprature: 1 },
      400,
      /Unrecognized request argument supplied: temprature/,
    ],
    ['nu', 'no messages', { messages: [] }, 400, /messages/],
    ['nu', 'an unknown role', { messages: [{ role: 'robot', content: 'a' }] }, 400, /role/],
    ['nu', 'a name on a message', { messages: [{ ...user('a'), name: 'x' }] }, 400, /'name' is unsupported/],
    [
      'nu',
      'an unknown model',
      { model: 'gpt-9', messages: [user('a')] },
      404,
      /does not exist or you do not have access/,
    ],
    [
      'nu',
      'reasoning where there is none',
      { messages: [user('a')], reasoning_effort: 'low' },
      400,
      /reasoning_effort/,
    ],
    ['nu', 'n above 1', { messages: [user('a')], n: 2 }, 400, /n must be/],
    ['theta', 'an unknown field', { messages: [user('a')], top_k: 3 }, 400, /top_k/],
    [
      'theta',
      'an unanswered call',
      {
        messages: [user('a'), { role: 'assistant', content: null, tool_calls: [call] }, user('b')],
        tools: [tool('f')],
      },
      400,
      /must be followed by tool messages.*c1/,
    ],
    [
      'theta',
      'a result without a call',
      { messages: [user('a'), { role: 'tool', tool_call_id: 'c9', content: 'x' }] },
      400,
      /preceeding message with 'tool_calls'/,
    ],
    [
      'theta',
      'null content without calls',
      { messages: [user('a'), { role: 'assistant', content: null }, user('b')] },
      400,
      /null only with tool_calls/,
    ],
    [
      'theta',
      'stream_options without stream',
      { messages: [user('a')], stream: false, stream_options: { include_usage: true } },
      400,
      /stream_options/,
    ],
    ['theta', 'an empty list of tools', { messages: [user('a')], tools: [] }, 400, /tools/],
    [
      'theta',
      'max_tokens for a reasoning model',
      { model: 'gpt-5-mini', messages: [user('a')], max_tokens: 5 },
      400,
      /Use 'max_completion_tokens' instead/,
    ],
    [
      'theta',
      'temperature for a reasoning model',
      { model: 'o3', messages: [user('a')], temperature: 0.2 },
      400,
      /temperature/,
    ],
    [
      'theta',
      'stop for a model of the fifth generation',
      { model: 'gpt-5-mini', messages: [user('a')], stop: ['X'] },
      400,
      /'stop' is not supported/,
    ],
    [
      'theta',
      'no reasoning from a model that always reasons',
      { model: 'gpt-6.1-sol', messages: [user('a')], reasoning_effort: 'none' },
      400,
      /reasoning_effort/,
    ],
    [
      'theta',
      'tools for a model that reasons by itself',
      {
        ...{ model: 'gpt-6-luna', messages: [user('a')] },
        tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
      },
      400,
      /use \/v1\/responses or set reasoning_effort to 'none'/,
    ],
    ['theta', 'five stop sequences', { messages: [user('a')], stop: ['1', '2', '3', '4', '5'] }, 400, /stop/],
    [
      'compatible',
      'a field that self-hosted servers lack',
      { messages: [user('a')], max_completion_tokens: 5 },
      400,
      /max_completion_tokens/,
    ],
  ];
  for (const [vendor, name, body, status, message] of bad) {
    it(`${vendor} refuses ${name}`, async () => {
      const answer = await post(vendor, body);
      expect(answer.status).toBe(status);
      expect(at(await answer.json(), 'error', 'message')).toMatch(message);
    });
  }

  it('takes what reasoning models take', async () => {
    for (const model of ['gpt-5-mini', 'gpt-6-luna', 'gpt-6-astra', 'o4-mini']) {
      expect(
        (
          await post('theta', {
            model,
            messages: [user('a')],
            reasoning_effort: 'low',
            temperature: 1,
            max_completion_tokens: 50,
          })
        ).status,
      ).toBe(200);
    }
    expect(
      (
        await post('theta', {
          model: 'gpt-5.4-mini',
          messages: [user('a')],
          reasoning_effort: 'none',
          temperature: 0.2,
        })
      ).status,
    ).toBe(200);
  });

  it('checks the credential in the way of each vendor, and takes none behind the proxy', async () => {
    const body = { messages: [user('a')] };
    const code = async (answer: Response): Promise<unknown> => [
      answer.status,
      at(await answer.json(), 'error', 'code'),
    ];
    expect(await code(await post('nu', body, {}))).toEqual([401, 'invalid_api_key']);
    expect(await code(await post('nu', body, { authorization: 'Token sandbox-key' }))).toEqual([
      401,
      'invalid_api_key',
    ]);
    expect(await code(await post('theta', body, { authorization: 'Bearer wrong' }))).toEqual([401, 'invalid_api_key']);
    expect((await post('compatible', body, {})).status).toBe(200);
    expect((await post('compatible', body, { authorization: 'Bearer wrong' })).status).toBe(401);
    const proxied = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${sandbox.proxies.nu}/chat/completions`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
        body: JSON.stringify({ model: models.nu, ...body }),
      });
    expect((await proxied({})).status).toBe(200);
    expect((await proxied({ authorization: 'Bearer proxy' })).status).toBe(400);
  });

  it('records what it got, and that a client went away', async () => {
    const slow = await startSandbox({ tokenDelayMs: 20 });
    const abort = new AbortController();
    const answer = await fetch(`${slow.endpoints.nu}/chat/completions`, {
      ...{
        method: 'POST',
        signal: abort.signal,
        headers: { authorization: 'Bearer sandbox-key', 'content-type': 'application/json' },
      },
      body: JSON.stringify({ model: models.nu, stream: true, messages: [user('Tell me a story.')] }),
    });
    const reader = answer.body?.getReader();
    await reader?.read();
    abort.abort();
    const aborted = async (service: ServiceName): Promise<boolean> => {
      const isAborted = slow.records(service).at(-1)?.aborted ?? false;
      if (!isAborted) await new Promise<void>((resolve) => setImmediate(resolve));
      return isAborted || aborted(service);
    };
    expect(await aborted('nu-llm')).toBe(true);
    const [record] = slow.records('nu-llm');
    expect(record).toMatchObject({ method: 'POST', path: '/chat/completions', status: 200, proxied: false });
    expect(record && bodyJson(record)).toMatchObject({ messages: [user('Tell me a story.')] });
    await slow.close();
  });
});
