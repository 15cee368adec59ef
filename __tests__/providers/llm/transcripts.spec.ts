/**
 * The sessions of the vendors' references, message for message: `C:` is what the client must have asked, path and body,
 * `S:` what the service answers, a status and a type, then an event a line (or the body of a refusal).
 */
import type { GenerateOptions, Message, ToolCall } from '../../../lib/core/messages.ts';
import type { ChatLLM } from '../../../lib/providers/llm/chat-llm.ts';
import type { LLMConfig } from '../../../lib/providers/llm/llm-config.ts';
import { CompatibleLLM } from '../../../lib/providers/llm/compatible-llm.ts';
import { MuLLM } from '../../../lib/providers/llm/mu-llm.ts';
import { NuLLM } from '../../../lib/providers/llm/nu-llm.ts';
import { OmicronLLM } from '../../../lib/providers/llm/omicron-llm.ts';
import { ThetaLLM } from '../../../lib/providers/llm/theta-llm.ts';
import { serve, type Site } from '../../transport/http-fixture.ts';
import { outcomeOf, type Outcome } from './llm-fixture.ts';

interface Exchange {
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly type: string;
  readonly lines: readonly string[];
}

function exchangesOf(script: string): Exchange[] {
  return script
    .split(/^ *C: POST /m)
    .slice(1)
    .map((part) => {
      const [asked = '', ...answered] = part.split(/^ *S: /m).map((text) => text.trim());
      const [path = '', body = '{}'] = asked.split(/\s(.*)/s);
      const [, status, type = '', refusal] = /^(\d+) (\S+)(?: (.*))?$/.exec(answered[0] ?? '') ?? [];
      const lines = refusal === undefined ? answered.slice(1) : [refusal];
      return { path, body: JSON.parse(body) as unknown, status: Number(status), type, lines };
    });
}

/** An event as the service frames it: Anthropic's have the type of their JSON as their name. */
function framed(line: string): string {
  const { type } = line.startsWith('{') ? (JSON.parse(line) as { readonly type: string }) : { type: '' };
  return type ? `event: ${type}\ndata: ${line}\n\n` : `${line}\n\n`;
}

const hi: readonly Message[] = [{ role: 'user', content: 'Hi' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ name: 'get_weather', parameters }];
const callOf = (id: string, city: string): ToolCall => ({
  ...{ id, name: 'get_weather', args: { city }, argsText: JSON.stringify({ city }) },
});

