/** Slow: answers of real servers, some of them byte by byte. */
import { inspect } from 'node:util';
import { firstValueFrom, tap, type Subscription } from 'rxjs';
import type { VoiceError } from '../../../lib/core/errors.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../../lib/core/messages.ts';
import type { ConnectionEvent } from '../../../lib/core/roles.ts';
import { CompatibleLLM, type CompatibleLLMConfig } from '../../../lib/providers/llm/compatible-llm.ts';
import { serve, until, type Site } from '../../transport/http-fixture.ts';
import { TestClock } from '../../transport/test-clock.ts';
import { eventsOf, ListeningClock, listeningLogger, outcomeOf, passing, stream } from './llm-fixture.ts';

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const data = (json: unknown): string => `data: ${typeof json === 'string' ? json : JSON.stringify(json)}\n\n`;
const chunk = (delta: unknown, finish_reason: unknown = null, more: object = {}): string =>
  data({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  });
const hello = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Hello' }), chunk({ content: ' there!' })];
const stop = chunk({}, 'stop');
const usage = { prompt_tokens: 14, completion_tokens: 3, total_tokens: 17 };
const counted = { inputTokens: 14, outputTokens: 3, totalTokens: 17 };
const done = '[DONE]';
const token = (text: string): LLMEvent => ({ type: 'token', text });
const ended = (finishReason: string, more: object = {}): unknown => ({ type: 'done', finishReason, ...more });

