import { lastValueFrom, map, timer, toArray, type Subscription } from 'rxjs';
import { llmContract } from '../../../lib/testing/contracts/model-and-voice.ts';
import type { BrowserEngine, BrowserEngineRequest, LoadProgress } from '../../../lib/providers/llm/browser-engine.ts';
import { BrowserLLM, type BrowserLLMConfig } from '../../../lib/providers/llm/browser-llm.ts';
import type { LLMEvent, Message } from '../../../lib/core/messages.ts';

const model = 'Llama-3.2-1B-Instruct-q4f16_1-MLC';
const hi: Message[] = [{ role: 'user', content: 'Hi' }];
const text = (content: string) => ({
  choices: [{ index: 0, delta: { content, role: 'assistant' }, finish_reason: null }],
});
const stop = (reason = 'stop') => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const usage = { choices: [], usage: { prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 } };

/** An engine that says what it is told, one chunk at a time, and one answer at a time. */
class FakeEngine implements BrowserEngine {
  readonly calls: string[] = [];
  readonly requests: BrowserEngineRequest[] = [];
  report: (progress: LoadProgress) => void = () => undefined;
  /** What the next answers consist of; a function is awaited in its place. */
  answers: (readonly (object | (() => Promise<void>))[])[] = [];
  failure: unknown;
  reports: readonly LoadProgress[] = [{ progress: 0.5, timeElapsed: 1, text: 'Fetching param cache[1/2]' }];
  loading: Promise<void> = Promise.resolve();
  /** Whether the GPU was lost, which unloads the model and tells nobody. */
  isLost = false;

  async reload(modelId: string, chatOpts?: object): Promise<void> {
    this.calls.push(chatOpts ? `reload ${modelId} ${JSON.stringify(chatOpts)}` : `reload ${modelId}`);
    for (const report of this.reports) this.report(report);
    await this.loading;
    if (this.failure !== undefined) throw this.failure as Error;
    this.isLost = false;
  }
  readonly chat = {
    completions: {
      create: (request: BrowserEngineRequest): Promise<AsyncIterable<unknown>> => {
        if (this.isLost) return Promise.reject(Object.assign(new Error('x'), { name: 'ModelNotLoadedError' }));
        this.requests.push(request);
        return Promise.resolve(this.#answer(this.answers.shift() ?? [text('Hello.'), stop(), usage]));
      },
    },
  };
  interruptGenerate(): void {
    this.calls.push('interrupt');
  }
  unload(): Promise<void> {
    this.calls.push('unload');
    return Promise.resolve();
  }
  async *#answer(parts: readonly (object | (() => Promise<void>))[]): AsyncGenerator<object> {
    this.calls.push('begin');
    try {
      for (const part of parts) {
        if (typeof part === 'function') await part();
        else yield part;
      }
    } finally {
      this.calls.push('end');
    }
  }
}

