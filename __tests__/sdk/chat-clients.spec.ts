/**
 * The clients of those who sell chat completions, against the sandbox, and ours against theirs: for the same options the
 * same address, headers and body, save for what stands here with its reason.
 *
 * Slow: the vendors' clients take seconds to load.
 */
import { Mistral } from '@mistralai/mistralai';
import Groq from 'groq-sdk';
import OpenAI from 'openai';
import { filter, firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { NuLLM, OmicronLLM, ThetaLLM, XiLLM, type Message } from '../../lib/index.ts';
import type { ChatConfig, ChatLLM } from '../../lib/provider.ts';
import { bodyJson, startSandbox, type Sandbox, type ServiceName } from '../../samples/sandbox/index.ts';
import { bothRecords, expectSameWire, until, type Stated } from './wire.ts';

const key = 'sandbox-key';
const ofItsFetch: Stated = {
  'header user-agent': 'the name of the client',
  'header accept-language': 'what its fetch adds to every request',
  'header sec-fetch-mode': 'the same',
  'header accept-encoding': 'compression would hold back what is streamed',
};
const stainless = ['arch', 'lang', 'os', 'package-version', 'retry-count', 'runtime', 'runtime-version'];
const ofStainless: Stated = {
  ...ofItsFetch,
  'header accept': 'we ask for the event stream that we get; it asks for JSON and gets the same',
  ...Object.fromEntries(stainless.map((name) => [`header x-stainless-${name}`, 'telemetry of its generator'])),
};

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const weather = { name: 'get_weather', description: 'The weather in a city', parameters };
const wireTool = { type: 'function' as const, function: weather };
const choice = { type: 'function' as const, function: { name: weather.name } };
// An id of the form that all of them take.
const call = { id: 'call12345', name: weather.name, args: { city: 'Paris' }, argsText: '{"city":"Paris"}' };
const result = '{"sky":"sunny"}';
const systemPrompt = 'Be brief.';

/** A part of an answer, as its client gives it. */
interface Piece {
  readonly text?: string | null | undefined;
  readonly name?: string | undefined;
  readonly args?: string | undefined;
  readonly finish?: string | null | undefined;
  readonly tokens?: number | undefined;
}

/** What a client is to ask. */
interface Asked {
  readonly question: string;
  /** Whether the tool must be called; else its result is in the history, where there are tools. */
  readonly step: 'call' | 'result' | 'plain';
}

interface Subject {
  readonly name: string;
  readonly service: ServiceName;
  readonly ask: (sandbox: Sandbox, asked: Asked) => AsyncGenerator<Piece>;
  readonly create: (sandbox: Sandbox, config: ChatConfig) => ChatLLM<ChatConfig>;
  readonly stated: Stated;
  /** The reason that stands at the end of an answer with calls. Default: `tool_calls`. */
  readonly callsFinish?: string;
  /** What differs besides where there is a history. */
  readonly ofItsHistory?: Stated;
}

/** What Gemini wants with a call that it has not made. */
const unsigned = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } };

/** The history as the wire has it; `extras` go with a call. */
const wireMessages = ({ question, step }: Asked, extras: object = {}) => [
  { role: 'system' as const, content: systemPrompt },
  { role: 'user' as const, content: question },
  ...(step === 'result'
    ? [
        {
          role: 'assistant' as const,
          content: null,
          tool_calls: [
            {
              ...{ id: call.id, type: 'function' as const, function: { name: call.name, arguments: call.argsText } },
              ...extras,
            },
          ],
        },
        { role: 'tool' as const, tool_call_id: call.id, content: result },
      ]
    : []),
];
const wireTools = ({ step }: Asked) =>
  step === 'plain' ? {} : { tools: [wireTool], ...(step === 'call' && { tool_choice: choice }) };
const sampling = { temperature: 0.5, top_p: 0.9, stop: ['STOP'], max_completion_tokens: 200, seed: 7 };