describe('CompatibleLLM', () => {
  let site: Site | undefined;
  let llm: CompatibleLLM;

  beforeEach(() => {
    llm = new CompatibleLLM({ model: 'm' });
  });
  afterEach(async () => {
    await llm.dispose();
    await site?.close();
    site = undefined;
  });

  async function ready(config: Partial<CompatibleLLMConfig> = {}, logger = listeningLogger()): Promise<CompatibleLLM> {
    await llm.dispose();
    llm = new CompatibleLLM({ endpoint: `${site?.url ?? ''}/v1`, model: 'm', ...config }, logger);
    await llm.initialize();
    return llm;
  }
  /** What an answer of the given body means. */
  async function read(body: readonly string[], options: GenerateOptions = {}): ReturnType<typeof outcomeOf> {
    await site?.close();
    site = await serve((response) => stream(response, ...body).end());
    return outcomeOf((await ready({ maxRetries: 0 })).generate(hi, options));
  }
  const sent = (at = -1): Record<string, unknown> =>
    JSON.parse(site?.requests.at(at)?.body ?? '{}') as Record<string, unknown>;

  describe('asks', () => {
    beforeEach(async () => {
      site = await serve((response) => stream(response, ...hello, stop, data(done)).end());
    });

    it('at its path, with only the fields that are set', async () => {
      await eventsOf((await ready({ apiKey: 'sk-test-key' })).generate(hi));
      expect(site?.requests).toMatchObject([{ method: 'POST', url: '/v1/chat/completions' }]);
      expect(site?.requests[0]?.headers).toMatchObject({
        ...{ authorization: 'Bearer sk-test-key', 'content-type': 'application/json', accept: 'text/event-stream' },
      });
      expect(sent()).toEqual({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true });
    });

    it('with each configured field under its own name, and the further ones as they are', async () => {
      const config = {
        ...{ systemPrompt: 'Be brief.', maxTokens: 256, temperature: 0, topP: 0.9, stopSequences: ['\n\n'], seed: 7 },
        ...{ reasoningEffort: 'low', extraBody: { top_p: 0.5, top_k: 40 }, extraHeaders: { 'X-Title': 'test' } },
      };
      await eventsOf((await ready(config)).generate(hi));
      expect(sent()).toEqual({
        model: 'm',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hi' },
        ],
        ...{ stream: true, max_tokens: 256, temperature: 0, top_p: 0.5, stop: ['\n\n'], seed: 7 },
        ...{ reasoning_effort: 'low', top_k: 40 },
      });
      expect(site?.requests[0]?.headers).toMatchObject({ 'x-title': 'test' });
    });

    it('with what one generation wants in place of the configuration', async () => {
      await ready({ maxTokens: 256, temperature: 1, stopSequences: [] });
      await eventsOf(llm.generate(hi, { maxTokens: 5, temperature: 0.1, tools: [] }));
      expect(sent()).toMatchObject({ max_tokens: 5, temperature: 0.1 });
      expect(Object.keys(sent())).not.toContain('tools');
      expect(Object.keys(sent())).not.toContain('stop');
    });

    it("with one generation's own fields, over those of the configuration", async () => {
      await ready({ extraBody: { top_k: 40, min_p: 0.1 } });
      await eventsOf(llm.generate(hi, { temperature: 1, extraBody: { top_k: 5, temperature: 0 } }));
      expect(sent()).toMatchObject({ top_k: 5, min_p: 0.1, temperature: 0 });
    });

    it('with its tools, and with the choice that is made', async () => {
      const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
      const tools = [{ name: 'get_weather', description: 'Weather by city', parameters }, { name: 'hang_up' }];
      await ready();
      const choices: readonly [GenerateOptions['toolChoice'] | undefined, unknown][] = [
        [undefined, undefined],
        ['required', 'required'],
        ['none', 'none'],
        [{ name: 'hang_up' }, { type: 'function', function: { name: 'hang_up' } }],
      ];
      for (const [toolChoice, expected] of choices) {
        await eventsOf(llm.generate(hi, { tools, ...(toolChoice && { toolChoice }) }));
        expect(sent()['tool_choice']).toEqual(expected);
      }
      expect(sent()['tools']).toEqual([
        { type: 'function', function: tools[0] },
        { type: 'function', function: { name: 'hang_up', parameters: { type: 'object', properties: {} } } },
      ]);
      await eventsOf(llm.generate(hi, { toolChoice: 'required' }));
      expect(Object.keys(sent())).not.toContain('tool_choice');
    });

    it('with calls and results in the history', async () => {
      const call = { id: 'call_1', name: 'get_weather', args: { city: 'Paris' }, argsText: '{"city":"Paris"}' };
      const broken = { id: 'call_2', name: 'get_weather', args: undefined, argsText: '{"city"' };
      const kept = { id: 'call_3', name: 'f', args: {}, argsText: '{}', providerExtras: { extra_content: { g: 's' } } };
      await ready();
      await eventsOf(
        llm.generate([
          { role: 'user', content: 'Weather?' },
          { role: 'assistant', content: 'One moment.', toolCalls: [call] },
          { role: 'tool', toolCallId: 'call_1', content: '{"c":18}' },
          { role: 'assistant', content: '', toolCalls: [broken, kept] },
          { role: 'tool', toolCallId: 'call_2', content: 'timed out', isError: true },
          { role: 'system', content: 'Hurry.' },
          { role: 'user', content: 'Stop' },
        ]),
      );
      const wire = (id: string, name: string, args: string, more = {}): object => ({
        ...{ id, type: 'function', function: { name, arguments: args }, ...more },
      });
      expect(sent()['messages']).toEqual([
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: 'One moment.', tool_calls: [wire('call_1', 'get_weather', '{"city":"Paris"}')] },
        { role: 'tool', tool_call_id: 'call_1', content: '{"c":18}' },
        {
          ...{ role: 'assistant', content: null },
          tool_calls: [wire('call_2', 'get_weather', '{}'), wire('call_3', 'f', '{}', { extra_content: { g: 's' } })],
        },
        { role: 'tool', tool_call_id: 'call_2', content: 'Error: timed out' },
        { role: 'tool', tool_call_id: 'call_3', content: 'Error: Cancelled: the user interrupted.' },
        { role: 'user', content: 'Hurry.' },
        { role: 'user', content: 'Stop' },
      ]);
    });

    it('without a credential where there is none, or a proxy has it', async () => {
      await eventsOf((await ready()).generate(hi));
      await llm.dispose();
      await eventsOf((await ready({ proxyUrl: `${site?.url ?? ''}/proxy/`, apiKey: 'sk-test-key' })).generate(hi));
      expect(site?.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
      expect(site?.requests.map(({ url }) => url)).toEqual(['/v1/chat/completions', '/proxy/chat/completions']);
    });

    it('with a fresh credential each time', async () => {
      let count = 0;
      await ready({ apiKey: () => Promise.resolve(`key-number-${++count}`) });
      await eventsOf(llm.generate(hi));
      await eventsOf(llm.generate(hi));
      expect(site?.requests.map(({ headers }) => headers.authorization)).toEqual([
        'Bearer key-number-1',
        'Bearer key-number-2',
      ]);
    });

    it('on one connection, opened by initialize() and closed by dispose()', async () => {
      await ready();
      await until(() => site?.sockets.length === 1);
      await eventsOf(llm.generate(hi));
      llm.warm();
      await eventsOf(llm.generate(hi));
      expect([site?.requests.length, site?.sockets.length]).toEqual([2, 1]);
      await llm.dispose();
      await until(() => site?.sockets[0]?.destroyed === true);
    });

    it('only messages: a bare text is refused, with an example', async () => {
      const { error } = await outcomeOf((await ready()).generate('Hello' as never));
      const message = "CompatibleLLM: generate() takes messages: [{ role: 'user', content: 'Hello' }]";
      expect(error).toMatchObject({ code: 'configuration', message });
      expect(site?.requests).toHaveLength(0);
    });

    it('nothing before it is initialized, and nothing when it is subscribed to by nobody', async () => {
      const early = new CompatibleLLM({ endpoint: site?.url ?? '', model: 'm' });
      expect((await outcomeOf(early.generate(hi))).error).toMatchObject({ code: 'not_ready' });
      const answer$ = (await ready()).generate(hi);
      await until(() => true);
      expect(site?.requests).toHaveLength(0);
      expect(await eventsOf(answer$)).toHaveLength(3);
    });
  });

  describe('refuses to be initialized', () => {
    const rows: readonly [string, object, RegExp][] = [
      ['without an address', { model: 'm' }, /needs an address: set endpoint or proxyUrl/],
      ['without a model', { endpoint: 'http://127.0.0.1:9' }, /model is missing/],
      ['with an address that is none', { endpoint: 'llm', model: 'm' }, /must be an https:\/\/ URL/],
      [
        'with a temperature of 3',
        { endpoint: 'http://127.0.0.1:9', model: 'm', temperature: 3 },
        /temperature must be/,
      ],
      ['with no tokens', { endpoint: 'http://127.0.0.1:9', model: 'm', maxTokens: 0 }, /maxTokens must be/],
      ['with a credential in the clear', { endpoint: 'http://example.com', model: 'm', apiKey: 'k' }, /unencrypted/],
    ];
    for (const [name, config, message] of rows) {
      it(name, async () => {
        const unready = new CompatibleLLM(config as CompatibleLLMConfig);
        let failure: unknown;
        await unready.initialize().catch((error: unknown) => (failure = error));
        expect(failure).toMatchObject({ name: 'ProviderInitializationError', provider: 'CompatibleLLM' });
        expect((failure as Error).message).toMatch(message);
      });
    }
  });

  describe('reads', () => {
    const weather = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"ci' } };
    const rest = { index: 0, function: { arguments: 'ty":"Paris"}' } };
    const call = {
      ...{ type: 'tool-call', id: 'call_1', name: 'get_weather' },
      ...{ args: { city: 'Paris' }, argsText: '{"city":"Paris"}' },
    };
    const whole = { id: 'x', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } };
    const rows: readonly [string, readonly string[], readonly unknown[]][] = [
      [
        "OpenAI's session",
        [...hello, stop, data({ id: 'c1', choices: [], usage }), data(done)],
        [token('Hello'), token(' there!'), ended('stop', { usage: counted })],
      ],
      [
        "Groq's session",
        [
          chunk({ role: 'assistant', content: '' }, null, { x_groq: { id: 'req_01' } }),
          ': keep-alive comment\n\n',
          chunk({ reasoning: 'Greet.' }),
          chunk({ content: 'Hello!' }),
          chunk({}, 'stop', { x_groq: { id: 'req_01', usage } }),
          data(done),
        ],
        [token('Hello!'), ended('stop', { usage: counted })],
      ],
      [
        'a tool turn',
        [
          chunk({ role: 'assistant', content: 'One moment.' }),
          chunk({ tool_calls: [weather] }),
          chunk({ tool_calls: [rest] }),
          chunk({}, 'tool_calls'),
          data(done),
        ],
        [token('One moment.'), call, ended('tool-calls')],
      ],
      [
        'no choices, or none with index 0',
        [
          data({}),
          data({ choices: [] }),
          data({ choices: [{ index: 1, delta: { content: 'x' } }] }),
          ...hello,
          stop,
          data(done),
        ],
        [token('Hello'), token(' there!'), ended('stop')],
      ],
      [
        'null deltas and contents',
        [
          chunk(null),
          chunk({ content: null }),
          chunk({ role: '', content: '' }),
          chunk({ role: null }),
          chunk({ content: 'a' }),
          stop,
        ],
        [token('a'), ended('stop')],
      ],
      [
        'content in parts, of which some are thoughts (Mistral)',
        [
          chunk({
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
              { type: 'text', text: 'a' },
              { type: 'text', text: 'b' },
            ],
          }),
          stop,
        ],
        [token('ab'), ended('stop')],
      ],
      [
        'reasoning_content (llama.cpp)',
        [chunk({ reasoning_content: 'Hm' }), chunk({ content: 'a' }), stop],
        [token('a'), ended('stop')],
      ],
      [
        '<think> in the content, cut anywhere',
        '<think>Hm</think>a'
          .split('')
          .map((content) => chunk({ content }))
          .concat(stop),
        [token('a'), ended('stop')],
      ],
      ['a refusal, which is spoken', [chunk({ refusal: 'I cannot.' }), stop], [token('I cannot.'), ended('filtered')]],
      ['a refusal that is no string', [chunk({ refusal: { a: 1 }, content: 'a' }), stop], [token('a'), ended('stop')]],
      [
        'calls although the reason says stop (Gemini)',
        [chunk({ tool_calls: [whole] }), stop, data(done)],
        [{ ...call, id: 'x' }, ended('tool-calls')],
      ],
      [
        'a call that was cut by the limit',
        [chunk({ content: 'a', tool_calls: [weather] }), chunk({}, 'length')],
        [token('a'), ended('length')],
      ],
      [
        'a call whose arguments are no JSON',
        [chunk({ tool_calls: [weather] }), chunk({}, 'tool_calls')],
        [{ ...call, args: undefined, argsText: '{"ci' }, ended('tool-calls')],
      ],
      ...Object.entries({
        length: 'length',
        model_length: 'length',
        content_filter: 'filtered',
        function_call: 'stop',
        eos: 'stop',
        abort: 'stop',
        '': 'stop',
      }).map(([reason, finish]): [string, string[], unknown[]] => [
        `the reason "${reason}"`,
        [chunk({ content: 'a' }), chunk({}, reason)],
        [token('a'), ended(finish)],
      ]),
      [
        'the reason "" all along, and the true one in between',
        [chunk({ content: 'a' }, ''), chunk({}, 'length'), chunk({}, ''), data(done)],
        [token('a'), ended('length')],
      ],
      [
        'usage on every chunk, the last of which counts',
        [
          chunk({ content: 'a' }, null, { usage: { prompt_tokens: 14, completion_tokens: 1 } }),
          chunk({}, 'stop', { usage }),
        ],
        [token('a'), ended('stop', { usage: counted })],
      ],
      [
        'usage that is null, or holds no numbers',
        [chunk({ content: 'a' }, null, { usage: null }), chunk({}, 'stop', { usage: { prompt_tokens: '3' } })],
        [token('a'), ended('stop')],
      ],
      ['no [DONE]', [...hello, stop], [token('Hello'), token(' there!'), ended('stop')]],
      ['[DONE] without a reason', [...hello, data(done)], [token('Hello'), token(' there!'), ended('stop')]],
      [
        'nothing after [DONE]',
        [...hello, stop, data(done), chunk({ content: 'more' }), data({ error: 'late' })],
        [token('Hello'), token(' there!'), ended('stop')],
      ],
      [
        'a last event without its blank line',
        [...hello, stop.trimEnd()],
        [token('Hello'), token(' there!'), ended('stop')],
      ],
      [
        'comments (OpenRouter)',
        [': OPENROUTER PROCESSING\n\n', ...hello, stop],
        [token('Hello'), token(' there!'), ended('stop')],
      ],
      [
        'keys that it does not know',
        [chunk({ content: 'a', x: 1 }, 'stop', { timings: {}, obfuscation: 'x', provider: 'p' })],
        [token('a'), ended('stop')],
      ],
      [
        'garbage between the events, each skipped (F11, F24)',
        [
          data('{'),
          data('null'),
          data('[]'),
          data('1'),
          data('"x"'),
          data('{"choices":7}'),
          data('{"choices":[null,{"delta":7}]}'),
          data('{"__proto__":{"a":1}}'),
          chunk({ content: 'a' }),
          stop,
        ],
        [token('a'), ended('stop')],
      ],
      ['an answer without words', [stop, data(done)], [ended('stop')]],
    ];
    for (const [name, body, expected] of rows) {
      it(name, async () => {
        const { events, error } = await read(body);
        expect(error).toBeUndefined();
        expect(events).toEqual(expected);
      });
    }

    it('the same from a body that comes byte by byte (F22)', async () => {
      const bytes = Buffer.from(
        [...hello, chunk({ content: ' – 👋' }), stop, data(done)].join('').replaceAll('\n', '\r\n'),
      );
      site = await serve((response) => {
        const write = (at: number): void => {
          if (at === bytes.length) response.end();
          else stream(response).write(bytes.subarray(at, at + 1), () => setImmediate(write, at + 1));
        };
        write(0);
      });
      expect((await outcomeOf((await ready()).generate(hi))).text).toBe('Hello there! – 👋');
    });

    it('a whole completion from a service that does not stream', async () => {
      const message = { role: 'assistant', content: 'Hello', tool_calls: [whole] };
      const json = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
      site = await serve((response) => response.setHeader('Content-Type', 'application/json; charset=utf-8').end(json));
      expect(await eventsOf((await ready()).generate(hi))).toEqual([
        token('Hello'),
        { ...call, id: 'x' },
        ended('tool-calls', { usage: counted }),
      ]);
    });

    it('a call that a small model writes as text, and does not speak it', async () => {
      const options = { tools: [{ name: 'get_weather' }] };
      const written = '{"name":"get_weather","arguments":{"city":"Paris"}}'.match(/.{1,7}/g) ?? [];
      const body = [...written.map((content) => chunk({ content })), stop];
      const { events } = await read(body, options);
      expect(events).toEqual([{ ...call, id: expect.stringMatching(/^call_\w+$/) as string }, ended('tool-calls')]);
      expect((await read(body)).text).toBe(written.join(''));
      expect(await read([chunk({ content: '{"name":"get_w' }), chunk({}, 'length')], options)).toMatchObject({
        events: [ended('length')],
      });
      expect((await read([chunk({ content: '{Laughs} Sure.' }), stop], options)).text).toBe('{Laughs} Sure.');
    });
  });

  describe('fails', () => {
    const server = { message: 'Internal error', type: 'server_error', code: 500 };
    const rows: readonly [string, readonly string[], object][] = [
      [
        'on an error in the stream, although [DONE] follows (vLLM)',
        [chunk({ content: 'Hel' }), data({ error: server }), data(done)],
        { code: 'server', status: 500, recoverable: true },
      ],
      ['on an error as text', [chunk({ content: 'Hel' }), data({ error: 'boom' })], { code: 'server' }],
      [
        'on an error event (SSE)',
        [`event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n`],
        { code: 'overloaded', recoverable: true },
      ],
      [
        'on an error event that is plain text',
        ['event: error\ndata: out of memory\n\n'],
        { code: 'server', cause: new Error('out of memory') },
      ],
      [
        "on OpenRouter's error in mid-stream",
        [
          data({
            error: { code: 429, message: 'Rate limited' },
            choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
          }),
        ],
        { code: 'rate_limited', status: 429 },
      ],
      [
        "on Gemini's error in an array",
        [data([{ error: { code: 503, status: 'UNAVAILABLE', message: 'Busy' } }])],
        { code: 'overloaded', status: 503 },
      ],
      [
        'on x_groq.error',
        [chunk({ content: 'Hel' }, null, { x_groq: { error: 'over capacity' } })],
        { code: 'server' },
      ],
      [
        'on a quota that is used up, for good',
        [data({ error: { message: 'm', code: 'insufficient_quota' } })],
        { code: 'quota', recoverable: false },
      ],
      ...Object.entries({
        invalid_request_error: ['configuration', false],
        context_length_exceeded: ['configuration', false],
        authentication_error: ['unauthorized', false],
        invalid_api_key: ['unauthorized', false],
        permission_error: ['forbidden', false],
        billing_error: ['quota', false],
        not_found_error: ['not_found', false],
        model_not_found: ['not_found', false],
        rate_limit_error: ['rate_limited', true],
        rate_limit_exceeded: ['rate_limited', true],
        server_is_overloaded: ['overloaded', true],
        timeout_error: ['timeout', true],
        server_error: ['server', true],
        tool_use_failed: ['server', true],
      }).map(([type, [code, recoverable]]): [string, string[], object] => [
        `on ${type} in the stream`,
        [chunk({ content: 'Hel' }), data({ error: { message: 'm', type } })],
        { code, recoverable },
      ]),
      [
        'on an account without funds (OpenRouter), whose code is a number',
        [data({ error: { code: 402, message: 'Insufficient credits', metadata: {} } })],
        { code: 'quota', status: 402, recoverable: false },
      ],
      ['on the reason "error"', [chunk({ content: 'Hel' }), chunk({}, 'error'), data(done)], { code: 'server' }],
      ['on a stream that ends before its answer (F20)', hello, { code: 'connection', recoverable: true }],
      ['on an empty stream', [], { code: 'connection', recoverable: true }],
      [
        'on an answer without end',
        Array.from({ length: 20 }, () => chunk({ content: 'x'.repeat(1_000_000) })),
        { code: 'overflow', recoverable: false },
      ],
      [
        'on a line without end (F23)',
        [...hello, `data: ${'x'.repeat(1_100_000)}`],
        { code: 'overflow', recoverable: false },
      ],
    ];
    for (const [name, body, expected] of rows) {
      it(name, async () => {
        const { error } = await read(body);
        expect(error).toMatchObject({ provider: 'CompatibleLLM', ...expected });
      });
    }

    it('keeps what was said before', async () => {
      expect((await read([...hello, data({ error: server })])).text).toBe('Hello there!');
    });

    it('on an answer that is no event stream, and says what it is (F24)', async () => {
      site = await serve((response) => response.setHeader('Content-Type', 'text/html').end('<html>'));
      const { error } = await outcomeOf((await ready()).generate(hi));
      expect(error).toMatchObject({ code: 'protocol', recoverable: false });
      expect(error?.message).toContain('expected an event stream, got text/html');
      expect(site.requests).toHaveLength(1);
    });

    it('on JSON that is no completion', async () => {
      site = await serve((response) => response.setHeader('Content-Type', 'application/json').end('{"ok":true}'));
      expect((await outcomeOf((await ready({ maxRetries: 0 })).generate(hi))).error).toMatchObject({
        code: 'connection',
      });
    });

    const refusals: readonly [number, object, object][] = [
      [400, { error: { message: 'No.', type: 'invalid_request_error', code: null } }, { code: 'configuration' }],
      [
        400,
        [
          {
            error: {
              code: 400,
              message: 'API key not valid.',
              status: 'INVALID_ARGUMENT',
              details: [{ reason: 'API_KEY_INVALID' }],
            },
          },
        ],
        { code: 'unauthorized' },
      ],
      [
        401,
        { error: { message: 'Incorrect API key', type: 'invalid_request_error', code: null } },
        { code: 'unauthorized' },
      ],
      [404, { error: { message: 'model "x" not found', type: 'not_found_error' } }, { code: 'not_found' }],
      [402, { error: { code: 402, message: 'Insufficient credits' } }, { code: 'quota' }],
      [403, { error: { message: 'Country not supported', code: 'unsupported_country' } }, { code: 'forbidden' }],
      ...[405, 413, 422, 424].map((status): [number, object, object] => [
        status,
        { error: { message: 'No.', type: 'invalid_request_error', code: null } },
        {},
      ]),
      [429, { error: { message: 'You exceeded your quota', code: 'insufficient_quota' } }, { code: 'quota' }],
    ];
    for (const [status, body, expected] of refusals) {
      it(`once and for good on ${status} ${JSON.stringify(body).slice(0, 80)} (F17)`, async () => {
        site = await serve((response) => response.writeHead(status).end(JSON.stringify(body)));
        const { error } = await outcomeOf((await ready()).generate(hi));
        expect(error).toMatchObject({ ...expected, recoverable: false, status });
        expect(site.requests).toHaveLength(1);
      });
    }

    it('without showing the credential anywhere (F50)', async () => {
      const apiKey = 'canary-0123456789';
      site = await serve((response) => response.writeHead(401).end(`{"error":{"message":"Bad key ${apiKey}"}}`));
      const logger = listeningLogger();
      const { error } = await outcomeOf((await ready({ apiKey }, logger)).generate(hi));
      expect([inspect(error, { depth: 9 }), inspect(llm, { depth: 9 }), ...logger.lines].join()).not.toContain(apiKey);
    });
  });

  describe('retries while nothing was said', () => {
    let clock: TestClock;
    beforeEach(() => {
      clock = new TestClock();
    });

    const run = (): ReturnType<typeof outcomeOf> => passing(clock, outcomeOf(llm.generate(hi)));

    for (const status of [408, 409, 429, 498, 500, 502, 503, 504, 529]) {
      it(`after ${status}, twice within 3 s, then fails; the next turn works (F19)`, async () => {
        site = await serve((response, _request, count) => {
          if (count <= 3) response.writeHead(status).end();
          else stream(response, ...hello, stop).end();
        });
        await ready({ scheduler: clock });
        expect((await run()).error).toMatchObject({ status, recoverable: true });
        expect(site.requests).toHaveLength(3);
        expect(clock.now()).toBeLessThan(3_000);
        expect(await run()).toMatchObject({ text: 'Hello there!' });
      });
    }

    it('waits exactly as long as the service asks (F18)', async () => {
      const times: number[] = [];
      site = await serve((response, _request, count) => {
        times.push(clock.now());
        if (count === 1) response.writeHead(429, { 'Retry-After': '1' }).end();
        else stream(response, ...hello, stop).end();
      });
      const logger = listeningLogger();
      await ready({ scheduler: clock }, logger);
      const told: ConnectionEvent[] = [];
      llm.connection$.subscribe((event) => told.push(event));
      const outcome = outcomeOf(llm.generate(hi));
      await until(() => logger.lines.length === 1);
      expect(logger.lines[0]).toContain('retrying in 1000 ms');
      const error = expect.objectContaining({ code: 'rate_limited', status: 429 }) as VoiceError;
      expect(told).toEqual([{ type: 'reconnecting', attempt: 1, delayMs: 1_000, error }]);
      await clock.advance(999);
      expect(site.requests).toHaveLength(1);
      await clock.advance(1);
      expect(await outcome).toMatchObject({ text: 'Hello there!' });
      expect(times).toEqual([0, 1_000]);
      expect(told.slice(1)).toEqual([{ type: 'connected' }]);
      await run();
      expect(told).toHaveLength(2);
    });

    it('fails at once, with the wait in the error, when it is longer than the turn may take (F18)', async () => {
      site = await serve((response) => response.writeHead(429, { 'Retry-After': '600' }).end());
      await ready({ scheduler: clock });
      const { error } = await outcomeOf(llm.generate(hi));
      expect(error).toMatchObject({ code: 'rate_limited', retryAfterMs: 600_000 });
      expect(error?.message).toContain('asks to wait 600000 ms');
      expect([site.requests.length, clock.now()]).toEqual([1, 0]);
    });

    it('can be aborted in a wait', async () => {
      site = await serve((response) => response.writeHead(429, { 'Retry-After': '5' }).end());
      const logger = listeningLogger();
      await ready({ scheduler: clock }, logger);
      const subscription = llm.generate(hi).subscribe();
      await until(() => logger.lines.length === 1);
      subscription.unsubscribe();
      expect(clock.pending).toBe(0);
      await clock.advance(10_000);
      expect(site.requests).toHaveLength(1);
    });

    it('not after the first token: it would be spoken twice', async () => {
      site = await serve((response) => stream(response, ...hello).end());
      await ready({ scheduler: clock });
      expect(await run()).toMatchObject({ text: 'Hello there!', error: { code: 'connection' } });
      expect(site.requests).toHaveLength(1);
    });

    it('after a drop of the connection, and after an error before the first token', async () => {
      site = await serve((response, _request, count) => {
        if (count === 1) response.destroy();
        else if (count === 2)
          stream(response, chunk({ role: 'assistant', content: '' }), data({ error: { code: 500 } })).end();
        else stream(response, ...hello, stop).end();
      });
      await ready({ scheduler: clock });
      expect(await run()).toMatchObject({ text: 'Hello there!' });
      expect(site.requests).toHaveLength(3);
    });

    it('after a stall, aborting it; any byte puts the stall off (F21)', async () => {
      let ping = (): void => undefined;
      site = await serve((response, _request, count) => {
        if (count === 2) stream(response, ...hello, stop).end();
        else stream(response).flushHeaders();
        if (count === 1) ping = () => stream(response, ': still here\n\n');
      });
      const logger = listeningLogger();
      const listening = new ListeningClock();
      await ready({ scheduler: listening }, logger);
      const outcome = outcomeOf(llm.generate(hi));
      await until(() => logger.responses.length === 1);
      for (let count = 0; count < 2; count++) {
        await listening.advance(9_999);
        await listening.heard(ping);
      }
      await listening.advance(9_999);
      expect(logger.lines).toEqual([]);
      await listening.advance(1);
      await site.requests[0]?.closed;
      expect(logger.lines[0]).toContain('sent nothing more within 10000 ms');
      await listening.advance(600);
      expect(await outcome).toMatchObject({ text: 'Hello there!' });
    });
  });

  it('gives up on a service that only keeps the connection busy', async () => {
    const clock = new ListeningClock();
    const logger = listeningLogger();
    let write = (_line: string): void => undefined;
    site = await serve((response) => {
      stream(response).flushHeaders();
      write = (line) => stream(response, line);
    });
    await ready({ scheduler: clock, maxRetries: 0 }, logger);
    let isOver = false;
    const outcome = outcomeOf(llm.generate(hi)).finally(() => (isOver = true));
    await until(() => logger.responses.length === 1);
    // What the model thinks is something of the model's.
    await clock.advance(5_000);
    await clock.heard(() => write(chunk({ reasoning: 'Hm' })));
    for (let second = 0; second < 30; second += 5) {
      await clock.heard(() => write(chunk({ content: '' })));
      await clock.advance(second === 25 ? 4_999 : 5_000);
    }
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect((await outcome).error).toMatchObject({ code: 'timeout', recoverable: true });
    await site.requests[0]?.closed;
  });

  describe('to unsubscribe is to cancel', () => {
    it('before the answer', async () => {
      site = await serve(() => undefined);
      const subscription = (await ready()).generate(hi).subscribe();
      await until(() => site?.requests.length === 1);
      subscription.unsubscribe();
      await site.requests[0]?.closed;
    });

    it('in mid-answer, without further tokens', async () => {
      let write = (): void => undefined;
      site = await serve((response) => {
        stream(response, ...hello);
        write = () => stream(response, chunk({ content: 'late' }));
      });
      const tokens: string[] = [];
      await ready();
      llm.tokens$.subscribe((text) => tokens.push(text));
      const subscription = llm.generate(hi).subscribe();
      await until(() => tokens.length === 2);
      write();
      subscription.unsubscribe();
      await site.requests[0]?.closed;
      expect(tokens).toEqual(['Hello', ' there!']);
    });

    it('from within a token', async () => {
      site = await serve((response) => stream(response, ...hello));
      await ready();
      const tokens: string[] = [];
      let subscription: Subscription | undefined = undefined;
      subscription = llm.generate(hi).subscribe((event) => {
        tokens.push(event.type);
        subscription?.unsubscribe();
      });
      await site.requests[0]?.closed;
      await until(() => site?.requests.length === 1);
      await site.requests[0]?.closed;
      expect(tokens).toEqual(['token']);
    });

    it('and dispose() ends every answer with an error', async () => {
      site = await serve((response) => stream(response, ...hello));
      await ready();
      const outcome = outcomeOf(llm.generate(hi));
      await firstValueFrom(llm.tokens$);
      await llm.dispose();
      expect((await outcome).error).toMatchObject({ code: 'aborted', provider: 'CompatibleLLM' });
      await site.requests[0]?.closed;
      await until(() => site?.sockets.every((socket) => socket.destroyed) === true);
    });
  });

  it('keeps two answers apart that it gives at once (F62)', async () => {
    const writers: ((line: string) => void)[] = [];
    site = await serve((response) => writers.push((line) => stream(response, line)));
    await ready();
    const all: string[] = [];
    llm.tokens$.subscribe((text) => all.push(text));
    const both = [outcomeOf(llm.generate(hi)), outcomeOf(llm.generate(hi))];
    await until(() => writers.length === 2);
    writers.forEach((write, index) => write(chunk({ content: `${index} ` })));
    await until(() => all.length === 2);
    for (const write of writers) write(stop + data(done));
    const texts = (await Promise.all(both)).map(({ text }) => text).sort();
    expect(texts).toEqual(['0 ', '1 ']);
    expect(all.sort()).toEqual(['0 ', '1 ']);
  });

  it('takes a changed configuration from the next answer on', async () => {
    site = await serve((response) => stream(response, ...hello, stop).end());
    await ready();
    llm.updateConfig({ model: 'other' });
    await eventsOf(llm.generate(hi));
    expect(sent()['model']).toBe('other');
  });

  it('is complete when the connection breaks after the end of the answer', async () => {
    let breakOff = (): void => undefined;
    site = await serve((response) => {
      stream(response, ...hello, stop, data(done));
      breakOff = () => response.destroy();
    });
    await ready({ scheduler: new TestClock() });
    const outcome = outcomeOf(llm.generate(hi).pipe(tap(({ type }) => type === 'done' && breakOff())));
    expect(await outcome).toEqual({
      text: 'Hello there!',
      events: [token('Hello'), token(' there!'), ended('stop')],
    });
  });

  /** What an answer means whose connection breaks once its first words have come. */
  async function broken(...body: readonly string[]): ReturnType<typeof outcomeOf> {
    let breakOff = (): void => undefined;
    site = await serve((response) => {
      stream(response, body.join(''));
      breakOff = () => response.destroy();
    });
    await ready({ maxRetries: 0 });
    return outcomeOf(llm.generate(hi).pipe(tap(({ type }) => type === 'token' && breakOff())));
  }

  it('is complete when the connection breaks between the reason for the end and [DONE]', async () => {
    expect(await broken(chunk({ content: 'Hello' }), stop)).toEqual({
      text: 'Hello',
      events: [token('Hello'), ended('stop')],
    });
  });

  it('has its calls when the connection breaks before [DONE]', async () => {
    const called = { index: 0, id: 'x', type: 'function', function: { name: 'hang_up', arguments: '{}' } };
    const { events } = await broken(
      chunk({ content: 'Bye.' }),
      chunk({ tool_calls: [called] }),
      chunk({}, 'tool_calls', { usage }),
    );
    expect(events.slice(1)).toEqual([
      { type: 'tool-call', id: 'x', name: 'hang_up', args: {}, argsText: '{}' },
      ended('tool-calls', { usage: counted }),
    ]);
  });

  it('is cut off when the connection breaks where only the reason "" has come', async () => {
    const { events, error } = await broken(chunk({ content: 'Hello' }, ''), chunk({ content: ' th' }, ''));
    expect(events.at(-1)?.type).toBe('token');
    expect(error).toMatchObject({ code: 'connection', recoverable: true });
  });

  it('does not let the body that continues hold up the end of the answer', async () => {
    const clock = new TestClock();
    site = await serve((response) => stream(response, ...hello, stop, data(done)));
    await ready({ scheduler: clock });
    const events: LLMEvent[] = [];
    let isComplete = false;
    llm.generate(hi).subscribe({ next: (event) => events.push(event), complete: () => (isComplete = true) });
    await until(() => events.at(-1)?.type === 'done');
    expect(isComplete).toBe(false);
    await clock.advance(100);
    expect(isComplete).toBe(true);
    await site.requests[0]?.closed;
  });
});
