/**
 * Any model of the AI SDK's specification: what it streams, throws and leaves open must not matter to a conversation. The
 * real packages are in `sdk/ai-sdk.spec.ts`.
 */
import type { GenerateOptions, LLMEvent, Message } from '../../../lib/core/messages.ts';
import type { LLMProvider } from '../../../lib/core/roles.ts';
import {
  fromLanguageModel,
  type LanguageModelConfig,
  type LanguageModelLike,
} from '../../../lib/providers/llm/language-model.ts';
import { TestClock } from '../../transport/test-clock.ts';
import { listeningLogger, outcomeOf, passing } from './llm-fixture.ts';

type Part = Readonly<Record<string, unknown>>;
interface Call {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
  readonly abortSignal: AbortSignal;
  readonly [option: string]: unknown;
}

const ask: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const finish: Part = { type: 'finish', finishReason: 'stop', usage: {} };
const text = (delta: string): Part => ({ type: 'text-delta', id: '0', delta });
const streamOf = (...parts: readonly Part[]): ReadableStream =>
  new ReadableStream({
    start(controller) {
      parts.forEach((part) => controller.enqueue(part));
      controller.close();
    },
  });

/** A model that answers each request in turn: with a stream, or by throwing. */
function modelOf(...answers: readonly (ReadableStream | Error)[]) {
  const calls: Call[] = [];
  const model: LanguageModelLike = {
    ...{ specificationVersion: 'v3', provider: 'acme.chat', modelId: 'one' },
    doStream: (options: Call) => {
      calls.push(options);
      const answer = answers[calls.length - 1];
      return answer instanceof ReadableStream
        ? Promise.resolve({ stream: answer, response: { headers: { 'x-request-id': 'req_1' } } })
        : Promise.reject(answer ?? new Error('asked too often'));
    },
  };
  return { model, calls };
}
async function ready(model: LanguageModelLike, config?: LanguageModelConfig): Promise<LLMProvider> {
  const llm = fromLanguageModel(model, config);
  await llm.initialize();
  return llm;
}
async function answerOf(parts: readonly Part[], options?: GenerateOptions) {
  const { model } = modelOf(streamOf(...parts));
  return outcomeOf((await ready(model, { maxRetries: 0 })).generate(ask, options));
}

