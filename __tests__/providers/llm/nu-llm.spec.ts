import type { Message } from '../../../lib/core/messages.ts';
import { NuLLM, type NuLLMConfig } from '../../../lib/providers/llm/nu-llm.ts';
import { serve, type Site } from '../../transport/http-fixture.ts';
import { TestClock } from '../../transport/test-clock.ts';
import { eventsOf, listeningLogger, outcomeOf, passing, stream } from './llm-fixture.ts';

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const successor = 'openai/gpt-oss-20b';
const answer = [
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"x_groq":{"id":"req_01"}}',
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"reasoning":"Greet."},"finish_reason":null}]}',
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"content":"Hello!"},"finish_reason":null}]}',
  '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_01","usage":{"prompt_tokens":9,"completion_tokens":8,"total_tokens":17}}}',
  '[DONE]',
].map((data) => `data: ${data}\n\n`);

describe('NuLLM', () => {
  let site: Site;
  let llm: NuLLM;
  const logger = listeningLogger();

  beforeEach(async () => {
    logger.lines.length = 0;
    llm = new NuLLM({});
    site = await serve((response) => stream(response, ...answer).end());
  });
  afterEach(async () => {
    await llm.dispose();
    await site.close();
  });

  async function ready(config: NuLLMConfig = {}): Promise<NuLLM> {
    await llm.dispose();
    llm = new NuLLM({ apiKey: 'gsk_x-test-key', endpoint: `${site.url}/openai/v1`, ...config }, logger);
    await llm.initialize();
    return llm;
  }
  const sent = (): Record<string, unknown> => JSON.parse(site.requests.at(-1)?.body ?? '{}') as Record<string, unknown>;

  it('speaks its session', async () => {
    await ready({ model: successor, maxTokens: 256 });
    expect(await eventsOf(llm.generate(hi))).toEqual([
      { type: 'token', text: 'Hello!' },
      { type: 'done', finishReason: 'stop', usage: { inputTokens: 9, outputTokens: 8, totalTokens: 17 } },
    ]);
    expect(site.requests[0]).toMatchObject({ method: 'POST', url: '/openai/v1/chat/completions' });
    expect(site.requests[0]?.headers.authorization).toBe('Bearer gsk_x-test-key');
    expect(sent()).toEqual({
      ...{ model: successor, messages: hi, stream: true, max_completion_tokens: 256, reasoning_effort: 'low' },
    });
  });

  it('has its own address, and needs a credential or a proxy', async () => {
    llm = new NuLLM({});
    expect(llm.resolveBaseUrl()).toBe('https://api.groq.com/openai/v1');
    let failure: unknown;
    await llm.initialize().catch((error: unknown) => (failure = error));
    expect(failure).toMatchObject({ name: 'ProviderInitializationError', provider: 'NuLLM' });
    llm = new NuLLM({ proxyUrl: site.url });
    await llm.initialize();
    await eventsOf(llm.generate(hi));
    expect(site.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('uses the model of the specification by default, and says once what stands in for it', async () => {
    await ready();
    await eventsOf(llm.generate(hi));
    await eventsOf(llm.generate(hi));
    expect(sent()['model']).toBe('llama-3.3-70b-versatile');
    expect(logger.lines).toEqual([
      'NuLLM: the service has retired llama-3.3-70b-versatile; use openai/gpt-oss-120b instead',
    ]);
  });

  it('warns of no model that is there', async () => {
    await ready({ model: 'openai/gpt-oss-120b' });
    await eventsOf(llm.generate(hi));
    expect(logger.lines).toEqual([]);
  });

  it('asks a model for as little reasoning as it can, unless configured otherwise', async () => {
    const rows: readonly [NuLLMConfig, string | undefined][] = [
      [{ model: 'openai/gpt-oss-120b' }, 'low'],
      [{ model: 'qwen/qwen3.8-27b' }, 'none'],
      [{ model: 'llama-4' }, undefined],
      [{ model: 'openai/gpt-oss-120b', reasoningEffort: 'high' }, 'high'],
    ];
    for (const [config, expected] of rows) {
      await eventsOf((await ready(config)).generate(hi));
      expect(sent()['reasoning_effort']).toBe(expected);
    }
  });

  it('lets the assistant begin, keeps late instructions, and sends nothing of other vendors back', async () => {
    const toolCalls = [
      { id: 'a', name: 'f', args: {}, argsText: '{}', providerExtras: { extra_content: { google: 'signature' } } },
    ];
    await eventsOf(
      (await ready()).generate([
        { role: 'assistant', content: 'Welcome!', toolCalls },
        { role: 'tool', toolCallId: 'a', content: 'ok' },
        { role: 'system', content: 'Hurry.' },
      ]),
    );
    const wire = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    expect(sent()['messages']).toEqual([
      { role: 'assistant', content: 'Welcome!', tool_calls: [wire] },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
      { role: 'system', content: 'Hurry.' },
    ]);
  });

  it('asks again when the model wrote a malformed call, without quoting it', async () => {
    await site.close();
    const error = { message: 'Failed to call a function.', type: 'invalid_request_error', code: 'tool_use_failed' };
    const body = JSON.stringify({ error: { ...error, failed_generation: 'private words' } });
    site = await serve((response, _request, count) => {
      if (count === 1) response.writeHead(400).end(body);
      else stream(response, ...answer).end();
    });
    const scheduler = new TestClock();
    const answer$ = (await ready({ model: successor, scheduler })).generate(hi);
    expect(await passing(scheduler, outcomeOf(answer$))).toMatchObject({ text: 'Hello!' });
    expect(site.requests).toHaveLength(2);
    expect(logger.lines.join()).toContain('tool_use_failed');
    expect(logger.lines.join()).not.toContain('private words');
  });

  it('says what a withdrawn model is answered with', async () => {
    await site.close();
    const message = 'The model `llama-3.3-70b-versatile` does not exist or you do not have access to it.';
    const body = { error: { message, type: 'invalid_request_error', code: 'model_not_found' } };
    site = await serve((response) => response.writeHead(404).end(JSON.stringify(body)));
    const { error } = await outcomeOf((await ready()).generate(hi));
    expect(error).toMatchObject({ code: 'not_found', status: 404, recoverable: false, cause: new Error(message) });
    expect(error?.message).toContain('model_not_found');
  });
});
