/**
 * The client of the vendor whose chat completions all others copy, against the sandbox, and our wire against its. What
 * it may not send in the same way is in the tables here, with the reason.
 */
import { Agent } from 'node:https';
import { connect } from 'node:net';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime';
import { filter, firstValueFrom, from, lastValueFrom, tap, toArray } from 'rxjs';
import {
  CompatibleLLM,
  NuLLM,
  ThetaAgent,
  ThetaLLM,
  ThetaTTS,
  type AudioChunk,
  type LLMEvent,
  type Message,
} from '../../lib/index.ts';
import { startSandbox, type Sandbox, type VendorName } from '../../samples/sandbox/index.ts';
import { decodeSamples, encodeText } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, writeSamples } from '../../samples/sandbox/pcm.ts';
import { bothRecords, expectSameWire, until, type Stated } from './wire.ts';

const key = 'sandbox-key';
const stainless = ['arch', 'lang', 'os', 'package-version', 'retry-count', 'runtime', 'runtime-version'];

/** Where all of its requests differ from ours. */
const ofItsRequests: Stated = {
  'header user-agent': 'the name of the client',
  'header accept-language': 'what its fetch adds to every request',
  'header sec-fetch-mode': 'the same',
  'header accept-encoding': 'compression would hold back what is streamed, and audio does not shrink',
  ...Object.fromEntries(stainless.map((name) => [`header x-stainless-${name}`, 'telemetry of its generator'])),
};
const ofItsStreams: Stated = {
  ...ofItsRequests,
  'header accept': 'we ask for the event stream that we get; it asks for JSON and gets the same',
  'header x-stainless-helper-method': 'telemetry: the stream() of the SDK',
};

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const weather = { name: 'get_weather', description: 'The weather in a city', parameters };
const wireTool = { type: 'function' as const, function: weather };

