import type { BodyStream, Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import type { ServiceName } from '../faults.ts';
import { promptCache } from '../prompt-cache.ts';
import { countTokens, kindOfImage, respond } from '../responder.ts';
import type { Prompt, Reply, Turn } from '../responder.ts';
import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  filled,
  isObject,
  member,
  nothing,
  object,
  oneOf,
  required,
  shape,
  string,
  textMember,
} from '../validate.ts';
import type { Check } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { HttpRoute, Vendor } from '../vendor.ts';

/** How one vendor's chat completions differ from the others'. */
export interface ChatProfile {
  readonly service: ServiceName;
  readonly mount: string;
  /** Fields beside `model`, `messages` and `stream`. */
  readonly fields: Readonly<Record<string, Check>>;
  /** Roles beside `system`, `user`, `assistant` and `tool`. */
  readonly roles?: readonly string[];
  /** What is wrong with the model, or with fields that it does not take. */
  readonly checkModel: (body: Readonly<Record<string, unknown>>) => Refusal | undefined;
  /** The vendor's words for a status. */
  readonly refuse: (status: number, why: string, details?: ChatErrorDetails) => Refusal;
  readonly keyOptional?: boolean;
  /** Members of each chunk. */
  readonly everyChunk?: (body: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  readonly firstChunk?: (requestId: string) => Record<string, unknown>;
  readonly lastChunk?: (requestId: string, usage: Usage) => Record<string, unknown>;
  /** Where `think` goes. */
  readonly reasoningField?: string;
  /** The delta that brings `think`, where it is more than a field. */
  readonly thought?: (think: string) => Record<string, unknown>;
  /** A call of the model, where it comes in one piece. */
  readonly wholeCall?: (call: { readonly name: string; readonly args: unknown }, index: number) => unknown;
  /** The reasons at the end of an answer that are not OpenAI's. */
  readonly finishReasons?: Partial<typeof finishReasons>;
  /** Members of a call in the history, beside those that all vendors have. */
  readonly callFields?: Readonly<Record<string, Check>>;
  /** Members of an answer in the history, beside those that all vendors have. */
  readonly answerFields?: Readonly<Record<string, Check>>;
  /** The status for a field that is not known. Default: 400. */
  readonly unknownFieldStatus?: number;
  /** Reasoning that the model always gives. */
  readonly alwaysThinks?: (model: string) => boolean;
  /** Whether usage tells what was cached, and what was reasoning. */
  readonly tellsDetails?: boolean;
  /** A comment before the first event. */
  readonly comment?: string;
  readonly headers?: () => Readonly<Record<string, string>>;
}

export interface ChatErrorDetails {
  readonly code?: string | null;
  readonly type?: string;
  readonly param?: string | null;
  readonly message?: string;
}

/** Tokens as these services count them. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  /** Of the prompt: what the service had read before. */
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
  /** Of the answer: what nobody sees. */
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

const functionName: Check = (value, path) =>
  typeof value === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(value)
    ? undefined
    : `${path} must match ^[a-zA-Z0-9_-]{1,64}$`;
const textPart = shape({ type: required(oneOf('text')), text: required(string) });
const imageUrl: Check = (value, path) =>
  typeof value === 'string' && /^(https?:\/\/|data:image\/(png|jpeg|webp|gif);base64,[\w+/=]+$)/.test(value)
    ? undefined
    : `${path}: Expected a base64-encoded data URL with an image MIME type, or an http URL`;
const imagePart = shape({
  type: required(oneOf('image_url')),
  image_url: required(shape({ url: required(imageUrl), detail: oneOf('low', 'high', 'auto') })),
});
const toolCall = (more: Readonly<Record<string, Check>>): Check =>
  shape({
    id: required(filled),
    type: required(oneOf('function')),
    function: required(shape({ name: required(functionName), arguments: required(string) })),
    ...more,
  });

const messageShapes = ({
  callFields = {},
  answerFields = {},
}: Pick<ChatProfile, 'callFields' | 'answerFields'>): Readonly<Record<string, Check>> => ({
  system: shape({ role: required(string), content: required(anyOf(string, arrayOf(textPart, 1))), name: string }),
  user: shape({
    role: required(string),
    content: required(anyOf(string, arrayOf(anyOf(textPart, imagePart), 1))),
    name: string,
  }),
  assistant: shape({
    role: required(string),
    content: anyOf(string, nothing, arrayOf(textPart, 1)),
    tool_calls: arrayOf(toolCall(callFields), 1),
    name: string,
    refusal: anyOf(string, nothing),
    ...answerFields,
  }),
  tool: shape({
    role: required(string),
    content: required(anyOf(string, arrayOf(textPart, 1))),
    tool_call_id: required(filled),
  }),
});

/** A schema that leaves the model no choice of members, which `strict` demands. */
function isClosed(schema: unknown): boolean {
  if (!isObject(schema)) return true;
  const properties = member(schema, 'properties');
  const names = isObject(properties) ? Object.keys(properties) : [];
  const listed = member(schema, 'required');
  const isWhole = names.every((name) => Array.isArray(listed) && listed.includes(name));
  const isClosedHere = !isObject(properties) || (isWhole && member(schema, 'additionalProperties') === false);
  const inner = [...Object.values(isObject(properties) ? properties : {}), member(schema, 'items')];
  return isClosedHere && inner.every(isClosed);
}
const strictly =
  (schemaIn: string): Check =>
  (value, path) =>
    member(value, 'strict') === true && !isClosed(member(value, schemaIn))
      ? `Invalid schema for ${path}: 'additionalProperties' is required to be supplied and to be false, and 'required' to list every property.`
      : undefined;
const allOf =
  (...checks: readonly Check[]): Check =>
  (value, path) =>
    checks.map((check) => check(value, path)).find((problem) => problem !== undefined);
/** Fields that the vendors share; each profile takes those that its vendor has. */
export const tools: Check = arrayOf(
  shape({
    type: required(oneOf('function')),
    function: required(
      allOf(
        shape({ name: required(functionName), description: string, parameters: object, strict: boolean }),
        strictly('parameters'),
      ),
    ),
  }),
  1,
  128,
);
export const toolChoice: Check = anyOf(
  oneOf('none', 'auto', 'required'),
  shape({ type: required(oneOf('function')), function: required(shape({ name: required(functionName) })) }),
);
export const responseFormat: Check = anyOf(
  shape({ type: required(oneOf('text', 'json_object')) }),
  shape({
    type: required(oneOf('json_schema')),
    json_schema: required(
      allOf(
        shape({ name: required(functionName), description: string, schema: required(object), strict: boolean }),
        strictly('schema'),
      ),
    ),
  }),
);
export const stop: Check = anyOf(filled, arrayOf(filled, 1, 4));

function checkMessages(messages: readonly unknown[], profile: ChatProfile): string | undefined {
  const { roles = [] } = profile;
  const shapes = messageShapes(profile);
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    const role = member(message, 'role');
    const kind = typeof role === 'string' && roles.includes(role) ? 'system' : String(role);
    const rule = Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
    if (!rule) return `messages[${index}].role must be one of system, assistant, user, tool, not ${String(role)}`;
    const wrong = rule(message, `messages[${index}]`);
    if (wrong) return wrong;
    if (kind === 'tool') {
      const id = textMember(message, 'tool_call_id');
      if (!open.includes(id))
        return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      open = open.filter((each) => each !== id);
      continue;
    }
    if (open.length > 0) return unanswered(open);
    if (kind !== 'assistant') continue;
    const calls = member(message, 'tool_calls');
    if (
      calls === undefined &&
      typeof member(message, 'content') !== 'string' &&
      !Array.isArray(member(message, 'content'))
    ) {
      return `messages[${index}].content can be null only with tool_calls`;
    }
    open = Array.isArray(calls) ? calls.map((call: unknown) => textMember(call, 'id')) : [];
  }
  return open.length > 0 ? unanswered(open) : undefined;
}

