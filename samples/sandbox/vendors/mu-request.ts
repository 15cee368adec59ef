import type { HttpRequest } from '../call.ts';
import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  filled,
  integer,
  isObject,
  member,
  number,
  object,
  oneOf,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import type { Check } from '../validate.ts';
import { Refusal } from '../vendor.ts';

/** A request's JSON body. */
export type Body = Readonly<Record<string, unknown>>;

const errors: Readonly<Record<number, readonly [type: string, message: string]>> = {
  400: ['invalid_request_error', 'Bad request'],
  401: ['authentication_error', 'invalid x-api-key'],
  402: ['billing_error', 'Your credit balance is too low'],
  403: ['permission_error', 'Your API key does not have permission to use the specified resource.'],
  404: ['not_found_error', 'Not Found'],
  409: ['conflict_error', 'Conflict'],
  413: ['request_too_large', 'Request exceeds the maximum size'],
  429: ['rate_limit_error', 'This request would exceed your rate limit.'],
  504: ['timeout_error', 'Request timed out'],
  529: ['overloaded_error', 'Overloaded'],
};

/** The service's words for a status. */
export function refuse(status: number, why: string, message?: string): Refusal {
  const [type, usual] = errors[status] ?? ['api_error', 'Internal server error'];
  const request = `req_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`;
  const body = { type: 'error', error: { type, message: message ?? usual }, request_id: request };
  return new Refusal(status, body, why, { 'request-id': request });
}

const invalid = (message: string): Refusal => refuse(400, message, message);