describe('language models: the sessions of the references', () => {
  let site: Site;
  let exchanges: readonly Exchange[] = [];
  beforeAll(async () => {
    site = await serve((response) => {
      const { status = 500, type = '', lines = [] } = exchanges[site.requests.length - 1] ?? {};
      response.writeHead(status, { 'Content-Type': type });
      response.end(type === 'text/event-stream' ? lines.map(framed).join('') : lines.join(''));
    });
  });
  afterAll(() => site.close());

  type Asked = readonly [history: readonly Message[], options?: GenerateOptions];

  /** Asks one after the other; gives what came of each. */
  async function played(
    create: (config: { readonly endpoint: string; readonly apiKey: string }) => ChatLLM<LLMConfig>,
    script: string,
    ...asked: readonly Asked[]
  ): Promise<Outcome[]> {
    exchanges = exchangesOf(script);
    site.requests.length = 0;
    const llm = create({ endpoint: site.url, apiKey: 'canary-7f3a' });
    await llm.initialize();
    const outcomes: Outcome[] = [];
    for (const [history, options] of asked) outcomes.push(await outcomeOf(llm.generate(history, options)));
    await llm.dispose();
    expect(site.requests.map(({ method, url, body }) => [method, url, JSON.parse(body) as unknown])).toEqual(
      exchanges.map(({ path, body }) => ['POST', path, body]),
    );
    expect(site.requests.every(({ headers }) => headers.authorization === 'Bearer canary-7f3a')).toBe(true);
    return outcomes;
  }
  const done = (finishReason: string, usage?: readonly [number, number, number]): unknown => ({
    ...{ type: 'done', finishReason },
    ...(usage && { usage: { inputTokens: usage[0], outputTokens: usage[1], totalTokens: usage[2] } }),
  });
  const token = (text: string): unknown => ({ type: 'token', text });

  describe('ThetaLLM', () => {
    const create = (config: LLMConfig): ThetaLLM =>
      new ThetaLLM({ ...config, endpoint: `${site.url}/v1`, model: 'gpt-4.1-mini', systemPrompt: 'Be brief.' });
    const asks = String.raw`
      C: POST /v1/chat/completions
         {"model":"gpt-4.1-mini","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}}
    `;
    const begins = String.raw`
      S: 200 text/event-stream
      S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-mini","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}
      S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-mini","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":null}
      S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-mini","choices":[{"index":0,"delta":{"content":" there!"},"finish_reason":null}],"usage":null}
    `;

    it('an answer', async () => {
      const script = String.raw`
        ${asks}
        ${begins}
        S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-mini","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}
        S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-mini","choices":[],"usage":{"prompt_tokens":14,"completion_tokens":3,"total_tokens":17}}
        S: data: [DONE]
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome?.events).toEqual([token('Hello'), token(' there!'), done('stop', [14, 3, 17])]);
    });

    it('a wrong key: once, for good, and without its text', async () => {
      const script = String.raw`
        ${asks}
        S: 401 application/json {"error":{"message":"Incorrect API key provided: sk-bad.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome).toMatchObject({ events: [], error: { code: 'unauthorized', status: 401, recoverable: false } });
      expect(outcome?.error?.message).not.toContain('sk-bad');
    });

    it('an error inside: the text stands, the turn fails, nobody asks again', async () => {
      const script = String.raw`
        ${asks}
        ${begins}
        S: data: {"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome).toMatchObject({ text: 'Hello there!', error: { code: 'server', recoverable: true } });
    });
  });

  it('NuLLM: an answer after a thought', async () => {
    const script = String.raw`
      C: POST /openai/v1/chat/completions
         {"model":"openai/gpt-oss-20b","messages":[{"role":"user","content":"Hi"}],"stream":true,"max_completion_tokens":256,"reasoning_effort":"low"}
      S: 200 text/event-stream
      S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"x_groq":{"id":"req_01"}}
      S: : keep-alive comment
      S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"reasoning":"Greet."},"finish_reason":null}]}
      S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{"content":"Hello!"},"finish_reason":null}]}
      S: data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"openai/gpt-oss-20b","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_01","usage":{"prompt_tokens":9,"completion_tokens":8,"total_tokens":17}}}
      S: data: [DONE]
    `;
    const create = (config: LLMConfig): NuLLM =>
      new NuLLM({ ...config, endpoint: `${site.url}/openai/v1`, model: 'openai/gpt-oss-20b', maxTokens: 256 });
    const [outcome] = await played(create, script, [hi]);
    expect(outcome?.events).toEqual([token('Hello!'), done('stop', [9, 8, 17])]);
  });

  describe('OmicronLLM', () => {
    const create = (config: LLMConfig): OmicronLLM =>
      new OmicronLLM({ ...config, endpoint: `${site.url}/v1beta/openai` });
    const asks = String.raw`
      C: POST /v1beta/openai/chat/completions
         {"model":"gemini-3.8-flash","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"low"}
    `;

    it('a wrong key, which is a 400 and an array', async () => {
      const script = String.raw`
        ${asks}
        S: 400 application/json [{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome).toMatchObject({ events: [], error: { code: 'unauthorized', status: 400, recoverable: false } });
    });

    it('calls of a model that lost their signature: fatal', async () => {
      const script = String.raw`
        ${asks}
        S: 400 application/json [{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}]
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome?.error).toMatchObject({ code: 'configuration', status: 400, recoverable: false });
    });
  });

  describe('CompatibleLLM', () => {
    const create = (config: LLMConfig): CompatibleLLM => new CompatibleLLM({ ...config, model: 'm' });

    it('an error inside, after which [DONE] comes all the same', async () => {
      const script = String.raw`
        C: POST /chat/completions
           {"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}
        S: 200 text/event-stream
        S: data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}
        S: data: {"error":{"message":"Internal error","type":"server_error","code":500}}
        S: data: [DONE]
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome).toMatchObject({ text: 'Hel', error: { code: 'server', recoverable: true } });
    });

    it('a tool turn: words, a call in pieces, its result, the answer', async () => {
      const script = String.raw`
        C: POST /chat/completions {"model":"m","stream":true,"messages":[{"role":"user","content":"Weather in Paris?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}
        S: 200 text/event-stream
        S: data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"One moment."},"finish_reason":null}]}
        S: data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"ci"}}]},"finish_reason":null}]}
        S: data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"ty\":\"Paris\"}"}}]},"finish_reason":null}]}
        S: data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
        S: data: [DONE]
        C: POST /chat/completions {"model":"m","stream":true,"messages":[{"role":"user","content":"Weather in Paris?"},{"role":"assistant","content":"One moment.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"{\"c\":18}"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}
        S: 200 text/event-stream
        S: data: {"id":"c2","object":"chat.completion.chunk","created":2,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"It is 18 degrees."},"finish_reason":null}]}
        S: data: {"id":"c2","object":"chat.completion.chunk","created":2,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
        S: data: [DONE]
      `;
      const question: Message = { role: 'user', content: 'Weather in Paris?' };
      const call = callOf('call_1', 'Paris');
      const answered: Message[] = [
        { role: 'assistant', content: 'One moment.', toolCalls: [call] },
        { role: 'tool', toolCallId: 'call_1', content: '{"c":18}' },
      ];
      const [calls, answer] = await played(
        create,
        script,
        [[question], { tools }],
        [[question, ...answered], { tools }],
      );
      expect(calls?.events).toEqual([token('One moment.'), { type: 'tool-call', ...call }, done('tool-calls')]);
      expect(answer?.events).toEqual([token('It is 18 degrees.'), done('stop')]);
    });
  });

  describe('MuLLM', () => {
    const create = (config: LLMConfig): MuLLM => new MuLLM({ ...config, systemPrompt: 'Be brief.' });
    const asks = String.raw`
      C: POST /v1/messages
         {"model":"claude-haiku-5-5","max_tokens":1024,"system":"Be brief.","thinking":{"type":"disabled"},"messages":[{"role":"user","content":"Hi"}],"stream":true}
    `;
    const begins = String.raw`
      S: 200 text/event-stream
      S: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-haiku-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}
      S: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":null}}
      S: {"type":"ping"}
      S: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}
    `;

    it('an answer', async () => {
      const script = String.raw`
        ${asks}
        ${begins}
        S: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" there."}}
        S: {"type":"content_block_stop","index":0}
        S: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}
        S: {"type":"message_stop"}
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome?.events).toEqual([token('Hello'), token(' there.'), done('stop', [12, 5, 17])]);
    });

    it('a wrong key', async () => {
      const script = String.raw`
        ${asks}
        S: 401 application/json {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_012"}
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome).toMatchObject({ events: [], error: { code: 'unauthorized', status: 401, recoverable: false } });
    });

    it('an error inside: the text stands, the turn fails', async () => {
      const script = String.raw`
        ${asks}
        ${begins}
        S: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
      `;
      const [outcome] = await played(create, script, [hi]);
      expect(outcome).toMatchObject({ text: 'Hello', error: { code: 'overloaded', recoverable: true } });
    });

    const interrupted: readonly Message[] = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: '', toolCalls: [callOf('toolu_01', 'Paris')] },
      { role: 'user', content: 'Stop' },
    ];
    const repaired = String.raw`
      C: POST /v1/messages
         {"model":"claude-haiku-5-5","max_tokens":1024,"system":"Be brief.","thinking":{"type":"disabled"},"messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01","name":"get_weather","input":{"city":"Paris"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"Cancelled: the user interrupted.","is_error":true},{"type":"text","text":"Stop"}]}],"tools":[{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}],"stream":true}
    `;

    it('a call that an interruption left without result goes out repaired', async () => {
      const script = String.raw`
        ${repaired}
        ${begins}
        S: {"type":"content_block_stop","index":0}
        S: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}
        S: {"type":"message_stop"}
      `;
      const [outcome] = await played(create, script, [interrupted, { tools }]);
      expect(outcome?.text).toBe('Hello');
    });

    it('a history that the service refuses all the same: fatal', async () => {
      const script = `
        ${repaired}
        S: 400 application/json {"type":"error","error":{"type":"invalid_request_error","message":"messages.1: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: toolu_01. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message."},"request_id":"req_02"}
      `;
      const [outcome] = await played(create, script, [interrupted, { tools }]);
      expect(outcome?.error).toMatchObject({ code: 'configuration', status: 400, recoverable: false });
    });
  });
});