const unanswered = (ids: readonly string[]): string =>
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
  `The following tool_call_ids did not have response messages: ${ids.join(', ')}`;

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => textMember(part, 'text')).join('');
}

/** The kinds of the images in a message. */
export function imagesOf(content: unknown): string[] {
  const parts = Array.isArray(content) ? (content as unknown[]) : [];
  const urls = parts.map((part) => textMember(member(part, 'image_url'), 'url')).filter(Boolean);
  return urls.map(kindOfImage);
}

function formatOf(format: unknown): unknown {
  const type = member(format, 'type');
  return type === 'json_object'
    ? {}
    : type === 'json_schema'
      ? member(member(format, 'json_schema'), 'schema')
      : undefined;
}

function toPrompt(body: Readonly<Record<string, unknown>>, messages: readonly unknown[]): Prompt {
  const names = new Map<unknown, string>();
  const turns: Turn[] = [];
  const system: string[] = [];
  for (const message of messages) {
    const role = member(message, 'role');
    const text = textOf(member(message, 'content'));
    const calls = member(message, 'tool_calls');
    for (const call of Array.isArray(calls) ? (calls as unknown[]) : []) {
      names.set(member(call, 'id'), textMember(member(call, 'function'), 'name'));
    }
    const images = imagesOf(member(message, 'content'));
    if (role === 'user' || role === 'assistant') turns.push({ role, text, images });
    else if (role === 'tool')
      turns.push({ role: 'result', tool: names.get(member(message, 'tool_call_id')) ?? '', text, failed: false });
    else system.push(text);
  }
  const declared = Array.isArray(body['tools']) ? (body['tools'] as unknown[]) : [];
  const choice = body['tool_choice'];
  const stopField = body['stop'];
  return {
    system: system.join('\n'),
    turns,
    tools: declared.map((tool) => {
      const definition = member(tool, 'function');
      return { name: textMember(definition, 'name'), parameters: member(definition, 'parameters') };
    }),
    choice:
      choice === 'none' || choice === 'required'
        ? choice
        : isObject(choice)
          ? { name: textMember(choice['function'], 'name') }
          : 'auto',
    parallel: body['parallel_tool_calls'] !== false,
    maxTokens: Number(body['max_completion_tokens'] ?? body['max_tokens'] ?? Number.POSITIVE_INFINITY),
    format: formatOf(body['response_format']),
    stop: typeof stopField === 'string' ? [stopField] : Array.isArray(stopField) ? (stopField as string[]) : [],
  };
}