const versions = ['2026-10-21', '2023-06-01'];
const cacheControl = { cache_control: object };
const textBlock = shape({
  type: required(oneOf('text')),
  text: required(filled),
  citations: anything,
  ...cacheControl,
});
const imageSource = anyOf(
  shape({
    ...{ type: required(oneOf('base64')), data: required(filled) },
    media_type: required(oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp')),
  }),
  shape({ type: required(oneOf('url')), url: required(filled) }),
);
const userBlocks = anyOf(
  textBlock,
  shape({ type: required(oneOf('image')), source: required(imageSource), ...cacheControl }),
  shape({
    ...{ type: required(oneOf('tool_result')), tool_use_id: required(filled), is_error: boolean, ...cacheControl },
    content: anyOf(string, arrayOf(anyOf(textBlock, object))),
  }),
);
const assistantBlocks = anyOf(
  textBlock,
  shape({
    type: required(oneOf('tool_use')),
    id: required(filled),
    name: required(filled),
    input: required(object),
    caller: object,
    ...cacheControl,
  }),
  shape({ type: required(oneOf('thinking')), thinking: required(string), signature: required(filled) }),
  shape({ type: required(oneOf('redacted_thinking')), data: required(filled) }),
);
const messageShapes: Readonly<Record<string, ReturnType<typeof shape>>> = {
  user: shape({ role: required(string), content: required(anyOf(filled, arrayOf(userBlocks, 1))) }),
  assistant: shape({ role: required(string), content: required(anyOf(filled, arrayOf(assistantBlocks, 1))) }),
  system: shape({ role: required(string), content: required(anyOf(filled, arrayOf(textBlock, 1))) }),
};

const jsonFormat: Check = (value, path) => {
  const wrong = shape({ type: required(oneOf('json_schema')), schema: required(object) })(value, path);
  if (wrong !== undefined) return wrong;
  const schema = member(value, 'schema');
  const isOpen = isObject(member(schema, 'properties')) && member(schema, 'additionalProperties') !== false;
  return isOpen
    ? `${path}.schema: For 'object' type, 'additionalProperties' must be explicitly set to false`
    : undefined;
};

const fields = {
  model: required(filled),
  max_tokens: required(integer(1)),
  messages: required(arrayOf(anything, 1, 100_000)),
  system: anyOf(filled, arrayOf(textBlock, 1)),
  stream: boolean,
  stop_sequences: arrayOf(filled),
  thinking: anyOf(
    shape({ type: required(oneOf('disabled')) }),
    shape({ type: required(oneOf('adaptive')), display: oneOf('summarized', 'omitted') }),
    shape({ type: required(oneOf('between_tools')) }),
    shape({ type: required(oneOf('enabled')), budget_tokens: required(integer(1024)) }),
  ),
  output_config: shape({ effort: oneOf('low', 'medium', 'high', 'xhigh', 'max'), format: jsonFormat }),
  tools: arrayOf(
    shape({
      ...{ type: oneOf('custom'), name: required(filled), description: string, input_schema: required(object) },
      ...{ strict: boolean, eager_input_streaming: boolean, ...cacheControl },
    }),
  ),
  tool_choice: anyOf(
    shape({ type: required(oneOf('auto', 'any')), disable_parallel_tool_use: boolean }),
    shape({ type: required(oneOf('none')) }),
    shape({ type: required(oneOf('tool')), name: required(filled), disable_parallel_tool_use: boolean }),
  ),
  metadata: shape({ user_id: string }),
  service_tier: oneOf('auto', 'standard_only'),
  speed: oneOf('standard', 'fast'),
  cache_control: object,
  inference_geo: string,
};
const sampling = { temperature: number(0, 1), top_p: number(0, 1), top_k: integer(0) };

/** What a model takes. */
export interface Model {
  /** What `thinking` may be, and whether the model thinks when it is absent. */
  readonly thinking: readonly string[];
  readonly thinksByDefault: boolean;
  readonly forcedTools: boolean;
  readonly prefill: boolean;
}
const older: Model = { thinking: ['disabled', 'enabled'], thinksByDefault: false, forcedTools: true, prefill: true };
const newer: Model = { ...older, thinking: ['disabled', 'adaptive', 'enabled'], prefill: false };
const thoughtful: Model = { ...newer, thinking: ['disabled', 'adaptive'], thinksByDefault: true };
const alwaysThinking: Model = { ...thoughtful, thinking: ['adaptive'], forcedTools: false };
const models: Readonly<Record<string, Model>> = {
  'claude-haiku-5-5': {
    thinking: ['disabled', 'adaptive', 'between_tools'],
    thinksByDefault: true,
    forcedTools: true,
    prefill: false,
  },
  'claude-sonnet-5-5': {
    thinking: ['adaptive', 'between_tools'],
    thinksByDefault: true,
    forcedTools: false,
    prefill: false,
  },
  'claude-opus-5-5': {
    thinking: ['adaptive', 'between_tools'],
    thinksByDefault: true,
    forcedTools: false,
    prefill: false,
  },
  'claude-haiku-4-5': older,
  'claude-sonnet-4-5': older,
  'claude-opus-4-5': older,
  ...Object.fromEntries(['sonnet-4-6', 'opus-4-8', 'opus-4-7', 'opus-4-6'].map((name) => [`claude-${name}`, newer])),
  'claude-sonnet-5': thoughtful,
  'claude-opus-5': { ...thoughtful, thinking: ['disabled', 'adaptive', 'enabled'] },
  'claude-fable-5': { ...alwaysThinking, forcedTools: true },
  ...Object.fromEntries(
    ['fable-5-1', 'fable-5-2', 'mythos-5-1', 'mythos-5-2'].map((name) => [`claude-${name}`, alwaysThinking]),
  ),
};

/** The blocks of a message; a text is one. */
export function blocks(message: unknown): readonly unknown[] {
  const content = member(message, 'content');
  return Array.isArray(content) ? (content as unknown[]) : [{ type: 'text', text: content }];
}

function idsOf(message: unknown, type: string, name: string): string[] {
  return blocks(message).flatMap((block) => (textMember(block, 'type') === type ? [textMember(block, name)] : []));
}

/** The order of messages and of the calls and results in them. */
function checkMessages(messages: readonly unknown[], model: Model): string | undefined {
  for (const [index, message] of messages.entries()) {
    const role = textMember(message, 'role');
    const rule = Object.hasOwn(messageShapes, role) ? messageShapes[role] : undefined;
    const wrong = rule
      ? rule(message, `messages.${index}`)
      : `messages.${index}.role: Input should be 'user' or 'assistant'`;
    if (wrong) return wrong;
    if (index === 0 && role !== 'user') return 'messages: first message must use the "user" role';
    if (role === 'system' && textMember(messages[index - 1], 'role') !== 'user')
      return `messages.${index}: a system message must follow a user message`;
    const blank = blocks(message).some(
      (block) => textMember(block, 'type') === 'text' && !textMember(block, 'text').trim(),
    );
    if (blank) return `messages.${index}: text content blocks must contain non-whitespace text`;
    const results = idsOf(message, 'tool_result', 'tool_use_id');
    const firstText = blocks(message).findIndex((block) => textMember(block, 'type') === 'text');
    const lastResult = blocks(message).findLastIndex((block) => textMember(block, 'type') === 'tool_result');
    if (firstText >= 0 && firstText < lastResult) return `messages.${index}: tool_result blocks must come first`;
    const calls = index > 0 ? idsOf(messages[index - 1], 'tool_use', 'id') : [];
    const orphan = results.find((id) => !calls.includes(id));
    if (orphan !== undefined)
      return `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    const open = calls.filter((id) => !results.includes(id));
    if (open.length > 0) return unanswered(index - 1, open);
  }
  const last = messages.length - 1;
  const open = idsOf(messages[last], 'tool_use', 'id');
  if (open.length > 0) return unanswered(last, open);
  if (textMember(messages[last], 'role') === 'assistant' && !model.prefill)
    return 'This model does not support assistant message prefill. The conversation must end with a user message.';
  return undefined;
}

const unanswered = (index: number, ids: readonly string[]): string =>
  `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. ` +
  'Each `tool_use` block must have a corresponding `tool_result` block in the next message.';

/** Checks the whole request, messages included. */
export function check(request: HttpRequest): { body: Body; model: Model } {
  const version = request.headers['anthropic-version'];
  if (version === undefined) throw invalid('anthropic-version: header is required');
  if (!versions.includes(version)) throw invalid(`anthropic-version: "${version}" is not a valid version`);
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw invalid('content-type must be application/json');
  const body = request.json(invalid);
  const known = version === '2023-06-01' ? { ...fields, ...sampling } : fields;
  const extra = isObject(body) ? Object.keys(body).find((name) => !Object.hasOwn(known, name)) : undefined;
  if (extra !== undefined) throw invalid(`${extra}: Extra inputs are not permitted`);
  const wrong = shape(known)(body, '');
  if (wrong || !isObject(body)) throw invalid(wrong ?? 'the body must be an object');
  const name = textMember(body, 'model').replace(/-\d{8}$/, '');
  const model = Object.hasOwn(models, name) ? models[name] : undefined;
  if (!model) throw refuse(404, `unknown model ${name}`, `model: ${name}`);
  const thinking = textMember(body['thinking'], 'type');
  if (thinking && !model.thinking.includes(thinking))
    throw invalid(`thinking: "${thinking}" is not supported by ${name}`);
  if (
    /^claude-(haiku-5-5|opus-5)$/.test(name) &&
    thinking === 'disabled' &&
    /^(xhigh|max)$/.test(textMember(body['output_config'], 'effort'))
  ) {
    throw invalid('thinking cannot be disabled with this effort');
  }
  if (Number(member(body['thinking'], 'budget_tokens') ?? 0) >= Number(body['max_tokens'])) {
    throw invalid('`max_tokens` must be greater than `thinking.budget_tokens`');
  }
  const forced = /^(any|tool)$/.test(textMember(body['tool_choice'], 'type'));
  if (forced && !model.forcedTools) throw invalid('tool_choice: forced tool use is not supported with thinking');
  if (body['tool_choice'] !== undefined && body['tools'] === undefined)
    throw invalid('tool_choice may only be specified while providing tools');
  const messages = body['messages'] as unknown[];
  const wrongMessages = checkMessages(messages, model);
  if (wrongMessages) throw invalid(wrongMessages);
  const usesTools = messages.some((message) => idsOf(message, 'tool_use', 'id').length > 0);
  if (usesTools && body['tools'] === undefined)
    throw invalid('Requests which include `tool_use` or `tool_result` blocks must define tools.');
  return { body, model };
}
