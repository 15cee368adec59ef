import { inspect } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { tap } from 'rxjs';
import type { GenerateOptions, LLMEvent, Message, ToolCall } from '../../../lib/core/messages.ts';
import { MuLLM, type MuLLMConfig } from '../../../lib/providers/llm/mu-llm.ts';
import { serve, until, type Site } from '../../transport/http-fixture.ts';
import { TestClock } from '../../transport/test-clock.ts';
import { eventsOf, ListeningClock, listeningLogger, outcomeOf, passing, stream } from './llm-fixture.ts';

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const apiKey = 'sk-ant-canary-0123456789';
/** An event as the service frames it. */
const event = (json: { readonly type: string }): string => `event: ${json.type}\ndata: ${JSON.stringify(json)}\n\n`;
const start = event({
  ...{ type: 'message_start' },
  ...{
    message: {
      id: 'msg_01',
      type: 'message',
      role: 'assistant',
      content: [],
      usage: { input_tokens: 12, output_tokens: 1 },
    },
  },
});
const block = (index: number, content_block: object): string =>
  event({ type: 'content_block_start', ...{ index, content_block } });
const delta = (index: number, given: object): string =>
  event({ type: 'content_block_delta', ...{ index, delta: given } });
const text = (words: string, index = 0): string => delta(index, { type: 'text_delta', text: words });
const json = (partial_json: string, index: number): string => delta(index, { type: 'input_json_delta', partial_json });
const stopped = (index: number): string => event({ type: 'content_block_stop', ...{ index } });
const end = (stop_reason: string | null, usage: object = { output_tokens: 5 }): string =>
  event({ type: 'message_delta', ...{ delta: { stop_reason, stop_sequence: null }, usage } }) +
  event({ type: 'message_stop' });
const textBlock = block(0, { type: 'text', text: '', citations: null });
const hello = [start, textBlock, event({ type: 'ping' }), text('Hello'), text(' there.'), stopped(0)];
const usage = { inputTokens: 12, outputTokens: 5, totalTokens: 17 };
const token = (words: string): LLMEvent => ({ type: 'token', text: words });
const done = (finishReason: string): unknown => ({ type: 'done', finishReason, usage });