const finishReasons: Readonly<Record<Reply['finish'], string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  filtered: 'content_filter',
  'malformed-call': 'stop',
};

function newId(prefix: string, length = 24): string {
  return prefix + crypto.randomUUID().replaceAll('-', '').slice(0, length);
}

interface Answer {
  readonly profile: ChatProfile;
  readonly body: Readonly<Record<string, unknown>>;
  readonly reply: Reply;
  readonly usage: Usage;
  readonly head: { readonly id: string; readonly created: number; readonly model: string };
}

async function stream(request: HttpRequest, answer: Answer, { timers, tokenDelayMs }: Environment): Promise<void> {
  const { profile, body, reply, usage, head } = answer;
  const out = request.stream(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    ...profile.headers?.(),
  });
  const requestId = newId('req_01', 20);
  const wantsUsage = member(body['stream_options'], 'include_usage') === true;
  const chunk = (choices: readonly unknown[], more: Record<string, unknown> = {}): void =>
    out.event({
      ...{ id: head.id, object: 'chat.completion.chunk', created: head.created, model: head.model, choices },
      ...profile.everyChunk?.(body),
      ...(wantsUsage ? { usage: null } : {}),
      ...more,
    });
  const delta = (
    content: Record<string, unknown>,
    finish: string | null = null,
    more: Record<string, unknown> = {},
  ): void => chunk([{ index: 0, delta: content, logprobs: null, finish_reason: finish }], more);
  const wait = (ms: number): Promise<void> => timers.sleep(ms);

  if (profile.comment) out.write(`: ${profile.comment}\n\n`);
  await wait(reply.firstTokenDelayMs);
  delta({ role: 'assistant', content: reply.tokens.length > 0 ? '' : null }, null, profile.firstChunk?.(requestId));
  if (reply.think && profile.reasoningField) delta({ [profile.reasoningField]: reply.think });
  if (reply.think && profile.thought) delta(profile.thought(reply.think));
  for (const token of reply.tokens) {
    await wait(reply.tokenDelayMs ?? tokenDelayMs);
    if (!out.isOpen) return;
    delta({ content: token });
  }
  const { wholeCall } = profile;
  if (wholeCall) for (const [index, call] of reply.calls.entries()) delta({ tool_calls: [wholeCall(call, index)] });
  else await streamCalls(out, reply, delta, () => wait(reply.tokenDelayMs ?? tokenDelayMs));
  delta(
    {},
    profile.finishReasons?.[reply.finish] ?? finishReasons[reply.finish],
    profile.lastChunk?.(requestId, usage),
  );
  if (wantsUsage) chunk([], { usage });
  out.event('[DONE]');
  out.end();
}