const subjects: readonly Subject[] = [
  {
    name: 'OpenAI and ThetaLLM',
    service: 'theta-llm',
    stated: ofStainless,
    async *ask({ endpoints }, asked) {
      const client = new OpenAI({ apiKey: key, baseURL: endpoints.theta, maxRetries: 0, organization: 'org-1' });
      const stream = await client.chat.completions.create({
        ...{ model: 'gpt-5.4-mini', messages: wireMessages(asked), ...wireTools(asked), ...sampling },
        ...{ stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
        reasoning_effort: 'none',
      });
      for await (const { choices, usage } of stream) {
        const [first] = choices;
        const made = first?.delta.tool_calls?.[0]?.function;
        yield { text: first?.delta.content, name: made?.name, args: made?.arguments, finish: first?.finish_reason };
        yield { tokens: usage?.total_tokens };
      }
    },
    create: ({ endpoints }, config) =>
      new ThetaLLM({ ...config, endpoint: endpoints.theta, model: 'gpt-5.4-mini', organizationId: 'org-1' }),
  },
  {
    name: 'Groq and NuLLM',
    service: 'nu-llm',
    stated: ofStainless,
    async *ask({ endpoints }, asked) {
      // It adds the rest of the address itself.
      const baseURL = endpoints.nu.replace(/\/openai\/v1$/, '');
      const client = new Groq({ apiKey: key, baseURL, maxRetries: 0 });
      const stream = await client.chat.completions.create({
        ...{ model: 'openai/gpt-oss-20b', messages: wireMessages(asked), ...wireTools(asked), ...sampling },
        ...{ stream: true, reasoning_effort: 'low' },
      });
      for await (const { choices, x_groq } of stream) {
        const [first] = choices;
        const made = first?.delta.tool_calls?.[0]?.function;
        yield { text: first?.delta.content, name: made?.name, args: made?.arguments, finish: first?.finish_reason };
        yield { tokens: x_groq?.usage?.total_tokens };
      }
    },
    create: ({ endpoints }, config) => new NuLLM({ ...config, endpoint: endpoints.nu, model: 'openai/gpt-oss-20b' }),
  },
  {
    name: 'OpenAI’s client of Gemini and OmicronLLM',
    service: 'omicron-llm',
    stated: ofStainless,
    callsFinish: 'stop',
    async *ask({ endpoints }, asked) {
      const client = new OpenAI({ apiKey: key, baseURL: endpoints.omicron, maxRetries: 0 });
      const { max_completion_tokens: most, ...others } = sampling;
      // Gemini knows the older name alone.
      const limit: object = { max_tokens: most };
      const stream = await client.chat.completions.create({
        ...{ model: 'gemini-3.8-flash', messages: wireMessages(asked, unsigned), ...wireTools(asked) },
        ...{ ...others, ...limit, reasoning_effort: 'low' },
        ...{ stream: true, stream_options: { include_usage: true } },
      });
      for await (const { choices, usage } of stream) {
        const [first] = choices;
        const made = first?.delta.tool_calls?.[0]?.function;
        yield { text: first?.delta.content, name: made?.name, args: made?.arguments, finish: first?.finish_reason };
        yield { tokens: usage?.total_tokens };
      }
    },
    create: ({ endpoints }, config) => new OmicronLLM({ ...config, endpoint: endpoints.omicron }),
  },
  {
    name: 'Mistral and XiLLM',
    service: 'xi-llm',
    stated: { ...ofItsFetch, 'header cookie': 'its runtime gives every request one, which is empty' },
    ofItsHistory: {
      'body messages': 'it writes out that an answer is no prefix, and the index of a call',
      'header content-length': 'the same',
    },
    async *ask({ endpoints }, asked) {
      const { question, step } = asked;
      const client = new Mistral({ apiKey: key, serverURL: endpoints.xi.replace(/\/v1$/, '') });
      const made = { id: call.id, function: { name: call.name, arguments: call.argsText } };
      const stream = await client.chat.stream({
        model: 'mistral-small-latest',
        messages: [
          { role: 'system', content: systemPrompt },
          { role: 'user', content: question },
          ...(step === 'result'
            ? [
                { role: 'assistant' as const, content: null, toolCalls: [made] },
                { role: 'tool' as const, toolCallId: call.id, content: result },
              ]
            : []),
        ],
        ...(step !== 'plain' && { tools: [wireTool] }),
        ...(step === 'call' && { toolChoice: choice }),
        ...{ temperature: 0.5, topP: 0.9, stop: ['STOP'], maxTokens: 200, randomSeed: 7, reasoningEffort: 'none' },
      });
      for await (const { data } of stream) {
        const [first] = data.choices;
        const content = first?.delta.content;
        const { name, arguments: args } = first?.delta.toolCalls?.[0]?.function ?? {};
        yield {
          text: typeof content === 'string' ? content : undefined,
          ...{ name, args: typeof args === 'object' ? JSON.stringify(args) : args, finish: first?.finishReason },
        };
        yield { tokens: data.usage?.totalTokens };
      }
    },
    create: ({ endpoints }, config) => new XiLLM({ ...config, endpoint: endpoints.xi }),
  },
];

describe('the official clients of chat completions', () => {
  let sandbox: Sandbox;
  const providers: ChatLLM<ChatConfig>[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((provider) => provider.dispose()));
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  for (const { name, service, ask, create, stated, ofItsHistory, callsFinish = 'tool_calls' } of subjects) {
    const ready = async (): Promise<ChatLLM<ChatConfig>> => {
      const ours = create(sandbox, {
        ...{ apiKey: key, systemPrompt, temperature: 0.5, topP: 0.9, stopSequences: ['STOP'], maxTokens: 200, seed: 7 },
      });
      providers.push(ours);
      await ours.initialize();
      return ours;
    };
    /** All that a client was told. */
    async function answer(asked: Asked): Promise<Readonly<Record<keyof Piece, unknown>>> {
      const pieces: Piece[] = [];
      for await (const piece of ask(sandbox, asked)) pieces.push(piece);
      const last = (member: keyof Piece): unknown => pieces.findLast((piece) => piece[member] != null)?.[member];
      return {
        text: pieces.map(({ text }) => text ?? '').join(''),
        args: pieces.map(({ args }) => args ?? '').join(''),
        ...{ name: last('name'), finish: last('finish'), tokens: last('tokens') },
      };
    }
    const question = 'What is the weather in Paris?';

    it(`${name} have tools called with the same request`, async () => {
      const theirs = await answer({ question, step: 'call' });
      expect(theirs).toMatchObject({ name: 'get_weather', args: '{"city":"Paris"}', finish: callsFinish });

      const ours = await ready();
      const options = { tools: [weather], toolChoice: { name: weather.name } };
      const events = await lastValueFrom(ours.generate([{ role: 'user', content: question }], options).pipe(toArray()));
      expect(events).toContainEqual(expect.objectContaining({ name: 'get_weather', args: { city: 'Paris' } }));
      expect(events.at(-1)).toMatchObject({ usage: { totalTokens: theirs.tokens } });
      const [theirWire, ourWire] = bothRecords(sandbox, service);
      expectSameWire(ourWire, theirWire, stated);
    });

    it(`${name} tell a tool's result with the same request, and hear the same answer`, async () => {
      const theirs = await answer({ question, step: 'result' });
      expect(theirs).toMatchObject({ text: expect.stringContaining('sunny') as unknown, finish: 'stop' });

      const ours = await ready();
      const history: Message[] = [
        { role: 'user', content: question },
        { role: 'assistant', content: '', toolCalls: [call] },
        { role: 'tool', toolCallId: call.id, content: result },
      ];
      const events = await lastValueFrom(ours.generate(history, { tools: [weather] }).pipe(toArray()));
      expect(events.map((event) => (event.type === 'token' ? event.text : '')).join('')).toBe(theirs.text);
      expect(events.at(-1)).toMatchObject({ finishReason: 'stop' });
      const [theirWire, ourWire] = bothRecords(sandbox, service);
      expectSameWire(ourWire, theirWire, { ...stated, ...ofItsHistory });
      const { messages } = bodyJson(ourWire) as { readonly messages: unknown };
      expect(bodyJson(theirWire)).toMatchObject({ messages });
    });

    it(`${name} stop the service in the middle of an answer`, async () => {
      const slow = 'Count to 50 slowly';
      for await (const { text } of ask(sandbox, { question: slow, step: 'plain' })) if (text) break;
      const ours = await ready();
      const answer$ = ours.generate([{ role: 'user', content: slow }]);
      await firstValueFrom(answer$.pipe(filter(({ type }) => type === 'token')));
      const [theirWire, ourWire] = bothRecords(sandbox, service);
      await until(() => theirWire.aborted && ourWire.aborted);
      expectSameWire(ourWire, theirWire, stated);
    });
  }
});
