/**
 * The vendor's client against the sandbox, and MuLLM against it: MuLLM has it make the request but sends that itself, so
 * what arrives must be what the client alone would have sent.
 *
 * Slow: the vendors' clients take seconds to load.
 */
import Anthropic from '@anthropic-ai/sdk';
import { filter, firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { MuLLM, type LLMEvent, type Message, type MuLLMConfig } from '../../lib/index.ts';
import { startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { bothRecords, expectSameWire, until, type Stated } from './wire.ts';

const key = 'sandbox-key';

const ofItsRequests: Stated = {
  'header anthropic-dangerous-direct-browser-access':
    'the leave that a browser needs; MuLLM asks for it everywhere, and on a server it means nothing',
  'header accept-language': 'what its fetch adds to every request',
  'header sec-fetch-mode': 'the same',
  'header accept-encoding': 'compression would hold back what is streamed',
  'header x-stainless-helper-method': 'telemetry: the stream() of the SDK',
};

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const weather = { name: 'get_weather', description: 'The weather in a city' };
const question = { role: 'user', content: 'What is the weather in Paris?' } as const;

describe('the official Anthropic client', () => {
  let sandbox: Sandbox;
  const providers: MuLLM[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((provider) => provider.dispose()));
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const client = (): Anthropic => new Anthropic({ apiKey: key, baseURL: sandbox.endpoints.mu, maxRetries: 0 });
  async function ready(config: MuLLMConfig = {}): Promise<MuLLM> {
    const llm = new MuLLM({ apiKey: key, endpoint: sandbox.endpoints.mu, ...config });
    providers.push(llm);
    await llm.initialize();
    return llm;
  }
  const common = {
    model: 'claude-haiku-5-5',
    max_tokens: 200,
    system: 'Be brief.',
    thinking: { type: 'disabled' },
    stop_sequences: ['STOP'],
    tools: [{ ...weather, input_schema: { ...parameters, required: [...parameters.required] } }],
  } satisfies Partial<Anthropic.MessageStreamParams>;
  const config: MuLLMConfig = { maxTokens: 200, systemPrompt: 'Be brief.', stopSequences: ['STOP'] };
  const tools = [{ ...weather, parameters }];

  it('has tools called, and MuLLM sends the same', async () => {
    const stream = client().messages.stream({
      ...common,
      messages: [question],
      tool_choice: { type: 'tool', name: 'get_weather' },
    });
    const message = await stream.finalMessage();
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content).toContainEqual(expect.objectContaining({ name: 'get_weather', input: { city: 'Paris' } }));

    const ours = await ready(config);
    const events$ = ours.generate([question], { tools, toolChoice: { name: 'get_weather' } });
    const events = await lastValueFrom(events$.pipe(toArray()));
    expect(events).toContainEqual(expect.objectContaining({ name: 'get_weather', args: { city: 'Paris' } }));
    const [theirWire, ourWire] = bothRecords(sandbox, 'mu-llm');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it("is told a tool's result and the usage, and MuLLM sends the same", async () => {
    const call = { id: 'toolu_1', name: 'get_weather', args: { city: 'Paris' }, argsText: '{"city":"Paris"}' };
    const stream = client().messages.stream({
      ...common,
      messages: [
        question,
        { role: 'assistant', content: [{ type: 'tool_use', id: call.id, name: call.name, input: call.args }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '{"sky":"sunny"}' }] },
      ],
    });
    const message = await stream.finalMessage();
    const said = await stream.finalText();

    const ours = await ready(config);
    const history: Message[] = [
      question,
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', toolCallId: call.id, content: '{"sky":"sunny"}' },
    ];
    const events = await lastValueFrom(ours.generate(history, { tools }).pipe(toArray()));
    const texts = events.map((event: LLMEvent) => (event.type === 'token' ? event.text : ''));
    expect(texts.join('')).toBe(said);
    expect(said).toContain('sunny');
    const { input_tokens: inputTokens, output_tokens: outputTokens } = message.usage;
    expect(events.at(-1)).toMatchObject({ finishReason: 'stop', usage: { inputTokens, outputTokens } });
    const [theirWire, ourWire] = bothRecords(sandbox, 'mu-llm');
    expectSameWire(ourWire, theirWire, ofItsRequests);
  });

  it('stops in the middle of an answer, and MuLLM does the same', async () => {
    const messages = [{ role: 'user', content: 'Count to 50 slowly' }] as const;
    const { model, max_tokens } = common;
    const stream = await client().messages.create({ model, max_tokens, messages: [...messages], stream: true });
    for await (const { type } of stream) if (type === 'content_block_delta') break;
    const ours = await ready();
    await firstValueFrom(ours.generate(messages).pipe(filter(({ type }) => type === 'token')));
    const [theirWire, ourWire] = bothRecords(sandbox, 'mu-llm');
    await until(() => theirWire.aborted && ourWire.aborted);
  });
});
