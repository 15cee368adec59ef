import { Refusal } from '../server.ts';
import type { Call, Credentials, Environment, HttpRequest, Vendor } from '../server.ts';
import { countTokens, respond } from '../responder.ts';
import type { Prompt, Reply, Turn } from '../responder.ts';
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

type Body = Readonly<Record<string, unknown>>;

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

function refuse(status: number, why: string, message?: string): Refusal {
  const [type, usual] = errors[status] ?? ['api_error', 'Internal server error'];
  const request = `req_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`;
  const body = { type: 'error', error: { type, message: message ?? usual }, request_id: request };
  return new Refusal(status, body, why, { 'request-id': request });
}

const invalid = (message: string): Refusal => refuse(400, message, message);

/** The service takes a key in either header. */
function authorize({ headers }: Call, credentials: Credentials): void {
  const bearer = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
  const key = headers['x-api-key'] ?? bearer;
  if (key === undefined)
    throw refuse(401, 'neither x-api-key nor Authorization: Bearer', 'x-api-key header is required');
  if (!credentials.isKey(key)) throw refuse(401, 'wrong key');
}

const versions = ['2026-10-21', '2023-06-01'];
const cacheControl = { cache_control: object };
const textBlock = shape({
  type: required(oneOf('text')),
  text: required(filled),
  citations: anything,
  ...cacheControl,
});
const userBlocks = anyOf(
  textBlock,
  shape({ type: required(oneOf('image')), source: required(object), ...cacheControl }),
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
  output_config: shape({ effort: oneOf('low', 'medium', 'high', 'xhigh', 'max'), format: object }),
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

interface Model {
  /** What `thinking` may be, and whether the model thinks when it is absent. */
  readonly thinking: readonly string[];
  readonly thinksByDefault: boolean;
  readonly forcedTools: boolean;
  readonly prefill: boolean;
}
const older: Model = { thinking: ['disabled', 'enabled'], thinksByDefault: false, forcedTools: true, prefill: true };
const newer: Model = { ...older, thinking: ['disabled', 'adaptive', 'enabled'], prefill: false };
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
  ...Object.fromEntries(
    ['sonnet-5', 'sonnet-4-6', 'opus-5', 'opus-4-8', 'opus-4-7', 'opus-4-6'].map((name) => [`claude-${name}`, newer]),
  ),
};

function blocks(message: unknown): readonly unknown[] {
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

function check(request: HttpRequest): { body: Body; model: Model } {
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
    name === 'claude-haiku-5-5' &&
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

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((block: unknown) => textMember(block, 'text')).join('') : '';
}

function toPrompt(body: Body): Prompt {
  const names = new Map<string, string>();
  const turns: Turn[] = [];
  for (const message of body['messages'] as unknown[]) {
    const role = textMember(message, 'role');
    for (const block of blocks(message)) {
      const type = textMember(block, 'type');
      if (type === 'tool_use') names.set(textMember(block, 'id'), textMember(block, 'name'));
      if (type === 'tool_result') {
        const tool = names.get(textMember(block, 'tool_use_id')) ?? '';
        turns.push({
          role: 'result',
          tool,
          text: textOf(member(block, 'content')),
          failed: member(block, 'is_error') === true,
        });
      }
      const last = turns.at(-1);
      const speaker = role === 'assistant' ? 'assistant' : 'user';
      const text = textMember(block, 'text');
      if (type !== 'text') continue;
      // Adjacent turns of one role are joined.
      if (last?.role === speaker) turns[turns.length - 1] = { role: speaker, text: `${last.text}\n${text}` };
      else turns.push({ role: speaker, text });
    }
  }
  const choice = body['tool_choice'];
  const kind = textMember(choice, 'type');
  return {
    system: textOf(body['system']),
    turns,
    tools: ((body['tools'] ?? []) as unknown[]).map((tool) => ({
      name: textMember(tool, 'name'),
      parameters: member(tool, 'input_schema'),
    })),
    choice:
      kind === 'none'
        ? 'none'
        : kind === 'any'
          ? 'required'
          : kind === 'tool'
            ? { name: textMember(choice, 'name') }
            : 'auto',
    parallel: member(choice, 'disable_parallel_tool_use') !== true,
    maxTokens: Number(body['max_tokens']),
    stop: (body['stop_sequences'] ?? []) as string[],
  };
}

const stopReasons: Readonly<Record<Reply['finish'], string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  filtered: 'refusal',
};