describe('BrowserLLM', () => {
  async function* inTime(parts: readonly object[]): AsyncGenerator<object> {
    for (const part of parts) yield await lastValueFrom(timer(1).pipe(map(() => part)));
  }
  /** Says what it was asked, a word at a time. */
  class EchoEngine extends FakeEngine {
    override readonly chat = {
      completions: {
        create: (request: BrowserEngineRequest): Promise<AsyncIterable<unknown>> => {
          const asked = JSON.stringify(request['messages']);
          const words = asked.split(/(?= )/);
          return Promise.resolve(inTime([...words.map(text), stop()]));
        },
      },
    };
  }
  const contract = llmContract(() => new BrowserLLM({ model, createEngine: () => new EchoEngine() }));
  for (const { name, run } of contract) it(name, run);

  const all: BrowserLLM[] = [];
  afterEach(async () => {
    await Promise.all(all.splice(0).map((llm) => llm.dispose()));
  });

  async function ready(config: Partial<BrowserLLMConfig> = {}, engine: FakeEngine = new FakeEngine()) {
    const llm = new BrowserLLM({
      model,
      createEngine: (_webLLM, { initProgressCallback }) => {
        engine.report = initProgressCallback;
        return engine;
      },
      ...config,
    });
    all.push(llm);
    await llm.initialize();
    engine.calls.length = 0;
    return { llm, engine };
  }
  const answer = (llm: BrowserLLM, messages: Message[], options = {}): Promise<LLMEvent[]> =>
    lastValueFrom(llm.generate(messages, options).pipe(toArray()));

  describe('on a machine', () => {
    const features = new Set<string>();
    const own = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
    const pretend = (navigator: object): void => {
      Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
    };
    beforeEach(() => {
      features.clear();
      pretend({ gpu: { requestAdapter: () => Promise.resolve({ features }) } });
    });
    afterEach(() => {
      if (own) Object.defineProperty(globalThis, 'navigator', own);
      else Reflect.deleteProperty(globalThis, 'navigator');
    });

    it('without WebGPU, says what has it', async () => {
      pretend({});
      await expect(new BrowserLLM({ model }).initialize()).rejects.toMatchObject({
        code: 'device',
        message: expect.stringContaining('a browser with WebGPU') as unknown,
      });
    });

    it('without a GPU, says so', async () => {
      pretend({ gpu: { requestAdapter: () => Promise.resolve(null) } });
      await expect(new BrowserLLM({ model }).initialize()).rejects.toThrow('the browser found no usable GPU');
    });

    it('whose GPU cannot compute with 16 bits, names the model that it can', async () => {
      await expect(new BrowserLLM({ model }).initialize()).rejects.toThrow('use Llama-3.2-1B-Instruct-q4f32_1-MLC');
    });

    it('with a GPU, loads the real package, which knows its models', async () => {
      features.add('shader-f16');
      await expect(new BrowserLLM({ model: 'none-q4f16-MLC' }).initialize()).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('WebLLM has no model of this name') as unknown,
      });
    });

    it('a failed initialize() leaves no Worker', async () => {
      features.add('shader-f16');
      const told: string[] = [];
      const worker = {
        onmessage: (_event: object): void => undefined,
        postMessage(message: { readonly kind: string; readonly uuid: string }): void {
          told.push(message.kind);
          const data = { kind: 'throw', uuid: message.uuid, content: 'ModelNotFoundError: none' };
          if (message.kind === 'reload') queueMicrotask(() => this.onmessage(data));
        },
        terminate: (): void => void told.push('terminate'),
      };
      const llm = new BrowserLLM({ model: 'none-q4f16-MLC', worker: () => worker as unknown as Worker });
      await expect(llm.initialize()).rejects.toMatchObject({ code: 'not_found' });
      expect([told[0], told.at(-1)]).toEqual(['reload', 'terminate']);
    });
  });

  it('hands the real package to what makes an engine', async () => {
    const names: string[] = [];
    const engine = new FakeEngine();
    await ready({
      createEngine: (webLLM) => {
        names.push(webLLM.MLCEngine.name, webLLM.WebWorkerMLCEngine.name);
        return engine;
      },
    });
    expect(names).toEqual(['MLCEngine', 'WebWorkerMLCEngine']);
  });

  for (const [config, problem] of [
    [{ model: '' }, 'model is missing'],
    [{ model, maxTokens: 0 }, 'maxTokens must be a whole number'],
    [{ model, temperature: 3 }, 'temperature must be a number from 0 to 2'],
  ] as const) {
    it(`refuses ${JSON.stringify(config)}`, async () => {
      await expect(new BrowserLLM(config).initialize()).rejects.toThrow(problem);
    });
  }

  it('tells how far the model is loaded, and survives a callback that throws', async () => {
    const engine = new FakeEngine();
    const seen: number[] = [];
    const llm = new BrowserLLM({
      model,
      chatOpts: { context_window_size: 2048 },
      onLoadProgress: ({ progress }) => {
        seen.push(progress);
        throw new Error('no');
      },
      createEngine: (_webLLM, { initProgressCallback }) => {
        engine.report = initProgressCallback;
        return engine;
      },
    });
    all.push(llm);
    llm.loadProgress$.subscribe(({ text: phase }) => seen.push(phase.length));
    await llm.initialize();
    expect(seen).toEqual([25, 0.5]);
    // A progress bar that is shown later has it too.
    llm.loadProgress$.subscribe(({ progress }) => seen.push(progress));
    expect(seen).toEqual([25, 0.5, 0.5]);
    expect(engine.calls).toEqual([`reload ${model} {"context_window_size":2048}`]);
  });

  it('asks for an answer as the engine wants it, and gives its tokens and usage', async () => {
    const { llm, engine } = await ready({
      ...{ systemPrompt: 'Be brief.', temperature: 0.5, topP: 0.9, stopSequences: ['\n\n'], maxTokens: 64 },
    });
    engine.answers = [[text('Hel'), text(''), text('lo!'), stop(), usage]];
    const tokens: string[] = [];
    llm.tokens$.subscribe((token) => tokens.push(token));
    const events = await answer(llm, [{ role: 'system', content: 'Speak English.' }, ...hi]);
    expect(engine.requests).toEqual([
      {
        messages: [
          { role: 'system', content: 'Be brief.\n\nSpeak English.' },
          { role: 'user', content: 'Hi' },
        ],
        ...{ stream: true, stream_options: { include_usage: true } },
        ...{ max_tokens: 64, temperature: 0.5, top_p: 0.9, stop: ['\n\n'] },
      },
    ]);
    expect(tokens).toEqual(['Hel', 'lo!']);
    expect(events.at(-1)).toEqual({
      ...{ type: 'done', finishReason: 'stop' },
      usage: { inputTokens: 21, outputTokens: 6, totalTokens: 27 },
    });
  });

  it("asks with one generation's own fields too", async () => {
    const { llm, engine } = await ready();
    engine.answers = [[text('Yes.'), stop()]];
    await answer(llm, hi, { extraBody: { logit_bias: { 7: 1 } } });
    expect(engine.requests[0]?.['logit_bias']).toEqual({ 7: 1 });
  });

  it('keeps the thoughts of a model that thinks to itself', async () => {
    const { llm, engine } = await ready({ model: 'Qwen3-0.6B-q4f16_1-MLC' });
    engine.answers = [[text('<think>hm'), text('m</think>'), text('Yes.'), stop()]];
    const events = await answer(llm, hi);
    expect(engine.requests[0]?.['extra_body']).toEqual({ enable_thinking: false });
    expect(events).toEqual([
      { type: 'token', text: 'Yes.' },
      { type: 'done', finishReason: 'stop' },
    ]);
  });

  it('never speaks a tool call, which comes complete at the end', async () => {
    const { llm, engine } = await ready({ systemPrompt: 'Be brief.' });
    const call = { index: 0, type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } };
    engine.answers = [
      [
        text('[{"name":"weather",'),
        text('"arguments":{"city":"Rome"}}]'),
        { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }] },
      ],
    ];
    const events = await answer(llm, hi, { tools: [{ name: 'weather' }], toolChoice: { name: 'weather' } });
    expect(events).toEqual([
      { ...{ type: 'tool-call', id: 'call_1', name: 'weather' }, args: { city: 'Rome' }, argsText: '{"city":"Rome"}' },
      { type: 'done', finishReason: 'tool-calls' },
    ]);
    expect(engine.requests[0]).toMatchObject({
      messages: [{ role: 'user', content: 'Be brief.\n\nHi' }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
    });
  });

  it('brings calls and results back, with an empty text for what was not said', async () => {
    const { llm, engine } = await ready();
    const toolCalls = [{ id: 'a', name: 'weather', args: {}, argsText: '{}' }];
    await answer(llm, [
      ...hi,
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', toolCallId: 'a', content: 'sunny' },
    ]);
    expect(engine.requests[0]?.['messages']).toEqual([
      { role: 'user', content: 'Hi' },
      {
        ...{ role: 'assistant', content: '' },
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
    ]);
  });

  it('ends an answer that nobody wants at its next token, and only then begins the next', async () => {
    const { llm, engine } = await ready();
    let go: () => void = () => undefined;
    const wait = (): Promise<void> => new Promise((resolve) => (go = resolve));
    engine.answers = [
      [text('Once'), wait, text(' upon'), text(' a time')],
      [text('Fine.'), stop()],
    ];
    const seen: string[] = [];
    const running: Subscription = llm.generate(hi).subscribe((event) => {
      if (event.type === 'token') seen.push(event.text);
    });
    while (seen.length === 0) await new Promise(setImmediate);
    running.unsubscribe();
    const next = answer(llm, hi);
    await new Promise(setImmediate);
    expect(engine.calls).toEqual(['begin', 'interrupt']);
    go();
    expect((await next)[0]).toEqual({ type: 'token', text: 'Fine.' });
    expect(engine.calls).toEqual(['begin', 'interrupt', 'end', 'begin', 'end']);
    expect(seen).toEqual(['Once']);
  });

  it('never begins an answer that nobody waits for any more', async () => {
    const { llm, engine } = await ready();
    llm.generate(hi).subscribe().unsubscribe();
    await answer(llm, hi);
    expect(engine.requests).toHaveLength(1);
  });

  it('loads the model again after the GPU was lost', async () => {
    const { llm, engine } = await ready();
    const lost = Object.assign(new Error('gone'), { name: 'DeviceLostError' });
    engine.answers = [[() => Promise.reject(lost)]];
    await expect(answer(llm, hi)).rejects.toMatchObject({ code: 'device', recoverable: true });
    await answer(llm, hi);
    expect(engine.calls).toEqual(['begin', 'end', `reload ${model}`, 'begin', 'end']);
  });

  it('loads the model again if the GPU was lost between answers, once', async () => {
    const { llm, engine } = await ready();
    engine.isLost = true;
    expect((await answer(llm, hi))[0]).toEqual({ type: 'token', text: 'Hello.' });
    expect(engine.calls).toEqual([`reload ${model}`, 'begin', 'end']);
    engine.isLost = true;
    engine.failure = Object.assign(new Error('gone'), { name: 'DeviceLostError' });
    await expect(answer(llm, hi)).rejects.toMatchObject({ code: 'device', recoverable: true });
  });

  it('says so if the GPU was lost during an answer, and loads the model for the next', async () => {
    const { llm, engine } = await ready();
    const lose = (): Promise<void> => {
      engine.isLost = true;
      return Promise.reject(new Error('Tensor has already been disposed'));
    };
    engine.answers = [[text('Once'), lose]];
    await expect(answer(llm, hi)).rejects.toMatchObject({ code: 'device', recoverable: true });
    expect((await answer(llm, hi))[0]).toEqual({ type: 'token', text: 'Hello.' });
    expect(engine.calls).toEqual(['begin', 'end', `reload ${model}`, 'begin', 'end']);
  });

  it('does not load the model for an answer that nobody waits for any more', async () => {
    const { llm, engine } = await ready();
    engine.isLost = true;
    const running = llm.generate(hi).subscribe();
    await Promise.resolve();
    running.unsubscribe();
    await new Promise(setImmediate);
    expect(engine.calls).toEqual([]);
  });

  const named = (name: string): Error => Object.assign(new Error('x'), { name });
  for (const [failure, code] of [
    ...(['WebGPUNotAvailableError', 'WebGPUNotFoundError', 'FeatureSupportError'] as const).map(
      (name) => [named(name), 'device'] as const,
    ),
    [named('ModelNotFoundError'), 'not_found'],
    ['MissingModelError: no wasm', 'configuration'],
    ['Error: Module has already been disposed', 'device'],
    [new DOMException("Failed to execute 'mapAsync' on 'GPUBuffer': Device is lost", 'AbortError'), 'device'],
    ["AbortError: Failed to execute 'mapAsync' on 'GPUBuffer': Device is lost", 'device'],
    [named('DeviceLostError'), 'device'],
    [named('NetworkError'), 'connection'],
    [named('QuotaExceededError'), 'quota'],
    [named('ContextWindowSizeExceededError'), 'overflow'],
    [named('UnsupportedModelIdError'), 'configuration'],
    [named('ModelNotLoadedError'), 'not_ready'],
    ['WorkerEngineModelNotLoadedError: x', 'not_ready'],
    ['EngineNotLoadedError: x', 'not_ready'],
    ['ShaderF16SupportError: no 16 bits', 'device'],
    [new TypeError('Failed to fetch'), 'connection'],
    ['something else', 'internal'],
  ] as const) {
    it(`says ${code} for ${String(failure)}`, async () => {
      const engine = new FakeEngine();
      engine.failure = failure;
      await expect(ready({}, engine)).rejects.toMatchObject({ code, provider: 'BrowserLLM' });
    });
  }

  it('plays the session of the reference: it loads, answers, and is interrupted', async () => {
    const engine = new FakeEngine();
    const reports: LoadProgress[] = [
      { progress: 0, timeElapsed: 0, text: 'Start to fetch params' },
      {
        ...{ progress: 0.5, timeElapsed: 4 },
        text: 'Fetching param cache[11/22]: 330MB fetched. 50% completed, 4 secs elapsed. …',
      },
      {
        ...{ progress: 1, timeElapsed: 8 },
        text: 'Fetching param cache[22/22]: 660MB fetched. 100% completed, 8 secs elapsed. …',
      },
      {
        ...{ progress: 0.5, timeElapsed: 9 },
        text: 'Loading model from cache[11/22]: 330MB loaded. 50% completed, 9 secs elapsed.',
      },
      {
        ...{ progress: 1, timeElapsed: 2 },
        text: 'Loading GPU shader modules[74/74]: 100% completed, 2 secs elapsed.',
      },
      { progress: 1, timeElapsed: 12, text: 'Finish loading on WebGPU - apple' },
    ];
    engine.reports = reports;
    const seen: LoadProgress[] = [];
    const { llm } = await ready({ maxTokens: 64, onLoadProgress: (progress) => seen.push(progress) }, engine);
    expect(seen).toEqual(reports);

    let go: () => void = () => undefined;
    const wait = (): Promise<void> => new Promise((resolve) => (go = resolve));
    const chunk = (delta: object, finish_reason: string | null = null): object => ({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1_760_000_000, model },
      choices: [{ index: 0, delta, finish_reason }],
    });
    engine.answers = [
      [
        chunk({ content: 'Hel', role: 'assistant' }),
        chunk({ content: 'lo!', role: 'assistant' }),
        chunk({}, 'stop'),
        usage,
      ],
      [chunk({ content: 'Once', role: 'assistant' }), wait, chunk({}, 'abort')],
    ];
    expect(await answer(llm, hi)).toEqual([
      { type: 'token', text: 'Hel' },
      { type: 'token', text: 'lo!' },
      {
        ...{ type: 'done', finishReason: 'stop' },
        usage: { inputTokens: 21, outputTokens: 6, totalTokens: 27 },
      },
    ]);
    expect(engine.requests).toEqual([
      { messages: hi, stream: true, stream_options: { include_usage: true }, max_tokens: 64 },
    ]);
    const told: LLMEvent[] = [];
    const running = llm.generate(hi).subscribe((event) => told.push(event));
    while (told.length === 0) await new Promise(setImmediate);
    running.unsubscribe();
    go();
    while (engine.calls.at(-1) !== 'end') await new Promise(setImmediate);
    expect([told, engine.calls.slice(-2)]).toEqual([[{ type: 'token', text: 'Once' }], ['interrupt', 'end']]);
  });

  it('plays the failing session: the GPU has no 16 bits, which a worker tells as a text', async () => {
    for (const failure of [named('ShaderF16SupportError'), 'ShaderF16SupportError: shader-f16']) {
      const engine = new FakeEngine();
      engine.failure = failure;
      engine.reports = [];
      const seen: LoadProgress[] = [];
      const loading = ready({ onLoadProgress: (progress) => seen.push(progress) }, engine);
      await expect(loading).rejects.toMatchObject({
        ...{ name: 'ProviderInitializationError', code: 'device', recoverable: false },
        message: expect.stringContaining('use its q4f32 variant') as unknown,
      });
      expect(seen).toEqual([]);
    }
  });

  it('has its history taken, whatever an interruption left of it: the rules of the engine', async () => {
    const { llm, engine } = await ready({ systemPrompt: 'Be brief.' });
    const toolCalls = [{ id: 'a', name: 'weather', args: undefined, argsText: '{"ci' }];
    const histories: Message[][] = [
      [...hi, { role: 'assistant', content: 'It is' }],
      [...hi, { role: 'assistant', content: '', toolCalls }, { role: 'user', content: 'Stop' }],
      [{ role: 'tool', toolCallId: 'gone', content: 'x' }, { role: 'assistant', content: 'Welcome!' }, ...hi],
      [...hi, { role: 'assistant', content: 'One moment.', toolCalls }, { role: 'system', content: 'Hurry.' }],
    ];
    for (const history of histories) await answer(llm, history);
    for (const { messages } of engine.requests) {
      const wire = messages as { role: string; content: unknown; tool_calls?: { function: { arguments: string } }[] }[];
      expect(wire.filter(({ role }) => role === 'system')).toEqual(wire.slice(0, 1));
      expect(['user', 'tool']).toContain(wire.at(-1)?.role);
      expect(wire.every(({ content }) => typeof content === 'string')).toBe(true);
      const args = wire.flatMap((each) => each.tool_calls ?? []).map((call) => call.function.arguments);
      expect(args.map((text) => JSON.parse(text) as unknown)).toEqual(args.map(() => ({})));
    }
  });

  it('F43: dispose() ends an answer with an error, also where the engine is terminated with its worker', async () => {
    const { llm, engine } = await ready();
    engine.answers = [[text('Once'), () => new Promise(() => undefined)]];
    const told: unknown[] = [];
    llm.generate(hi).subscribe({ next: (event) => told.push(event), error: (error: unknown) => told.push(error) });
    while (told.length === 0) await new Promise(setImmediate);
    await llm.dispose();
    expect(told).toMatchObject([{ text: 'Once' }, { code: 'aborted', provider: 'BrowserLLM' }]);
  });

  it('unloads the model when it is disposed of, also while it loads', async () => {
    const { llm, engine } = await ready();
    await llm.dispose();
    await new Promise(setImmediate);
    expect(engine.calls).toEqual(['interrupt', 'unload']);
    const slow = new FakeEngine();
    slow.loading = new Promise(() => undefined);
    const loading = ready({}, slow);
    const outcome = loading.catch((error: unknown) => error);
    while (slow.calls.length === 0) await new Promise(setImmediate);
    await all.at(-1)?.dispose();
    expect(await outcome).toMatchObject({ code: 'aborted' });
    expect(slow.calls).toContain('unload');
  });

  it('loads again after it was disposed of while it loaded, though the first load never ends', async () => {
    const [slow, engine] = [new FakeEngine(), new FakeEngine()];
    slow.loading = new Promise(() => undefined);
    const engines = [slow, engine];
    const llm = new BrowserLLM({ model, createEngine: () => engines.shift() ?? new FakeEngine() });
    all.push(llm);
    const outcome = llm.initialize().catch((error: unknown) => error);
    while (slow.calls.length === 0) await new Promise(setImmediate);
    await llm.dispose();
    expect(await outcome).toMatchObject({ code: 'aborted' });
    await llm.initialize();
    await new Promise(setImmediate);
    expect(await answer(llm, hi)).toMatchObject([{ text: 'Hello.' }, { type: 'done' }]);
    expect(engine.calls).not.toContain('unload');
  });
});