/** Calls as fragments of a few characters; the end of one call and the beginning of the next share a chunk. */
async function streamCalls(
  out: BodyStream,
  reply: Reply,
  delta: (content: Record<string, unknown>) => void,
  wait: () => Promise<void>,
): Promise<void> {
  let carried: unknown[] = [];
  for (const [index, { name, args }] of reply.calls.entries()) {
    const begin = { index, id: newId('call_'), type: 'function', function: { name, arguments: '' } };
    delta({ tool_calls: [...carried, begin] });
    const pieces = JSON.stringify(args).match(/.{1,6}/gsu) ?? [];
    carried = [];
    for (const [n, piece] of pieces.entries()) {
      await wait();
      if (!out.isOpen) return;
      const fragment = { index, function: { arguments: piece } };
      const isLast = n === pieces.length - 1 && index < reply.calls.length - 1;
      if (isLast) carried = [fragment];
      else delta({ tool_calls: [fragment] });
    }
  }
}

function complete(request: HttpRequest, { profile, reply, usage, head }: Answer): void {
  const calls = reply.calls.map(({ name, args }) => ({
    ...{ id: newId('call_'), type: 'function' },
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    ...{ role: 'assistant', content: reply.tokens.length > 0 ? reply.tokens.join('') : null, refusal: null },
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReasons[reply.finish] }];
  request.send(200, { ...head, object: 'chat.completion', choices, usage }, profile.headers?.());
}

async function handle(profile: ChatProfile, request: HttpRequest, environment: Environment): Promise<void> {
  const invalid = (why: string, details?: ChatErrorDetails): Refusal =>
    profile.refuse(400, why, { message: why, ...details });
  if (!(request.headers['content-type'] ?? '').startsWith('application/json'))
    throw invalid('Content-Type must be application/json');
  const body = request.json(invalid);
  const rule = {
    model: required(filled),
    messages: required(arrayOf(anything, 1)),
    stream: boolean,
    ...profile.fields,
  };
  const unknown = isObject(body) ? Object.keys(body).find((name) => !Object.hasOwn(rule, name)) : undefined;
  if (unknown !== undefined) {
    const message = `Unrecognized request argument supplied: ${unknown}`;
    throw profile.refuse(profile.unknownFieldStatus ?? 400, message, { message, param: unknown });
  }
  const wrong = shape(rule)(body, '');
  if (wrong || !isObject(body)) throw invalid(wrong ?? 'the body must be an object');
  const messages = body['messages'] as unknown[];
  const wrongMessages = checkMessages(messages, profile);
  if (wrongMessages) throw invalid(wrongMessages, { param: 'messages' });
  if (body['stream_options'] !== undefined && body['stream'] !== true) {
    throw invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
      param: 'stream_options',
    });
  }
  const early = ['tool_choice', 'parallel_tool_calls'].find((name) => body[name] !== undefined);
  if (early !== undefined && body['tools'] === undefined)
    throw invalid(`'${early}' is only allowed when 'tools' are specified.`);
  const refusal = profile.checkModel(body);
  if (refusal) throw refusal;
  const plain = respond(toPrompt(body, messages));
  const thinks = !plain.think && profile.alwaysThinks?.(String(body['model'])) === true;
  const reply = thinks ? { ...plain, think: 'The user wants an answer.' } : plain;
  const spoken = reply.think + reply.tokens.join('') + JSON.stringify(reply.calls).slice(2);
  const prompt = JSON.stringify(messages);
  const usage = { prompt_tokens: countTokens(prompt), completion_tokens: countTokens(spoken) };
  const cached_tokens = promptCache(environment, profile.service, String(body['model'])).reuse(prompt);
  const details = {
    prompt_tokens_details: { cached_tokens },
    completion_tokens_details: { reasoning_tokens: countTokens(reply.think) },
  };
  const total_tokens = usage.prompt_tokens + usage.completion_tokens;
  const answer: Answer = {
    ...{ profile, body, reply },
    usage: { ...usage, total_tokens, ...(profile.tellsDetails && details) },
    head: { id: newId('chatcmpl-'), created: Math.floor(Date.now() / 1000), model: String(body['model']) },
  };
  if (body['stream'] === true) await stream(request, answer, environment);
  else complete(request, answer);
}

