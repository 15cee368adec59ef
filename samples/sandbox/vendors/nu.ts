import { boolean, integer, member, number, object, oneOf, string, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { chatVendor, imagesOf, responseFormat, stop, toolChoice, tools } from './chat-completions.ts';
import type { ChatErrorDetails } from './chat-completions.ts';

/** The free tiers lost the Llama models in August 2026; contracts keep them, and the sandbox is one. */
const models = [
  'llama-3.3-70b-versatile',
  'llama-3.1-8b-instant',
  'openai/gpt-oss-120b',
  'openai/gpt-oss-20b',
  'qwen/qwen3.8-27b',
  'qwen/qwen3.6-27b',
];
const isReasoning = (model: string): boolean => model.startsWith('openai/');

const errors: Readonly<Record<number, readonly [message: string, type: string, code: string | undefined]>> = {
  400: ['Bad request', 'invalid_request_error', undefined],
  401: ['Invalid API Key', 'invalid_request_error', 'invalid_api_key'],
  404: ['Unknown request URL', 'invalid_request_error', 'unknown_url'],
  429: ['Rate limit reached for model', 'tokens', 'rate_limit_exceeded'],
  498: ['Flex tier capacity exceeded', 'invalid_request_error', 'capacity_exceeded'],
};

function refuse(status: number, why: string, details: ChatErrorDetails = {}): Refusal {
  const [message, type, code] = errors[status] ?? ['Internal Server Error', 'internal_server_error', undefined];
  const error = { message: details.message ?? message, type: details.type ?? type, code: details.code ?? code };
  return new Refusal(status, { error }, why);
}

/** Groq: `https://api.groq.com/openai/v1/chat/completions`. */
export const nu: Vendor = chatVendor({
  service: 'nu-llm',
  tellsDetails: true,
  mount: 'nu/openai/v1',
  roles: ['developer'],
  fields: {
    max_completion_tokens: integer(1),
    max_tokens: integer(1),
    temperature: number(0, 2),
    top_p: number(0, 1),
    stop,
    seed: integer(),
    n: oneOf(1),
    tools,
    tool_choice: toolChoice,
    parallel_tool_calls: boolean,
    reasoning_effort: oneOf('none', 'default', 'low', 'medium', 'high'),
    reasoning_format: oneOf('hidden', 'raw', 'parsed'),
    include_reasoning: boolean,
    response_format: responseFormat,
    service_tier: oneOf('auto', 'on_demand', 'flex', 'performance'),
    stream_options: object,
    user: string,
    frequency_penalty: number(-2, 2),
    presence_penalty: number(-2, 2),
  },
  checkModel(body) {
    const model = textMember(body, 'model');
    if (!models.includes(model)) {
      const message = `The model \`${model}\` does not exist or you do not have access to it.`;
      return refuse(404, `unknown model ${model}`, { message, code: 'model_not_found' });
    }
    const named = (body['messages'] as { name?: unknown }[]).some(({ name }) => name !== undefined);
    if (named)
      return refuse(400, 'messages[].name is not taken', { message: "'messages' : property 'name' is unsupported" });
    const sees = (body['messages'] as unknown[]).some((message) => imagesOf(member(message, 'content')).length > 0);
    if (sees && !model.startsWith('qwen/'))
      return refuse(400, `${model} sees no images`, { message: 'messages[0].content must be a string' });
    if (body['reasoning_format'] !== undefined && body['include_reasoning'] !== undefined) {
      return refuse(400, 'reasoning_format and include_reasoning exclude each other');
    }
    const effort = textMember(body, 'reasoning_effort');
    const allowed = isReasoning(model) ? ['low', 'medium', 'high'] : model.startsWith('qwen/') ? undefined : [];
    if (effort && allowed && !allowed.includes(effort)) {
      return refuse(400, `reasoning_effort ${effort} is not for ${model}`, {
        message: '`reasoning_effort` is not supported with this model',
      });
    }
    return undefined;
  },
  refuse,
  reasoningField: 'reasoning',
  alwaysThinks: isReasoning,
  comment: 'keep-alive comment',
  everyChunk: () => ({ system_fingerprint: 'fp_sandbox' }),
  firstChunk: (requestId) => ({ x_groq: { id: requestId } }),
  lastChunk: (requestId, usage) => {
    const timed = { queue_time: 0.04, ...usage, prompt_time: 0.001, completion_time: 0.03, total_time: 0.031 };
    return { x_groq: { id: requestId, usage: timed }, usage: timed };
  },
  headers: () => ({
    'x-ratelimit-limit-requests': '14400',
    'x-ratelimit-remaining-requests': '14370',
    'x-ratelimit-limit-tokens': '18000',
    'x-ratelimit-remaining-tokens': '17997',
    'x-ratelimit-reset-requests': '2m59.56s',
    'x-ratelimit-reset-tokens': '7.66s',
  }),
});