describe('fromLanguageModel()', () => {
  it('tells text alone: no reasoning, no sources, nothing that the service runs itself', async () => {
    const { events } = await answerOf([
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'They said hi.' },
      { type: 'tool-input-delta', id: 't', delta: '{"q":' },
      { type: 'tool-call', toolCallId: 's', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: 'found' },
      { type: 'source', sourceType: 'url', id: 'u', url: 'https://example.com' },
      text('Hello'),
      text(''),
      text('.'),
      { type: 'tomorrow' },
      finish,
    ]);
    expect(events).toEqual([
      { type: 'token', text: 'Hello' },
      { type: 'token', text: '.' },
      { type: 'done', finishReason: 'stop', requestId: 'req_1' },
    ]);
  });

  it.each<[Part | string, string]>([
    ['length', 'length'],
    ['content-filter', 'filtered'],
    ['tool-calls', 'tool-calls'],
    [{ unified: 'length', raw: 'max_tokens' }, 'length'],
    [{ unified: 'other', raw: 'pause' }, 'stop'],
    ['unknown', 'stop'],
  ])('ends for a reason: %j', async (reason, finishReason) => {
    const { events } = await answerOf([text('a'), { ...finish, finishReason: reason }]);
    expect(events.at(-1)).toMatchObject({ type: 'done', finishReason });
  });

  it.each<[string, Part, unknown]>([
    [
      'numbers of version 2',
      { inputTokens: 9, outputTokens: 4, totalTokens: 13, reasoningTokens: 1, cachedInputTokens: 5 },
      { inputTokens: 9, outputTokens: 4, totalTokens: 13, reasoningTokens: 1, cachedTokens: 5 },
    ],
    [
      'sums of version 3',
      {
        inputTokens: { total: 9, noCache: 2, cacheRead: 5, cacheWrite: 2 },
        outputTokens: { total: 4, text: 3, reasoning: 1 },
      },
      { inputTokens: 9, outputTokens: 4, totalTokens: 13, reasoningTokens: 1, cachedTokens: 5, cacheWriteTokens: 2 },
    ],
    ['none', { inputTokens: undefined, outputTokens: undefined }, undefined],
  ])('counts tokens: %s', async (_name, usage, expected) => {
    const { events } = await answerOf([text('a'), { ...finish, usage }]);
    const done = events.at(-1);
    expect(done?.type === 'done' ? done.usage : done).toEqual(expected);
  });

  it('sends a call and its result back, with what its service wants back, and roles that every service takes', async () => {
    const { model, calls } = modelOf(
      streamOf(
        {
          ...{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{"at":"sky"}' },
          providerMetadata: { google: { thoughtSignature: 'sig' } },
        },
        { type: 'tool-call', toolCallId: 'c2', toolName: 'look', input: '' },
        finish,
      ),
      streamOf(text('Blue.'), finish),
    );
    const llm = await ready(model);
    const { events } = await outcomeOf(llm.generate(ask, { tools: [{ name: 'look', strict: true }] }));
    const toolCalls = events.flatMap((event) => (event.type === 'tool-call' ? [event] : []));
    const expected: Partial<LLMEvent>[] = [
      { type: 'tool-call', id: 'c1', args: { at: 'sky' }, providerExtras: { google: { thoughtSignature: 'sig' } } },
      { type: 'tool-call', id: 'c2', args: {}, argsText: '{}' },
    ];
    expect(toolCalls).toMatchObject(expected);
    await outcomeOf(
      llm.generate([
        { role: 'system', content: 'Be kind.' },
        { role: 'assistant', content: 'Welcome.' },
        ...ask,
        { role: 'assistant', content: 'Let me look.', toolCalls },
        { role: 'tool', toolCallId: 'c1', content: 'blue' },
        { role: 'tool', toolCallId: 'c2', content: 'Error: where?', isError: true },
        { role: 'system', content: 'The shop closes soon.' },
      ]),
    );
    expect(calls[0]).toMatchObject({
      tools: [{ type: 'function', name: 'look', inputSchema: { type: 'object', properties: {} }, strict: true }],
      toolChoice: { type: 'auto' },
    });
    expect(calls[1]).not.toHaveProperty('tools');
    expect(calls[1]?.prompt).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: '(empty)' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Welcome.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me look.' },
          {
            ...{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { at: 'sky' } },
            providerOptions: { google: { thoughtSignature: 'sig' } },
          },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'look', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'text', value: 'blue' } },
          {
            ...{ type: 'tool-result', toolCallId: 'c2', toolName: 'look' },
            output: { type: 'error-text', value: 'Error: where?' },
          },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'The shop closes soon.' }] },
    ]);
  });

  it('passes what only some services have, and says what has no place', async () => {
    const { model, calls } = modelOf(streamOf(text('a'), finish), streamOf(text('b'), finish));
    const logger = listeningLogger();
    const config = { providerOptions: { acme: { effort: 'low' } }, headers: { 'X-Team': 'voice' } };
    const llm = fromLanguageModel(model, config, logger);
    await llm.initialize();
    const options = { cacheKey: 'caller', responseFormat: 'json' } as const;
    await outcomeOf(llm.generate(ask, options));
    await outcomeOf(llm.generate(ask, options));
    expect(calls[0]).toMatchObject({ ...config, responseFormat: { type: 'json' } });
    expect(logger.lines).toEqual([expect.stringContaining('cacheKey')]);
  });

  it("logs each of the service's warnings once", async () => {
    const warnings = [
      { type: 'unsupported', feature: 'seed', details: 'it is ignored' },
      { type: 'unsupported-setting', setting: 'topK' },
      { type: 'other', message: 'the model retires soon' },
    ];
    const start = { type: 'stream-start', warnings };
    const { model } = modelOf(streamOf(start, text('a'), finish), streamOf(start, text('b'), finish));
    const logger = listeningLogger();
    const llm = fromLanguageModel(model, {}, logger);
    await llm.initialize();
    await outcomeOf(llm.generate(ask));
    await outcomeOf(llm.generate(ask));
    expect(logger.lines).toEqual([
      'acme.chat: unsupported: seed: it is ignored',
      'acme.chat: unsupported-setting: topK',
      'acme.chat: other: the model retires soon',
    ]);
  });

  const refusal = (statusCode: number, more: Part = {}): Error =>
    Object.assign(new Error('The caller said: Hi'), { name: 'AI_APICallError', statusCode, ...more });
  it.each<[string, Error, Part]>([
    ['a wrong key', refusal(401), { code: 'unauthorized', status: 401, recoverable: false }],
    [
      'an account without credit',
      refusal(429, { responseBody: '{"error":{"code":"insufficient_quota"}}' }),
      { code: 'quota', recoverable: false },
    ],
    [
      'too many requests',
      refusal(429, { responseHeaders: { 'Retry-After': '7', 'X-Request-Id': 'req_2' } }),
      { code: 'rate_limited', retryAfterMs: 7000, requestId: 'req_2', recoverable: true },
    ],
    ['a service that is down', refusal(503), { code: 'overloaded', recoverable: true }],
    [
      'no key',
      Object.assign(new Error('API key is missing. Set ACME_API_KEY.'), { name: 'AI_LoadAPIKeyError' }),
      { code: 'unauthorized', recoverable: false, message: 'acme.chat: API key is missing. Set ACME_API_KEY.' },
    ],
    ['no connection', new TypeError('fetch failed'), { code: 'connection', recoverable: true }],
    ['anything else', new Error('boom'), { code: 'server', recoverable: true, message: 'acme.chat: boom' }],
  ])('says what to do about %s', async (_name, thrown, expected) => {
    const { model } = modelOf(thrown);
    const { error } = await outcomeOf((await ready(model, { maxRetries: 0 })).generate(ask));
    expect(error).toMatchObject({ provider: 'acme.chat', ...expected });
    expect(error?.message).not.toContain('said: Hi');
  });

  it.each<[string, Part, Part]>([
    ['a text', { type: 'error', error: 'overloaded' }, { code: 'server', recoverable: true }],
    [
      'an object',
      { type: 'error', error: { error: { type: 'rate_limit_error', message: 'Slow down, please.' } } },
      { code: 'rate_limited', recoverable: true },
    ],
    ['a reason', { ...finish, finishReason: { unified: 'error', raw: 'x' } }, { code: 'server', recoverable: true }],
  ])('fails when the stream says that it has failed: %s', async (_name, part, expected) => {
    const { error, text: said } = await answerOf([text('Well'), part, text(' never')]);
    expect([said, error]).toMatchObject(['Well', { provider: 'acme.chat', ...expected }]);
  });

  it('fails when the stream ends before the answer', async () => {
    const { error } = await answerOf([text('Well')]);
    expect(error).toMatchObject({ code: 'connection', recoverable: true, requestId: 'req_1' });
  });

  it('is complete when the stream breaks off after the answer', async () => {
    const parts = [text('Well.'), finish, { type: 'error', error: new TypeError('terminated') }];
    const { events, error } = await answerOf(parts);
    expect([events.at(-1)?.type, error]).toEqual(['done', undefined]);
  });

  it('ends soon after the answer when the stream stays open, and cancels it', async () => {
    const clock = new TestClock();
    let wasCancelled = false;
    const stream = new ReadableStream({
      start: (controller) => [text('Well.'), finish, text(' Late.')].forEach((part) => controller.enqueue(part)),
      cancel: () => {
        wasCancelled = true;
      },
    });
    const llm = await ready(modelOf(stream).model, { scheduler: clock });
    const { events, error } = await passing(clock, outcomeOf(llm.generate(ask)));
    expect([events.map(({ type }) => type), error]).toEqual([['token', 'done'], undefined]);
    expect([wasCancelled, clock.now()]).toEqual([true, 100]);
  });

  it('lets a wrapped model see the end of its stream', async () => {
    const clock = new TestClock();
    let hasFlushed = false;
    const watched = streamOf(text('Well.'), finish).pipeThrough(
      new TransformStream({
        flush: () => {
          hasFlushed = true;
        },
      }),
    );
    const llm = await ready(modelOf(watched).model, { scheduler: clock });
    await outcomeOf(llm.generate(ask));
    expect([hasFlushed, clock.now()]).toEqual([true, 0]);
  });

  it('tries again until something was emitted, never after that', async () => {
    const clock = new TestClock();
    const { model, calls } = modelOf(
      refusal(503),
      streamOf({ type: 'error', error: 'overloaded' }),
      streamOf(text('Well'), { type: 'error', error: 'overloaded' }),
      streamOf(text('never'), finish),
    );
    const llm = await ready(model, { scheduler: clock });
    const { text: said, error } = await passing(clock, outcomeOf(llm.generate(ask)));
    expect(said).toBe('Well');
    expect(error).toMatchObject({ code: 'server' });
    expect(calls).toHaveLength(3);
  });

  it('aborts the request and cancels the stream, even where the model ignores the signal', async () => {
    let end = (): void => undefined;
    const cancelled = new Promise<void>((resolve) => (end = resolve));
    const silent = new ReadableStream({ cancel: () => end() });
    const { model, calls } = modelOf(silent);
    const llm = await ready(model);
    const answer = llm.generate(ask).subscribe();
    answer.unsubscribe();
    expect(calls[0]?.abortSignal.aborted).toBe(true);
    await cancelled;
  });

  it('refuses a model of an older AI SDK', async () => {
    const { model } = modelOf();
    await expect(ready({ ...model, specificationVersion: 'v1' })).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('update its package') as string,
    });
  });
});