/** The route of a chat-completions vendor. */
export function chatRoute(profile: ChatProfile): HttpRoute {
  const error = JSON.parse(profile.refuse(500, 'fault').body) as unknown;
  return {
    service: profile.service,
    method: 'POST',
    path: '/chat/completions',
    midStreamError: `data: ${JSON.stringify(error)}\n\n`,
    handle: (request, environment) => handle(profile, request, environment),
  };
}

/** `Authorization: Bearer <key>`. */
export function authorizeBearer(refuse: (why: string) => Refusal, keyOptional = false): Vendor['authorize'] {
  return ({ headers }: Call, credentials: Credentials) => {
    const header = headers['authorization'];
    if (header === undefined && keyOptional) return;
    if (header === undefined) throw refuse('no Authorization header');
    const [scheme, key] = header.split(' ');
    if (scheme !== 'Bearer') throw refuse(`Authorization must be Bearer, not ${scheme ?? ''}`);
    if (!credentials.isKey(key)) throw refuse('wrong key');
  };
}

/** A vendor with nothing but chat completions and perhaps some more routes. */
export function chatVendor(profile: ChatProfile, routes: Vendor['routes'] = []): Vendor {
  return {
    mount: profile.mount,
    routes: [chatRoute(profile), ...routes],
    refuse: (status, why) => profile.refuse(status, why),
    authorize: authorizeBearer((why) => profile.refuse(401, why), profile.keyOptional),
  };
}

/** The error body of OpenAI and of those that follow it. */
export function openAiRefusal(status: number, why: string, details: ChatErrorDetails = {}): Refusal {
  const [message, type, code] = openAiErrors[status] ?? [
    'The server had an error while processing your request.',
    'server_error',
    null,
  ];
  const error = {
    message: details.message ?? message,
    type: details.type ?? type,
    param: details.param ?? null,
    code: details.code === undefined ? code : details.code,
  };
  return new Refusal(status, { error }, why, { 'x-request-id': newId('req_') });
}

const openAiErrors: Readonly<Record<number, readonly [message: string, type: string, code: string | null]>> = {
  400: ['Bad request.', 'invalid_request_error', null],
  401: ['Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key'],
  403: ['Country, region, or territory not supported', 'request_forbidden', 'unsupported_country_region_territory'],
  404: ['Invalid URL', 'invalid_request_error', null],
  429: ['Rate limit reached for requests', 'requests', 'rate_limit_exceeded'],
};
