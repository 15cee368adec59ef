import type { Environment } from '../environment.ts';
import type { HttpRequest } from '../call.ts';
import { promptCache } from '../prompt-cache.ts';
import { countTokens, kindOfImage, respond, type Prompt, type Turn } from '../responder.ts';
import {
  anyOf,
  anything,
  arrayOf,
  boolean,
  filled,
  integer,
  isObject,
  member,
  nothing,
  number,
  object,
  oneOf,
  required,
  shape,
  string,
  textMember,
  type Check,
} from '../validate.ts';
import type { HttpRoute, Refusal } from '../vendor.ts';
import { openAiRefusal } from './chat-completions.ts';

type Json = Readonly<Record<string, unknown>>;

const imageUrl: Check = (value, path) =>
  typeof value === 'string' && /^(https?:\/\/|data:image\/(png|jpeg|webp|gif);base64,)/.test(value)
    ? undefined
    : `Invalid '${path}'. Expected a valid URL`;
const inputPart = anyOf(
  shape({ type: required(oneOf('input_text')), text: required(string) }),
  shape({ type: required(oneOf('input_image')), image_url: required(imageUrl), detail: oneOf('low', 'high', 'auto') }),
);
const item = anyOf(
  shape({
    type: oneOf('message'),
    role: required(oneOf('user', 'assistant', 'system', 'developer')),
    content: required(anyOf(string, arrayOf(inputPart, 1))),
    phase: oneOf('commentary', 'final_answer'),
  }),
  shape({
    ...{ type: required(oneOf('function_call')), call_id: required(filled), name: required(filled) },
    ...{ arguments: required(string), id: filled, status: string },
  }),
  shape({ type: required(oneOf('function_call_output')), call_id: required(filled), output: required(string) }),
  shape({
    ...{ type: required(oneOf('reasoning')), id: required(filled), summary: required(arrayOf(anything)) },
    ...{ encrypted_content: filled, status: string },
  }),
);
const tool = anyOf(
  shape({
    ...{ type: required(oneOf('function')), name: required(filled), description: string },
    ...{ parameters: required(object), strict: required(boolean) },
  }),
  shape({ type: required(oneOf('web_search')), search_context_size: oneOf('low', 'medium', 'high') }),
);
const request = shape({
  ...{ model: required(filled), instructions: string, input: required(arrayOf(item, 1)), stream: boolean },
  ...{ store: boolean, include: arrayOf(oneOf('reasoning.encrypted_content')), max_output_tokens: integer(16) },
  stream_options: shape({ include_obfuscation: boolean }),
  ...{ temperature: number(0, 2), top_p: number(0, 1), service_tier: string, prompt_cache_key: string },
  ...{ parallel_tool_calls: boolean, tools: arrayOf(tool), metadata: object, safety_identifier: string },
  previous_response_id: anyOf(nothing, filled),
  reasoning: shape({ effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'), summary: string }),
  text: shape({
    format: anyOf(
      shape({ type: required(oneOf('text', 'json_object')) }),
      shape({
        ...{ type: required(oneOf('json_schema')), name: required(filled), schema: required(object) },
        ...{ strict: boolean, description: string },
      }),
    ),
    verbosity: oneOf('low', 'medium', 'high'),
  }),
  tool_choice: anyOf(
    oneOf('none', 'auto', 'required'),
    shape({ type: required(oneOf('function')), name: required(filled) }),
  ),
});

/** Whether a model labels what it says: what comes before its calls is no answer yet. */
const labels = (model: string): boolean => /^gpt-(5\.3-codex|5\.[4-9]|6)/.test(model);

/** Encrypted reasoning that was handed out. */
const issued = new Set<string>();
const newId = (prefix: string): string => prefix + crypto.randomUUID().replaceAll('-', '');

function promptOf(body: Json): Prompt {
  const names = new Map<string, string>();
  const system = [textMember(body, 'instructions')];
  const turns: Turn[] = [];
  for (const each of body['input'] as readonly Json[]) {
    const content = each['content'];
    const parts = Array.isArray(content) ? (content as readonly Json[]) : [];
    const text = typeof content === 'string' ? content : parts.map((part) => textMember(part, 'text')).join('');
    const images = parts
      .map((part) => textMember(part, 'image_url'))
      .filter(Boolean)
      .map(kindOfImage);
    const role = textMember(each, 'role');
    if (role === 'user' || role === 'assistant') turns.push({ role, text, images });
    else if (role) system.push(text);
    else if (each['type'] === 'function_call') names.set(textMember(each, 'call_id'), textMember(each, 'name'));
    else if (each['type'] === 'function_call_output') {
      const called = names.get(textMember(each, 'call_id')) ?? '';
      turns.push({ role: 'result', tool: called, text: textMember(each, 'output'), failed: false });
    }
  }
  const choice = body['tool_choice'];
  const format = member(body['text'], 'format');
  const kind = textMember(format, 'type');
  return {
    ...{ system: system.filter(Boolean).join('\n'), turns, stop: [], parallel: body['parallel_tool_calls'] !== false },
    tools: ((body['tools'] ?? []) as readonly Json[])
      .filter(({ type }) => type === 'function')
      .map((each) => ({ name: textMember(each, 'name'), parameters: each['parameters'] })),
    choice:
      choice === 'none' || choice === 'required'
        ? choice
        : isObject(choice)
          ? { name: textMember(choice, 'name') }
          : 'auto',
    maxTokens: Number(body['max_output_tokens'] ?? Infinity),
    format: kind === 'json_object' ? {} : kind === 'json_schema' ? member(format, 'schema') : undefined,
  };
}

/** What is wrong with the items, which the service tells apart from their shape. */
function problemOf(body: Json): Refusal | undefined {
  const refuse = (message: string, param: string, code: string | null = null): Refusal =>
    openAiRefusal(400, message, { message, param, code });
  const input = body['input'] as readonly Json[];
  if (body['previous_response_id'] && body['store'] === false) {
    return refuse('Previous response cannot be used with store set to false.', 'previous_response_id');
  }
  const of = (type: string): readonly Json[] => input.filter((each) => each['type'] === type);
  const ids = (items: readonly Json[]): readonly string[] => items.map((each) => textMember(each, 'call_id'));
  const [calls, results] = [ids(of('function_call')), ids(of('function_call_output'))];
  const open = calls.find((id) => !results.includes(id));
  if (open !== undefined) return refuse(`No tool output found for function call ${open}.`, 'input');
  const lost = results.find((id) => !calls.includes(id));
  if (lost !== undefined) return refuse(`No tool call found for function call output with call_id ${lost}.`, 'input');
  for (const [index, each] of input.entries()) {
    if (each['phase'] !== undefined && each['role'] !== 'assistant') {
      return refuse(`Unknown parameter: 'input[${index}].phase'.`, `input[${index}].phase`, 'unknown_parameter');
    }
    if (each['type'] !== 'reasoning') continue;
    const id = textMember(each, 'id');
    const content = textMember(each, 'encrypted_content');
    if (!content)
      return refuse(`Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`, 'input');
    if (!issued.has(content)) {
      const message = `The encrypted content for item ${id} could not be verified.`;
      return refuse(message, 'input', 'invalid_encrypted_content');
    }
    const next = input[index + 1];
    if (!next || next['role'] === 'user' || next['type'] === 'function_call_output') {
      return refuse(`Item '${id}' of type 'reasoning' was provided without its required following item.`, 'input');
    }
  }
  return undefined;
}

/** OpenAI's Responses API: `POST /responses`. */
export function thetaResponses(checkModel: (body: Json) => Refusal | undefined): HttpRoute {
  const failure = { type: 'error', code: 'server_error', message: 'The server had an error.', param: null };
  return {
    ...{ service: 'theta-llm', method: 'POST', path: '/responses' },
    midStreamError: `event: error\ndata: ${JSON.stringify(failure)}\n\n`,
    handle: async (call, environment) => answer(call, environment, checkModel),
  };
}

async function answer(
  call: HttpRequest,
  environment: Environment,
  checkModel: (body: Json) => Refusal | undefined,
): Promise<void> {
  const invalid = (why: string): Refusal => openAiRefusal(400, why, { message: why });
  const body = call.json(invalid);
  const wrong = request(body, '');
  if (wrong !== undefined || !isObject(body)) throw invalid(wrong ?? 'the body must be an object');
  const { reasoning, temperature, top_p: topP } = body;
  const model = textMember(body, 'model');
  const reasons = /^(o\d|gpt-[5-9])/.test(model) && !model.endsWith('-chat-latest');
  const about = { model, reasoning_effort: member(reasoning, 'effort'), temperature, top_p: topP };
  const refusal = checkModel(about) ?? problemOf(body);
  if (refusal) throw refusal;
  if (body['include'] !== undefined && !reasons) {
    const message = 'Encrypted content is not supported with this model.';
    throw openAiRefusal(400, message, { message, param: 'include' });
  }
  const plain = respond(promptOf(body));
  const thinks = reasons && about.reasoning_effort !== 'none';
  const think = plain.think || (thinks ? 'The user wants an answer.' : '');
  const { timers, tokenDelayMs } = environment;
  const text = plain.tokens.join('');
  const prompt = JSON.stringify(body['input']);
  const counted = {
    input: countTokens(prompt),
    output: countTokens(think + text + JSON.stringify(plain.calls).slice(2)),
  };
  const usage = {
    ...{ input_tokens: counted.input, output_tokens: counted.output, total_tokens: counted.input + counted.output },
    input_tokens_details: { cached_tokens: promptCache(environment, 'theta-llm', model).reuse(prompt) },
    output_tokens_details: { reasoning_tokens: countTokens(think) },
  };
  const head = { id: newId('resp_'), object: 'response', created_at: 1, model, status: 'in_progress', output: [] };
  const output: Json[] = [];
  const out = call.stream(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'x-request-id': newId('req_'),
  });
  let sequence = 0;
  const send = (type: string, more: Json): void => {
    if (out.isOpen)
      out.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...more })}\n\n`);
  };
  const add = (each: Json, between: (index: number) => void = () => undefined, last: Json = each): void => {
    const index = output.length;
    send('response.output_item.added', { output_index: index, item: each });
    between(index);
    send('response.output_item.done', { output_index: index, item: last });
    output.push(last);
  };
  send('response.created', { response: head });
  send('response.in_progress', { response: head });
  await timers.sleep(plain.firstTokenDelayMs);
  if (think) {
    const secret = newId('gAAAAA');
    issued.add(secret);
    const isAsked = body['include'] !== undefined;
    add({ id: newId('rs_'), type: 'reasoning', summary: [], ...(isAsked && { encrypted_content: secret }) });
  }
  if (text) {
    const id = newId('msg_');
    const [index, at] = [output.length, { item_id: id, content_index: 0 }];
    const phase = plain.calls.length > 0 ? 'commentary' : 'final_answer';
    const message = { id, type: 'message', role: 'assistant', ...(labels(model) && { phase }) };
    send('response.output_item.added', {
      output_index: index,
      item: { ...message, status: 'in_progress', content: [] },
    });
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    send('response.content_part.added', { ...at, output_index: index, part });
    for (const delta of plain.tokens) {
      await timers.sleep(plain.tokenDelayMs ?? tokenDelayMs);
      if (!out.isOpen) return;
      send('response.output_text.delta', { ...at, output_index: index, delta, logprobs: [] });
    }
    send('response.output_text.done', { ...at, output_index: index, text, logprobs: [] });
    send('response.content_part.done', { ...at, output_index: index, part: { ...part, text } });
    const done = { ...message, status: 'completed', content: [{ ...part, text }] };
    send('response.output_item.done', { output_index: index, item: done });
    output.push(done);
  }
  for (const { name, args } of plain.calls) {
    const argsText = JSON.stringify(args);
    const called = { id: newId('fc_'), type: 'function_call', call_id: newId('call_'), name, arguments: '' };
    const write = (index: number): void => {
      const at = { item_id: called.id, output_index: index };
      for (const delta of argsText.match(/.{1,6}/gsu) ?? [])
        send('response.function_call_arguments.delta', { ...at, delta });
      send('response.function_call_arguments.done', { ...at, name, arguments: argsText });
    };
    add({ ...called, status: 'in_progress' }, write, { ...called, arguments: argsText, status: 'completed' });
  }
  const reason = { length: 'max_output_tokens', filtered: 'content_filter' }[plain.finish as string];
  const status = reason ? 'incomplete' : 'completed';
  const details = { incomplete_details: reason ? { reason } : null, error: null };
  send(`response.${status}`, { response: { ...head, status, output, usage, ...details } });
  out.end();
}