describe('MuLLM', () => {
  let site: Site;
  let llm: MuLLM;
  const logger = listeningLogger();

  beforeEach(async () => {
    logger.lines.length = logger.responses.length = 0;
    llm = new MuLLM({ apiKey });
    site = await serve((response) => stream(response, ...hello, end('end_turn')).end());
  });
  afterEach(async () => {
    await llm.dispose();
    await site.close();
  });

  async function answering(...body: readonly string[]): Promise<void> {
    await site.close();
    site = await serve((response) => stream(response, ...body).end());
  }
  async function ready(config: Partial<MuLLMConfig> = {}): Promise<MuLLM> {
    await llm.dispose();
    llm = new MuLLM({ apiKey, endpoint: site.url, ...config }, logger);
    await llm.initialize();
    return llm;
  }
  const sent = (): Record<string, unknown> => JSON.parse(site.requests.at(-1)?.body ?? '{}') as Record<string, unknown>;
  async function asked(config: Partial<MuLLMConfig>, options: GenerateOptions = {}, messages = hi): Promise<object> {
    await eventsOf((await ready(config)).generate(messages, options));
    return sent();
  }

  it('speaks its session', async () => {
    await ready({ systemPrompt: 'Be brief.' });
    expect(await eventsOf(llm.generate(hi))).toEqual([token('Hello'), token(' there.'), done('stop')]);
    expect(site.requests[0]).toMatchObject({ method: 'POST', url: '/v1/messages' });
    expect(site.requests[0]?.headers).toMatchObject({
      ...{ authorization: `Bearer ${apiKey}`, 'anthropic-version': '2026-10-21', 'content-type': 'application/json' },
      'anthropic-dangerous-direct-browser-access': 'true',
    });
    expect(sent()).toEqual({
      ...{ model: 'claude-haiku-5-5', max_tokens: 1024, system: 'Be brief.', thinking: { type: 'disabled' } },
      ...{ messages: hi, stream: true },
    });
  });

  it('sends what the official client sends', async () => {
    await eventsOf((await ready()).generate(hi));
    const body = { ...(sent() as unknown as Anthropic.MessageCreateParamsStreaming), stream: true as const };
    const official = new Anthropic({ apiKey, baseURL: site.url, dangerouslyAllowBrowser: true, maxRetries: 0 });
    const events: unknown[] = [];
    for await (const each of await official.messages.create(body)) events.push(each);
    expect(events).toHaveLength(7);
    // What belongs to a connection is the transport's.
    const transport =
      /^(connection|accept-encoding|accept-language|sec-fetch-mode|transfer-encoding|host|content-length)$/;
    const [ours, theirs] = site.requests.map(({ headers, ...request }) => ({
      ...{ method: request.method, url: request.url, body: JSON.parse(request.body) as unknown },
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !transport.test(name))),
    }));
    expect(ours).toEqual(theirs);
  });

  it('sends no credential to a proxy, under its prefix', async () => {
    await ready({ proxyUrl: `${site.url}/api/proxy/mu/` });
    await eventsOf(llm.generate(hi));
    expect(site.requests[0]?.url).toBe('/api/proxy/mu/v1/messages');
    expect(site.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(site.requests[0]?.headers).not.toHaveProperty('x-api-key');
    expect(site.requests[0]?.headers['anthropic-version']).toBe('2026-10-21');
  });

  it('asks for a fresh credential each time', async () => {
    let count = 0;
    await ready({ apiKey: () => Promise.resolve(`key-number-${++count}`) });
    await eventsOf(llm.generate(hi));
    await eventsOf(llm.generate(hi));
    expect(site.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer key-number-1',
      'Bearer key-number-2',
    ]);
  });

  it('has its own address, and needs a credential or a proxy', async () => {
    llm = new MuLLM({});
    expect(llm.resolveBaseUrl()).toBe('https://api.anthropic.com');
    let failure: unknown;
    await llm.initialize().catch((error: unknown) => (failure = error));
    expect(failure).toMatchObject({ name: 'ProviderInitializationError', provider: 'MuLLM' });
  });

  describe('asks', () => {
    it('each model for as little thought as it permits', async () => {
      expect(await asked({ model: 'claude-sonnet-5-5' })).toMatchObject({
        ...{ thinking: { type: 'between_tools' }, output_config: { effort: 'low' } },
      });
      const opus = await asked({ model: 'claude-opus-5-5' });
      expect(opus).toMatchObject({ output_config: { effort: 'low' } });
      expect(opus).not.toHaveProperty('thinking');
      const older = await asked({ model: 'claude-haiku-4-5' });
      expect([Object.keys(older).includes('thinking'), Object.keys(older).includes('output_config')]).toEqual([
        false,
        false,
      ]);
      const told = { thinking: { type: 'adaptive' }, effort: 'high' } as const;
      expect(await asked(told)).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } });
    });

    it("with one generation's own fields", async () => {
      const body = await asked({}, { extraBody: { metadata: { user_id: 'u' } } });
      expect(body).toMatchObject({ metadata: { user_id: 'u' } });
    });

    it('with limits and stops, and without a temperature, which it says once', async () => {
      const body = await asked({ maxTokens: 9, stopSequences: ['\n\nUser:', ' '] }, { temperature: 0.5 });
      expect(body).toMatchObject({ max_tokens: 9, stop_sequences: ['\n\nUser:'] });
      expect(body).not.toHaveProperty('temperature');
      await eventsOf(llm.generate(hi, { temperature: 0.5, maxTokens: 7 }));
      expect(sent()).toMatchObject({ max_tokens: 7 });
      expect(logger.lines).toEqual(['MuLLM: the service does not support temperature; it was left out']);
    });

    const tools = [
      { name: 'get_weather', description: 'Weather', parameters: { type: 'object', properties: { city: {} } } },
      { name: 'hang_up' },
    ];
    it('with tools and the choice that is made', async () => {
      const choices: readonly [GenerateOptions['toolChoice'] | undefined, unknown][] = [
        [undefined, undefined],
        ['auto', { type: 'auto' }],
        ['required', { type: 'any' }],
        ['none', { type: 'none' }],
        [{ name: 'hang_up' }, { type: 'tool', name: 'hang_up' }],
      ];
      for (const [toolChoice, expected] of choices) {
        const body = await asked({}, { tools, ...(toolChoice && { toolChoice }) });
        expect(Reflect.get(body, 'tool_choice')).toEqual(expected);
      }
      expect(sent()['tools']).toEqual([
        { name: 'get_weather', description: 'Weather', input_schema: tools[0]?.parameters },
        { name: 'hang_up', input_schema: { type: 'object', properties: {} } },
      ]);
      expect(await asked({}, { tools: [], toolChoice: 'required' })).not.toHaveProperty('tool_choice');
    });

    it('models that choose freely to choose freely', async () => {
      const body = await asked({ model: 'claude-opus-5-5' }, { tools, toolChoice: 'required' });
      expect(body).toMatchObject({ tool_choice: { type: 'auto' } });
      expect(logger.lines.join()).toContain('claude-opus-5-5 cannot be forced to call a tool');
    });

    const call = (id: string, city: string, more: object = {}): ToolCall => ({
      ...{ id, name: 'get_weather', args: { city }, argsText: JSON.stringify({ city }), ...more },
    });
    it('with calls, and all their results at the beginning of one turn', async () => {
      const messages: Message[] = [
        { role: 'user', content: 'Weather in Paris and Rome?' },
        { role: 'assistant', content: 'Let me check.', toolCalls: [call('toolu_01', 'Paris'), call('call.2', 'Rome')] },
        { role: 'tool', toolCallId: 'call.2', content: 'Timed out.', isError: true },
        { role: 'tool', toolCallId: 'toolu_01', content: '{"c":18}' },
        { role: 'system', content: 'Hurry.' },
        { role: 'user', content: 'Well?' },
      ];
      expect(await asked({}, { tools }, messages)).toMatchObject({
        messages: [
          { role: 'user', content: 'Weather in Paris and Rome?' },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'Let me check.' },
              { type: 'tool_use', id: 'toolu_01', name: 'get_weather', input: { city: 'Paris' } },
              { type: 'tool_use', id: 'call_2', name: 'get_weather', input: { city: 'Rome' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'toolu_01', content: '{"c":18}' },
              { type: 'tool_result', tool_use_id: 'call_2', content: 'Timed out.', is_error: true },
              { type: 'text', text: 'Hurry.' },
              { type: 'text', text: 'Well?' },
            ],
          },
        ],
      });
    });

    it('with the repair of a call that was interrupted, and its tool declared', async () => {
      const messages: Message[] = [
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: '', toolCalls: [call('toolu_01', 'Paris')] },
        { role: 'user', content: 'Stop' },
      ];
      const body = await asked({}, {}, messages);
      expect(Reflect.get(body, 'messages')).toContainEqual({
        role: 'user',
        content: [
          {
            ...{ type: 'tool_result', tool_use_id: 'toolu_01', is_error: true },
            content: 'Cancelled: the user interrupted.',
          },
          { type: 'text', text: 'Stop' },
        ],
      });
      expect(body).toMatchObject({
        tools: [{ name: 'get_weather', input_schema: { type: 'object', properties: {} } }],
        tool_choice: { type: 'none' },
      });
    });

    it('with the thoughts before its calls while they are being answered, and not after', async () => {
      const thought = { type: 'thinking', thinking: 'Hm', signature: 's' };
      const turn: Message[] = [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [call('a', 'Paris', { providerExtras: { thinking: [thought] } })],
        },
        { role: 'tool', toolCallId: 'a', content: 'sunny' },
      ];
      expect(JSON.stringify(await asked({}, { tools }, turn))).toContain(
        '[{"type":"thinking","thinking":"Hm","signature":"s"},',
      );
      const next: Message[] = [...turn, { role: 'assistant', content: 'Sunny.' }, { role: 'user', content: 'Thanks' }];
      expect(JSON.stringify(await asked({}, { tools }, next))).not.toContain('"thinking":"Hm"');
    });

    it('on one connection, opened by initialize() and closed by dispose()', async () => {
      await ready();
      await until(() => site.sockets.length === 1);
      await eventsOf(llm.generate(hi));
      await eventsOf(llm.generate(hi));
      expect([site.requests.length, site.sockets.length]).toEqual([2, 1]);
      await llm.dispose();
      await until(() => site.sockets[0]?.destroyed === true);
    });
  });

  describe('reads', () => {
    const weather = block(1, {
      type: 'tool_use',
      id: 'toolu_01',
      name: 'get_weather',
      input: {},
      caller: { type: 'direct' },
    });
    const call = {
      type: 'tool-call',
      id: 'toolu_01',
      name: 'get_weather',
      args: { city: 'Paris' },
      argsText: '{"city": "Paris"}',
    };
    const thinking = [
      block(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
      delta(0, { type: 'signature_delta', signature: 's' }),
      stopped(0),
    ];
    const rows: readonly [string, readonly string[], readonly unknown[]][] = [
      [
        'a tool turn',
        [
          start,
          textBlock,
          text('One moment.'),
          stopped(0),
          weather,
          json('', 1),
          json('{"city": "Pa', 1),
          json('ris"}', 1),
          stopped(1),
          end('tool_use'),
        ],
        [token('One moment.'), call, done('tool-calls')],
      ],
      [
        'calls without arguments',
        [
          start,
          weather,
          stopped(1),
          block(2, { type: 'tool_use', id: 'b', name: 'f', input: {} }),
          json('', 2),
          stopped(2),
          end('tool_use'),
        ],
        [
          { ...call, args: {}, argsText: '{}' },
          { type: 'tool-call', id: 'b', name: 'f', args: {}, argsText: '{}' },
          done('tool-calls'),
        ],
      ],
      [
        'arguments that are no JSON',
        [start, weather, json('{"ci', 1), stopped(1), end('tool_use')],
        [{ ...call, args: undefined, argsText: '{"ci' }, done('tool-calls')],
      ],
      ['a call that was cut by the limit', [start, weather, json('{"ci', 1), end('max_tokens')], [done('length')]],
      ['a refusal, also of a call', [start, weather, json('{}', 1), end('refusal')], [done('filtered')]],
      [
        'thoughts, which are not spoken',
        [start, ...thinking, block(1, { type: 'text', text: '' }), text('Hello', 1), end('end_turn')],
        [token('Hello'), done('stop')],
      ],
      [
        'thoughts before a call, which are kept with it',
        [
          start,
          ...thinking,
          block(2, { type: 'redacted_thinking', data: 'd' }),
          weather,
          json('{"city": "Paris"}', 1),
          end('tool_use'),
        ],
        [
          {
            ...call,
            providerExtras: {
              thinking: [
                { type: 'thinking', thinking: 'Hm', signature: 's' },
                { type: 'redacted_thinking', data: 'd' },
              ],
            },
          },
          done('tool-calls'),
        ],
      ],
      ...Object.entries({
        end_turn: 'stop',
        stop_sequence: 'stop',
        pause_turn: 'stop',
        max_tokens: 'length',
        model_context_window_exceeded: 'length',
        refusal: 'filtered',
        new_reason: 'stop',
      }).map(([reason, finish]): [string, string[], unknown[]] => [
        `the reason ${reason}`,
        [start, textBlock, text('a'), end(reason)],
        [token('a'), done(finish)],
      ]),
      [
        'usage in which some numbers are null',
        [start, textBlock, text('a'), end('end_turn', { output_tokens: 5, input_tokens: null })],
        [token('a'), done('stop')],
      ],
      [
        'text in the beginning of a block',
        [start, block(0, { type: 'text', text: 'a' }), text('b'), end('end_turn')],
        [token('a'), token('b'), done('stop')],
      ],
      [
        'events, blocks and deltas that it does not know',
        [
          start,
          event({ type: 'new_event' }),
          block(0, { type: 'new_block' }),
          delta(0, { type: 'new_delta', text: 'x' }),
          textBlock,
          delta(0, { type: 'citations_delta', citation: {} }),
          text('a'),
          end('end_turn'),
        ],
        [token('a'), done('stop')],
      ],
      [
        'garbage between the events, each skipped (F11, F24)',
        [
          start,
          'data: {\n\n',
          'data: null\n\n',
          'data: [1]\n\n',
          'data: {"type":"constructor"}\n\n',
          'data: {"type":"content_block_delta","index":"x","delta":7}\n\n',
          textBlock,
          text('a'),
          end('end_turn'),
        ],
        [token('a'), done('stop')],
      ],
      [
        'nothing after its end',
        [start, textBlock, text('a'), end('end_turn'), text('late')],
        [token('a'), done('stop')],
      ],
    ];
    for (const [name, body, expected] of rows) {
      it(name, async () => {
        await answering(...body);
        expect(await eventsOf((await ready({ maxRetries: 0 })).generate(hi))).toEqual(expected);
      });
    }
  });

  describe('fails', () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const rows: readonly [string, readonly string[], object][] = [
      [
        'on an error in the stream',
        [...hello.slice(0, 4), event(overloaded)],
        { code: 'overloaded', recoverable: true, cause: new Error('Overloaded') },
      ],
      ['on an error without an event name', [`data: ${JSON.stringify(overloaded)}\n\n`], { code: 'overloaded' }],
      ['on a stream that ends before message_stop (F20)', hello, { code: 'connection', recoverable: true }],
      ['on an empty stream', [], { code: 'connection' }],
      ['on a line without end (F23)', [start, `data: ${'x'.repeat(1_100_000)}`], { code: 'overflow' }],
    ];
    for (const [name, body, expected] of rows) {
      it(name, async () => {
        await answering(...body);
        const { error } = await outcomeOf((await ready({ maxRetries: 0 })).generate(hi));
        expect(error).toMatchObject({ provider: 'MuLLM', ...expected });
      });
    }

    it('on an answer that is no event stream (F24)', async () => {
      await site.close();
      site = await serve((response) => response.setHeader('Content-Type', 'application/json').end('{}'));
      const { error } = await outcomeOf((await ready()).generate(hi));
      expect(error).toMatchObject({ code: 'protocol' });
      expect(error?.message).toContain('expected an event stream, got application/json');
    });

    const refusals: readonly [number, string, string, boolean][] = [
      [400, '{"type":"invalid_request_error","message":"m"}', 'configuration', false],
      [401, '{"type":"authentication_error","message":"invalid x-api-key"}', 'unauthorized', false],
      [402, '{"type":"billing_error","message":"m"}', 'quota', false],
      [403, '{"type":"permission_error","message":"m"}', 'forbidden', false],
      [404, '{"type":"not_found_error","message":"m"}', 'not_found', false],
      [413, '{"type":"request_too_large","message":"m"}', 'configuration', false],
      [
        429,
        '{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}}',
        'quota',
        false,
      ],
      [
        429,
        '{"type":"rate_limit_error","message":"m","details":{"error_code":"ramp_limit_exceeded"}}',
        'rate_limited',
        true,
      ],
      [409, '{"type":"conflict_error","message":"m"}', 'server', true],
      [500, '{"type":"api_error","message":"m"}', 'server', true],
      [504, '{"type":"timeout_error","message":"m"}', 'server', true],
      [529, '{"type":"overloaded_error","message":"m"}', 'overloaded', true],
    ];
    for (const [status, error, code, recoverable] of refusals) {
      it(`on ${status} ${error}: ${recoverable ? 'after two more tries' : 'at once'} (F17, F19)`, async () => {
        await site.close();
        site = await serve((response) => {
          const body = `{"type":"error","error":${error},"request_id":"req_012"}`;
          response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
        });
        const scheduler = new TestClock();
        await ready({ scheduler });
        const outcome = await passing(scheduler, outcomeOf(llm.generate(hi)));
        expect(outcome.error).toMatchObject({ code, recoverable, status, provider: 'MuLLM' });
        expect(site.requests).toHaveLength(recoverable ? 3 : 1);
        expect(
          [inspect(outcome.error, { depth: 9 }), inspect(llm, { depth: 9 }), ...logger.lines].join(),
        ).not.toContain(apiKey);
      });
    }

    it('not for good when the next try works', async () => {
      await site.close();
      site = await serve((response, _request, count) => {
        if (count === 1) response.destroy();
        else stream(response, ...hello, end('end_turn')).end();
      });
      const scheduler = new TestClock();
      await ready({ scheduler });
      expect(await passing(scheduler, outcomeOf(llm.generate(hi)))).toMatchObject({ text: 'Hello there.' });
    });

    it('at a redirect, which never gets the credential (F47)', async () => {
      const other = await serve((response) => response.end());
      await site.close();
      site = await serve((response) => response.writeHead(307, { Location: other.url }).end());
      const { error } = await outcomeOf((await ready()).generate(hi));
      expect(error).toMatchObject({ code: 'configuration', status: 307 });
      expect(other.requests).toHaveLength(0);
      await other.close();
    });

    it('when it stalls; a ping puts the stall off (F21)', async () => {
      await site.close();
      let write = (_line: string): void => undefined;
      site = await serve((response) => {
        stream(response).flushHeaders();
        write = (line) => stream(response, line);
      });
      const scheduler = new ListeningClock();
      await ready({ scheduler });
      const outcome = outcomeOf(llm.generate(hi));
      await until(() => logger.responses.length === 1);
      for (const line of [...hello, event({ type: 'ping' })]) {
        await scheduler.heard(() => write(line));
        await scheduler.advance(4_000);
      }
      await scheduler.advance(6_000);
      expect(await outcome).toMatchObject({ text: 'Hello there.', error: { code: 'timeout', recoverable: true } });
      expect(scheduler.now()).toBe(34_000);
      await site.requests[0]?.closed;
    });
  });

  it('is complete when the connection breaks between the reason for the end and message_stop', async () => {
    await site.close();
    let breakOff = (): void => undefined;
    site = await serve((response) => {
      const reason = end('end_turn').replace(event({ type: 'message_stop' }), '');
      stream(response, [...hello, reason].join(''));
      breakOff = () => response.destroy();
    });
    await ready({ maxRetries: 0 });
    const answer$ = llm.generate(hi).pipe(tap(({ type }) => type === 'token' && breakOff()));
    expect(await outcomeOf(answer$)).toEqual({
      text: 'Hello there.',
      events: [token('Hello'), token(' there.'), done('stop')],
    });
  });

  it('aborts down to the socket when it is unsubscribed, before the answer and in it', async () => {
    await site.close();
    site = await serve((response, _request, count) => {
      if (count === 2) stream(response, ...hello);
    });
    await ready();
    const tokens: string[] = [];
    llm.tokens$.subscribe((words) => tokens.push(words));
    for (let count = 1; count <= 2; count++) {
      const subscription = llm.generate(hi).subscribe();
      await until(() => site.requests.length === count && tokens.length === (count - 1) * 2);
      subscription.unsubscribe();
      await site.requests[count - 1]?.closed;
    }
    expect(tokens).toEqual(['Hello', ' there.']);
  });
});