const newId = (prefix: string): string => `${prefix}_01${crypto.randomUUID().replaceAll('-', '').slice(0, 22)}`;

/** The blocks of the answer, each with the deltas that bring it. */
function contentOf(
  reply: Reply,
  thinks: boolean,
): { start: Record<string, unknown>; deltas: Record<string, unknown>[]; whole: Record<string, unknown> }[] {
  const parts = [];
  if (thinks || reply.think) {
    const signature = 'c2FuZGJveA==';
    const deltas = reply.think ? [{ type: 'thinking_delta', thinking: reply.think }] : [];
    parts.push({
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [...deltas, { type: 'signature_delta', signature }],
      whole: { type: 'thinking', thinking: reply.think, signature },
    });
  }
  if (reply.tokens.length > 0) {
    parts.push({
      start: { type: 'text', text: '', citations: null },
      deltas: reply.tokens.map((text) => ({ type: 'text_delta', text })),
      whole: { type: 'text', text: reply.tokens.join(''), citations: null },
    });
  }
  for (const { name, args } of reply.calls) {
    const pieces = Object.keys(args).length === 0 ? [] : (JSON.stringify(args).match(/.{1,6}/gsu) ?? []);
    const call = { type: 'tool_use', id: newId('toolu'), name, caller: { type: 'direct' } };
    parts.push({
      start: { ...call, input: {} },
      deltas: ['', ...pieces].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      whole: { ...call, input: args },
    });
  }
  return parts;
}

async function handle(request: HttpRequest, { timers, tokenDelayMs }: Environment): Promise<void> {
  const { body, model } = check(request);
  const reply = respond(toPrompt(body));
  const thinking = textMember(body['thinking'], 'type');
  const thinks = thinking ? thinking === 'adaptive' || thinking === 'enabled' : model.thinksByDefault;
  const content = contentOf(reply, thinks);
  const input = countTokens(JSON.stringify([body['system'] ?? '', body['messages'], body['tools'] ?? '']));
  const output = countTokens(JSON.stringify(content.map(({ whole }) => whole)));
  const cache = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const ending = {
    stop_reason: stopReasons[reply.finish],
    stop_sequence: reply.stopSequence ?? null,
    stop_details: reply.finish === 'filtered' ? { type: 'refusal', category: null, explanation: null } : null,
    container: null,
  };
  const head = { id: newId('msg'), type: 'message', role: 'assistant', model: body['model'], diagnostics: null };
  const headers = { 'request-id': newId('req'), 'anthropic-organization-id': 'sandbox' };
  if (body['stream'] !== true) {
    const usage = { input_tokens: input, output_tokens: output, ...cache };
    request.send(200, { ...head, content: content.map(({ whole }) => whole), ...ending, usage }, headers);
    return;
  }
  const out = request.stream(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...headers,
  });
  const event = (data: { type: string; [name: string]: unknown }): void => out.event(data, data.type);
  await timers.sleep(reply.firstTokenDelayMs);
  const start = { content: [], stop_reason: null, stop_sequence: null, stop_details: null, container: null };
  event({
    type: 'message_start',
    message: { ...head, ...start, usage: { input_tokens: input, ...cache, output_tokens: 1 } },
  });
  event({ type: 'ping' });
  for (const [index, block] of content.entries()) {
    event({ type: 'content_block_start', index, content_block: block.start });
    for (const delta of block.deltas) {
      await timers.sleep(reply.tokenDelayMs ?? tokenDelayMs);
      if (!out.isOpen) return;
      event({ type: 'content_block_delta', index, delta });
    }
    event({ type: 'content_block_stop', index });
  }
  const usage = {
    output_tokens: output,
    input_tokens: input,
    ...cache,
    output_tokens_details: null,
    server_tool_use: null,
  };
  event({ type: 'message_delta', delta: ending, usage });
  event({ type: 'message_stop' });
  out.end();
}

const overloaded = {
  type: 'error',
  error: { type: 'overloaded_error', message: 'Overloaded' },
  request_id: 'req_sandbox',
};

/** Anthropic Messages: `https://api.anthropic.com/v1/messages`. */
export const mu: Vendor = {
  mount: 'mu',
  authorize,
  refuse,
  routes: [
    {
      service: 'mu-llm',
      method: 'POST',
      path: '/v1/messages',
      midStreamError: `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`,
      handle,
    },
  ],
};