describe('the official OpenAI client', () => {
  let sandbox: Sandbox;
  const providers: { dispose(): Promise<void> }[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((provider) => provider.dispose()));
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const client = (vendor: VendorName) =>
    new OpenAI({ apiKey: key, baseURL: sandbox.endpoints[vendor], maxRetries: 0, logLevel: 'off' });
  const direct = (vendor: VendorName) => ({ apiKey: key, endpoint: sandbox.endpoints[vendor] });
  async function ready<P extends { initialize(): Promise<void>; dispose(): Promise<void> }>(provider: P): Promise<P> {
    providers.push(provider);
    await provider.initialize();
    return provider;
  }

  const subjects = [
    {
      name: 'NuLLM',
      vendor: 'nu',
      service: 'nu-llm',
      model: 'openai/gpt-oss-20b',
      extra: { max_completion_tokens: 200, seed: 7, reasoning_effort: 'low' },
      create: (systemPrompt: string, stopSequences: string[]) =>
        new NuLLM({
          ...{ ...direct('nu'), model: 'openai/gpt-oss-20b', systemPrompt, stopSequences },
          ...{ maxTokens: 200, temperature: 0.5, topP: 0.9, seed: 7 },
        }),
    },
    {
      name: 'CompatibleLLM',
      vendor: 'theta',
      service: 'theta-llm',
      model: 'gpt-4.1-mini',
      extra: { max_tokens: 200, seed: 7, stream_options: { include_usage: true } },
      create: (systemPrompt: string, stopSequences: string[]) =>
        new CompatibleLLM({
          ...{ ...direct('theta'), model: 'gpt-4.1-mini', systemPrompt, stopSequences },
          ...{ maxTokens: 200, temperature: 0.5, topP: 0.9, seed: 7 },
          extraBody: { stream_options: { include_usage: true } },
        }),
    },
  ] as const;

  for (const { name, vendor, service, model, extra, create } of subjects) {
    const common = { model, temperature: 0.5, top_p: 0.9, stop: ['STOP'], stream: true as const, ...extra };
    const system = { role: 'system', content: 'Be brief.' } as const;
    const question = { role: 'user', content: 'What is the weather in Paris?' } as const;
    const text = (events: readonly LLMEvent[]): string =>
      events.map((event) => (event.type === 'token' ? event.text : '')).join('');

    it(`has tools called by the ${vendor} service, and ${name} sends the same`, async () => {
      const stream = client(vendor).chat.completions.stream({
        ...common,
        messages: [system, question],
        tools: [wireTool],
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
      });
      const [choice] = (await stream.finalChatCompletion()).choices;
      const [call] = choice?.message.tool_calls ?? [];
      expect(choice?.finish_reason).toBe('tool_calls');
      expect([call?.function.name, call?.function.arguments]).toEqual(['get_weather', '{"city":"Paris"}']);

      const ours = await ready(create('Be brief.', ['STOP']));
      const options = { tools: [weather], toolChoice: { name: 'get_weather' } };
      const events = await lastValueFrom(ours.generate([question], options).pipe(toArray()));
      expect(events).toContainEqual(expect.objectContaining({ name: 'get_weather', args: { city: 'Paris' } }));
      const [theirWire, ourWire] = bothRecords(sandbox, service);
      expectSameWire(ourWire, theirWire, ofItsStreams);
    });

    it(`is told a tool's result and the usage by the ${vendor} service, and ${name} sends the same`, async () => {
      const call = { id: 'call_1', name: 'get_weather', args: { city: 'Paris' }, argsText: '{"city":"Paris"}' };
      const stream = client(vendor).chat.completions.stream({
        ...common,
        messages: [
          ...[system, question],
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: call.id, type: 'function', function: { name: call.name, arguments: call.argsText } }],
          },
          { role: 'tool', tool_call_id: call.id, content: '{"sky":"sunny"}' },
        ],
        tools: [wireTool],
      });
      const completion = await stream.finalChatCompletion();

      const ours = await ready(create('Be brief.', ['STOP']));
      const history: Message[] = [
        question,
        { role: 'assistant', content: '', toolCalls: [call] },
        { role: 'tool', toolCallId: call.id, content: '{"sky":"sunny"}' },
      ];
      const events = await lastValueFrom(ours.generate(history, { tools: [weather] }).pipe(toArray()));
      expect(text(events)).toBe(completion.choices[0]?.message.content);
      expect(text(events)).toContain('sunny');
      expect(events.at(-1)).toMatchObject({
        finishReason: 'stop',
        usage: {
          inputTokens: completion.usage?.prompt_tokens,
          outputTokens: completion.usage?.completion_tokens,
          totalTokens: completion.usage?.total_tokens,
        },
      });
      const [theirWire, ourWire] = bothRecords(sandbox, service);
      expectSameWire(ourWire, theirWire, ofItsStreams);
    });

    it(`stops the ${vendor} service in the middle of an answer, and ${name} does the same`, async () => {
      const messages = [{ role: 'user', content: 'Count to 50 slowly' }] as const;
      const stream = await client(vendor).chat.completions.create({ model, messages: [...messages], stream: true });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
      const ours = await ready(create('', []));
      await firstValueFrom(ours.generate(messages).pipe(filter(({ type }) => type === 'token')));
      const [theirWire, ourWire] = bothRecords(sandbox, service);
      await until(() => theirWire.aborted && ourWire.aborted);
    });
  }

  it('answers and calls by /responses, and ThetaLLM sends the same', async () => {
    const model = 'gpt-5-mini';
    const parameters = weather.parameters;
    const common = {
      ...{ model, instructions: 'Be brief.', store: false, max_output_tokens: 200, reasoning: { effort: 'low' } },
      ...{ include: ['reasoning.encrypted_content'], stream_options: { include_obfuscation: false } },
      tools: [{ type: 'function', ...weather, parameters, strict: false }],
    } satisfies Partial<OpenAI.Responses.ResponseCreateParams>;
    const asked: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'What is the weather in Paris?' }];
    const first = await client('theta')
      .responses.stream({ ...common, input: asked })
      .finalResponse();
    const thought = first.output.find((item) => item.type === 'reasoning');
    const call = first.output.find((item) => item.type === 'function_call');
    if (!thought || !call) throw new Error('it did not call');
    const { id, summary, encrypted_content } = thought;
    const second = await client('theta')
      .responses.stream({
        ...common,
        input: [
          ...asked,
          { type: 'reasoning', id, summary, encrypted_content: encrypted_content ?? '' },
          { role: 'assistant', content: first.output_text },
          { type: 'function_call', call_id: call.call_id, name: call.name, arguments: call.arguments },
          { type: 'function_call_output', call_id: call.call_id, output: '{"sky":"sunny"}' },
        ],
      })
      .finalResponse();
    expect(second.output_text).toContain('sunny');

    const ours = await ready(
      new ThetaLLM({
        ...{ ...direct('theta'), api: 'responses', model, systemPrompt: 'Be brief.', maxTokens: 200 },
        reasoningEffort: 'low',
      }),
    );
    const question = { role: 'user', content: 'What is the weather in Paris?' } as const;
    await lastValueFrom(ours.generate([question], { tools: [weather] }).pipe(toArray()));
    const toolCall = {
      ...{ id: call.call_id, name: call.name, args: { city: 'Paris' }, argsText: call.arguments },
      providerExtras: { reasoning: [{ type: 'reasoning', id, summary, encrypted_content }] },
    };
    const round: Message[] = [
      question,
      { role: 'assistant', content: first.output_text, toolCalls: [toolCall] },
      { role: 'tool', toolCallId: call.call_id, content: '{"sky":"sunny"}' },
    ];
    const events = await lastValueFrom(ours.generate(round, { tools: [weather] }).pipe(toArray()));
    expect(events.map((event) => (event.type === 'token' ? event.text : '')).join('')).toBe(second.output_text);
    const { input_tokens: inputTokens, output_tokens: outputTokens } = second.usage ?? {};
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens, outputTokens } });
    const [theirFirst, theirSecond, ourFirst, ourSecond] = sandbox.records('theta-llm');
    if (!theirFirst || !theirSecond || !ourFirst || !ourSecond) throw new Error('there are not four requests');
    expectSameWire(ourFirst, theirFirst, ofItsStreams);
    expectSameWire(ourSecond, theirSecond, ofItsStreams);
  });

  it('speaks by /audio/speech, and ThetaTTS sends the same', async () => {
    const input = 'The quick brown fox.';
    const options = { model: 'gpt-4o-mini-tts', speed: 1.5, instructions: 'Speak gently.' } as const;
    const hear = (bytes: Uint8Array): string => decodeSamples(readSamples(bytes, 'linear16'), 24_000).text.trim();
    const response = await client('theta').audio.speech.create({
      ...{ ...options, input, voice: 'nova', response_format: 'pcm' },
    });
    expect(hear(new Uint8Array(await response.arrayBuffer()))).toBe(input);

    const ours = await ready(new ThetaTTS({ ...direct('theta'), ...options, voice: 'nova', responseFormat: 'pcm' }));
    const heard: Uint8Array[] = [];
    await lastValueFrom(ours.speak(from([input])).pipe(tap(({ data }) => heard.push(data))));
    expect(hear(concatBytes(heard))).toBe(input);
    const [theirWire, ourWire] = bothRecords(sandbox, 'theta-tts');
    expectSameWire(ourWire, theirWire, {
      ...ofItsRequests,
      'header accept': 'it asks for bytes of any kind; the format is named in the body',
    });
  });

  it('holds a conversation by /realtime, and ThetaAgent sends the same', async () => {
    const { hostname, port } = new URL(sandbox.endpoints.theta);
    // It connects by TLS only: this gives it a plain connection to the sandbox.
    const agent = new Agent();
    agent.createConnection = () => connect(Number(port), hostname);
    const model = 'gpt-realtime-2.1';
    const theirs = new OpenAIRealtimeWS({ model, options: { agent } }, client('theta'));
    const events: RealtimeServerEvent[] = [];
    theirs.on('event', (event) => events.push(event));
    const typed = <T extends RealtimeServerEvent['type']>(type: T) =>
      events.filter((event): event is Extract<RealtimeServerEvent, { type: T }> => event.type === type);
    const has = (type: RealtimeServerEvent['type'], count = 1) => until(() => typed(type).length >= count);
    const text = 'What is the weather in Paris?';
    const sampleRate = 24_000;
    const tones = encodeText('say the quick brown fox', sampleRate);
    const samples = new Int16Array(Math.ceil(tones.length / sampleRate + 1) * sampleRate);
    samples.set(tones);
    const frames = Array.from({ length: samples.length / 480 }, (_, at) =>
      writeSamples(samples.slice(at * 480, (at + 1) * 480), 'linear16'),
    );
    await has('session.created');
    theirs.send({
      ...{ type: 'session.update', event_id: 'settings' },
      session: {
        ...{ type: 'realtime', instructions: 'You are brief.', output_modalities: ['audio'], tool_choice: 'auto' },
        ...{ max_output_tokens: 500, reasoning: { effort: 'low' } },
        audio: {
          input: {
            format: { type: 'audio/pcm', rate: 24_000 },
            transcription: { model: 'gpt-4o-mini-transcribe', language: 'en' },
            noise_reduction: { type: 'near_field' },
            turn_detection: { type: 'server_vad', threshold: 0.4, silence_duration_ms: 600, idle_timeout_ms: 30_000 },
          },
          output: { format: { type: 'audio/pcm', rate: 24_000 }, voice: 'marin', speed: 1.2 },
        },
        tools: [{ type: 'function', ...weather }],
      },
    });
    await has('session.updated');
    const content = [{ type: 'input_text', text } as const];
    theirs.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    theirs.send({ type: 'response.create' });
    await has('response.done');
    const [call] = typed('response.function_call_arguments.done');
    const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: '{"sky":"sunny"}' } as const;
    theirs.send({ type: 'conversation.item.create', item: output });
    theirs.send({ type: 'response.create' });
    await has('response.done', 2);
    for (const frame of frames)
      theirs.send({ type: 'input_audio_buffer.append', audio: Buffer.from(frame).toString('base64') });
    await has('response.done', 3);
    await has('conversation.item.input_audio_transcription.completed');
    const last = typed('response.output_audio.delta').at(-1)?.item_id ?? '';
    theirs.send({ type: 'conversation.item.truncate', item_id: last, content_index: 0, audio_end_ms: 100 });
    await has('conversation.item.truncated');
    theirs.close();
    const theirAudio = typed('response.output_audio.delta').map(({ delta }) => Buffer.from(delta, 'base64'));
    const [said] = typed('conversation.item.input_audio_transcription.completed');
    expect(said?.transcript).toBe('say the quick brown fox');
    expect(typed('error')).toEqual([]);

    const ours = await ready(
      new ThetaAgent({
        ...direct('theta'),
        ...{
          model,
          voice: 'marin',
          instructions: 'You are brief.',
          toolChoice: 'auto',
          maxOutputTokens: 500,
          speed: 1.2,
        },
        ...{ reasoningEffort: 'low', noiseReduction: 'near_field' },
        transcription: { model: 'gpt-4o-mini-transcribe', language: 'en' },
        turnDetection: { threshold: 0.4, silenceDurationMs: 600, idleTimeoutMs: 30_000 },
        tools: [{ ...weather, execute: () => ({ sky: 'sunny' }) }],
      }),
    );
    const heard: AudioChunk[] = [];
    ours.audio$.subscribe((chunk) => heard.push(chunk));
    const done = (): Promise<void> => firstValueFrom(ours.audioDone$);
    await ours.connect();
    let turn = done();
    ours.injectUserMessage(text);
    await turn;
    turn = done();
    for (const data of frames) ours.sendAudio({ data });
    await turn;
    ours.cutOff({ utteranceId: heard.at(-1)?.utteranceId ?? '', playedMs: 100, text: '' });
    const hear = (pieces: readonly Uint8Array[]): string =>
      decodeSamples(readSamples(concatBytes([...pieces]), 'linear16'), sampleRate).text;
    expect(hear(heard.map(({ data }) => data))).toBe(hear(theirAudio));
    await ours.disconnect();
    const [theirWire, ourWire] = bothRecords(sandbox, 'theta-agent');
    expectSameWire(ourWire, theirWire, {
      'header sec-websocket-key': 'random, for each connection',
      'header sec-websocket-extensions': 'it offers compression, which costs time and gains nothing on audio',
    });
  });
});
