import { anyOf, arrayOf, boolean, integer, member, number, object, oneOf, string, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { chatVendor, responseFormat, stop, toolChoice, tools } from './chat-completions.ts';
import type { ChatErrorDetails } from './chat-completions.ts';

const models =
  /^(mistral-small-(latest|2603)|mistral-medium-(latest|2604|3[-.]5)|mistral-large-(latest|2512|4(-0)?)|magistral-(small|medium)-latest|ministral-(3|8|14)b-latest|zai-glm-(latest|5-3))$/;
/** The efforts that models take; others take none. The last two kinds always think. */
const efforts: readonly (readonly [models: RegExp, efforts: readonly string[]])[] = [
  [/^(mistral-(small|medium)|magistral)-/, ['none', 'high']],
  [/^mistral-large-4/, ['low', 'medium', 'high']],
  [/^zai-glm-/, ['low', 'high', 'max']],
];
const callId = /^[a-zA-Z0-9]{9}$/;

function refuse(status: number, why: string, details: ChatErrorDetails = {}): Refusal {
  if (status === 401) return new Refusal(401, { detail: 'Unauthorized' }, why);
  if (status === 422) {
    const detail = [
      { loc: ['body', details.param ?? ''], msg: 'Extra inputs are not permitted', type: 'extra_forbidden' },
    ];
    return new Refusal(422, { detail }, why);
  }
  const [type, code, message] =
    status === 429
      ? ['rate_limited', '1300', 'Rate limit exceeded']
      : status >= 500
        ? ['service_unavailable', '3000', 'Service unavailable.']
        : ['invalid_request_error', null, details.message ?? why];
  return new Refusal(status, { object: 'error', message, type, param: null, code, raw_status_code: status }, why);
}

/** What is wrong with the order of the messages, or with the ids in them. */
function problem(messages: readonly unknown[]): string | undefined {
  const roles = messages.map((message) => textMember(message, 'role'));
  const first = roles.findIndex((role) => role !== 'system');
  if (first >= 0 && roles.slice(first).includes('system')) return 'System messages must come first.';
  const interrupted = roles.findIndex((role, at) => role === 'user' && roles[at - 1] === 'tool');
  if (interrupted >= 0) return "Unexpected role 'user' after role 'tool'";
  if (roles.at(-1) === 'assistant' && member(messages.at(-1), 'prefix') !== true)
    return 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant';
  const ids = messages.flatMap((message) => {
    const calls = member(message, 'tool_calls');
    const own = textMember(message, 'tool_call_id');
    return [
      ...(Array.isArray(calls) ? calls.map((call: unknown) => textMember(call, 'id')) : []),
      ...(own ? [own] : []),
    ];
  });
  const wrong = ids.find((id) => !callId.test(id));
  return wrong === undefined ? undefined : `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
}

/** Mistral: `https://api.mistral.ai/v1/chat/completions`. */
export const xi: Vendor = chatVendor({
  service: 'xi-llm',
  mount: 'xi/v1',
  fields: {
    max_tokens: integer(1),
    temperature: number(0, 1.5),
    top_p: number(0, 1),
    stop,
    random_seed: integer(0),
    metadata: object,
    response_format: responseFormat,
    tools,
    tool_choice: anyOf(toolChoice, oneOf('any')),
    parallel_tool_calls: boolean,
    presence_penalty: number(-2, 2),
    frequency_penalty: number(-2, 2),
    n: integer(1),
    prediction: object,
    reasoning_effort: oneOf('none', 'low', 'medium', 'high', 'max'),
    prompt_mode: string,
    guardrails: arrayOf(object),
    prompt_cache_key: string,
    service_tier: string,
    safe_prompt: boolean,
  },
  callFields: { index: integer(0) },
  answerFields: { prefix: boolean },
  checkModel(body) {
    const model = textMember(body, 'model');
    if (!models.test(model)) return refuse(400, `Invalid model: ${model}`, { message: `Invalid model: ${model}` });
    const effort = body['reasoning_effort'];
    const allowed = efforts.find(([names]) => names.test(model))?.[1] ?? [];
    if (typeof effort === 'string' && !allowed.includes(effort)) {
      return refuse(400, `reasoning_effort ${effort} is not for ${model}`);
    }
    const wrong = problem(body['messages'] as readonly unknown[]);
    return wrong === undefined ? undefined : refuse(400, wrong, { message: wrong });
  },
  refuse,
  unknownFieldStatus: 422,
  thought: (think) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: think }] }] }),
  wholeCall: ({ name, args }, index) => ({
    ...{ index, id: crypto.randomUUID().replaceAll('-', '').slice(0, 9), type: 'function' },
    function: { name, arguments: JSON.stringify(args) },
  }),
  lastChunk: (_requestId, usage) => ({ usage }),
});
