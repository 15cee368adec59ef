import { boolean, integer, isObject, member, number, object, oneOf, string, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { Vendor } from '../vendor.ts';
import { chatVendor, responseFormat, stop, toolChoice, tools } from './chat-completions.ts';
import type { ChatErrorDetails } from './chat-completions.ts';

const models = /^gemini-(2\.5-(pro|flash|flash-lite)|3\.[1-8]-[a-z-]+|4-[a-z]+|(flash|flash-lite|pro)-latest)$/;

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

function refuse(status: number, why: string, details: ChatErrorDetails = {}): Refusal {
  const message = details.message ?? why;
  const info = '@type';
  const reason =
    details.code == null
      ? {}
      : { details: [{ [info]: 'type.googleapis.com/google.rpc.ErrorInfo', reason: details.code }] };
  return new Refusal(
    status,
    [{ error: { code: status, message, status: statuses[status] ?? 'INTERNAL', ...reason } }],
    why,
  );
}

/** A call of the history that is not signed. */
function unsignedCall(messages: readonly unknown[]): string | undefined {
  const calls = messages.flatMap((message) => {
    const own = member(message, 'tool_calls');
    return Array.isArray(own) ? (own as unknown[]) : [];
  });
  const unsigned = calls.find((call) => {
    const google = member(member(call, 'extra_content'), 'google');
    return textMember(google, 'thought_signature') === '';
  });
  return isObject(unsigned) ? textMember(unsigned['function'], 'name') : undefined;
}

const vendor: Vendor = chatVendor({
  service: 'omicron-llm',
  mount: 'omicron/v1beta/openai',
  fields: {
    max_tokens: integer(1),
    max_completion_tokens: integer(1),
    temperature: number(0, 2),
    top_p: number(0, 1),
    stop,
    seed: integer(),
    n: integer(1),
    tools,
    tool_choice: toolChoice,
    parallel_tool_calls: boolean,
    reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high'),
    response_format: responseFormat,
    stream_options: object,
    extra_body: object,
    user: string,
  },
  callFields: { extra_content: object },
  checkModel(body) {
    const model = textMember(body, 'model');
    if (!models.test(model)) {
      return refuse(404, `models/${model} is not found for API version v1main, or is not supported`);
    }
    const effort = textMember(body, 'reasoning_effort');
    // Plain 2.5 Flash is answered by 3.5 Flash-Lite.
    if (effort === 'none' && !model.startsWith('gemini-2.5-flash-'))
      return refuse(400, 'Budget 0 is invalid. This model only works in thinking mode.');
    if (effort === 'minimal' && /^gemini-(3\.[78]|.*pro)/.test(model))
      return refuse(
        400,
        'Thinking level MINIMAL is not supported for this model. Please retry with other thinking level.',
      );
    const unsigned = unsignedCall(body['messages'] as readonly unknown[]);
    if (unsigned === undefined || model.startsWith('gemini-2')) return undefined;
    const message = `Function call is missing a thought_signature in functionCall parts. Function: ${unsigned}`;
    return refuse(400, message);
  },
  refuse,
  wholeCall: ({ name, args }) => ({
    ...{ id: `function-call-${crypto.randomUUID().slice(0, 8)}`, type: 'function' },
    function: { name, arguments: JSON.stringify(args) },
    extra_content: { google: { thought_signature: `sig-${crypto.randomUUID()}` } },
  }),
  finishReasons: {
    'tool-calls': 'stop',
    filtered: 'content_filter: RECITATION',
    'malformed-call': 'function_call_filter: MALFORMED_FUNCTION_CALL',
  },
});

/** Gemini's chat completions layer: `https://generativelanguage.googleapis.com/v1beta/openai/chat/completions`. */
export const omicron: Vendor = {
  ...vendor,
  authorize({ headers }, credentials) {
    const key = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
    if (credentials.isKey(key)) return;
    const message = 'API key not valid. Please pass a valid API key.';
    throw refuse(400, 'Authorization: Bearer with a wrong key, or none', { message, code: 'API_KEY_INVALID' });
  },
};
