import type { Call, HttpRequest } from '../call.ts';
import type { Credentials, Environment } from '../environment.ts';
import { promptCache } from '../prompt-cache.ts';
import { countTokens, kindOfImage, respond } from '../responder.ts';
import type { Prompt, Reply, Turn } from '../responder.ts';
import { isObject, member, textMember } from '../validate.ts';
import type { Vendor } from '../vendor.ts';
import { blocks, check, refuse } from './mu-request.ts';
import type { Body } from './mu-request.ts';

/** The service takes a key in either header. */
function authorize({ headers }: Call, credentials: Credentials): void {
  const bearer = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1];
  const key = headers['x-api-key'] ?? bearer;
  if (key === undefined)
    throw refuse(401, 'neither x-api-key nor Authorization: Bearer', 'x-api-key header is required');
  if (!credentials.isKey(key)) throw refuse(401, 'wrong key');
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
      if (type === 'image') {
        const source = member(block, 'source');
        const url = textMember(source, 'url') || `data:${textMember(source, 'media_type')};`;
        const images = [...(last?.role === 'user' ? (last.images ?? []) : []), kindOfImage(url)];
        if (last?.role === 'user') turns[turns.length - 1] = { ...last, images };
        else turns.push({ role: 'user', text: '', images });
      }
      if (type !== 'text') continue;
      // Adjacent turns of one role are joined.
      if (last?.role === speaker)
        turns[turns.length - 1] = { ...last, text: last.text ? `${last.text}\n${text}` : text };
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
    format: member(member(body['output_config'], 'format'), 'schema'),
    stop: (body['stop_sequences'] ?? []) as string[],
  };
}

const stopReasons: Readonly<Record<Reply['finish'], string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  filtered: 'refusal',
  'malformed-call': 'end_turn',
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

/** The prompt in the order in which the service reads it: tools, system text, messages. */
function promptOf(body: Body): { text: string; isMarked: boolean }[] {
  const listed = [body['tools'] ?? [], body['system'] ?? []].flatMap((each) => each as unknown[] | string);
  const parts = [...listed, ...(body['messages'] as unknown[]).flatMap(blocks)];
  const isLastMarked = body['cache_control'] !== undefined;
  return parts.map((part, index) => {
    const { cache_control: mark, ...rest } = isObject(part) ? part : { text: part };
    const isMarked = mark !== undefined || (isLastMarked && index === parts.length - 1);
    return { text: JSON.stringify(rest), isMarked };
  });
}

async function handle(request: HttpRequest, environment: Environment): Promise<void> {
  const { timers, tokenDelayMs } = environment;
  const { body, model } = check(request);
  const reply = respond(toPrompt(body));
  const thinking = textMember(body['thinking'], 'type');
  const thinks = thinking ? thinking === 'adaptive' || thinking === 'enabled' : model.thinksByDefault;
  const content = contentOf(reply, thinks);
  const prompt = promptOf(body);
  const { read, written } = promptCache(environment, 'mu-llm', textMember(body, 'model')).marked(prompt);
  // What is cached is counted apart.
  const input = countTokens(prompt.map(({ text }) => text).join('')) - read - written;
  const output = countTokens(JSON.stringify(content.map(({ whole }) => whole)));
  const cache = { cache_creation_input_tokens: written, cache_read_input_tokens: read };
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
    output_tokens_details: thinks || reply.think ? { thinking_tokens: countTokens(reply.think) } : null,
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
