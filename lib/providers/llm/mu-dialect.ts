import type Anthropic from '@anthropic-ai/sdk';
import { VoiceError } from '../../core/errors.ts';
import { asObject, asObjects, type WireObject } from '../../core/guard.ts';
import type { GenerateOptions, Message, ToolCall, ToolDefinition } from '../../core/messages.ts';
import type { HttpRequestHeaders } from '../../transport/http.ts';
import type { LLMConfig } from './llm-config.ts';
import { imageBlocks } from './message-images.ts';
import type { ModelContext, ModelDialect, ModelRequest } from './model-wire.ts';
import { emptyMessage, endMessage, readMessage, type MessageAnswer } from './message-answer.ts';
import { answerSchema } from './answer-schema.ts';
import { repairHistory } from './repair-history.ts';
import { parseArgs } from './tool-calls.ts';

/** A model of {@link MuLLM}: the small, mid and large tier; others pass through. */
export type MuLLMModel = 'claude-haiku-5-5' | 'claude-sonnet-5-5' | 'claude-opus-5-5' | (string & {});

/** Configuration of {@link MuLLM}. The service accepts no temperature: one given to `generate()` is dropped. */
export interface MuLLMConfig extends LLMConfig {
  /** Default: `claude-haiku-5-5`. */
  readonly model?: MuLLMModel;
  /** Maximum answer length in tokens, including reasoning. Default: 1024. */
  readonly maxTokens?: number;
  /** Default: as little reasoning as the model permits. */
  readonly thinking?: Readonly<Record<string, unknown>>;
  /** How much effort the model puts in. Default: `low` for models that always reason, else the service's. */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /**
   * How long the service keeps what it has read of a conversation, which then costs a tenth; `false` to mark nothing.
   * Default: `5m`, renewed by each request.
   */
  readonly promptCache?: '5m' | '1h' | false;
}

/** What a model needs for a fast first token, and what it rejects (platform.claude.com, Thinking and What's new). */
interface ModelTraits {
  readonly thinking?: WireObject;
  readonly effort?: string;
  /** Whether it rejects a forced tool call. */
  readonly choosesFreely?: boolean;
}
/** The first match counts. */
const traits: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^claude-haiku-5-5/, { thinking: { type: 'disabled' } }],
  [/^claude-sonnet-5-5/, { thinking: { type: 'between_tools' }, effort: 'low', choosesFreely: true }],
  [/^claude-(opus-5-5|(fable|mythos)-5-)/, { effort: 'low', choosesFreely: true }],
  [/^claude-(fable|mythos)-5/, { effort: 'low' }],
  [/^claude-(opus|sonnet)-5(-\d{8})?$/, { thinking: { type: 'disabled' } }],
];

/** Options that the service has no field for. */
const lacking = ['temperature', 'seed', 'cacheKey'] as const;

interface MessageBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly WireMessage[];
}

/** Placeholder for the credential until the request is sent. */
const standIn = 'rxvoice-credential';

/**
 * How the service is asked, with the requests of its SDK, and its answers are read. Loaded during `initialize()`.
 *
 * @internal The declarations name no package that only some users have.
 */
export function muDialect(Sdk: typeof Anthropic): ModelDialect<MuLLMConfig, MessageAnswer> {
  return {
    request: (messages, options, context) => requestOf(Sdk, messages, options, context),
    start: emptyMessage,
    read: readMessage,
    end: endMessage,
  };
}

/** The request as the SDK builds it, captured before it is sent. */
async function requestOf(
  Sdk: typeof Anthropic,
  messages: readonly Message[],
  options: GenerateOptions,
  context: ModelContext<MuLLMConfig>,
): Promise<ModelRequest> {
  const made: ModelRequest[] = [];
  const base = context.url('');
  const client = new Sdk({
    apiKey: standIn,
    baseURL: base.origin + base.pathname,
    maxRetries: 0,
    dangerouslyAllowBrowser: true,
    logLevel: 'off',
    // A null omits a header, as in proxy mode; which one carries the credential depends on the version.
    ...(context.isProxyMode && { defaultHeaders: { Authorization: null, 'X-Api-Key': null } }),
    fetch: (url, { headers, body } = {}) => {
      if (typeof url === 'string' && typeof body === 'string') {
        // The SDK would put its path behind a query.
        made.push({ url: url + base.search, headers: () => withCredential(new Headers(headers), context), body });
      }
      return Promise.resolve(new Response());
    },
  });
  const body = bodyOf(messages, options, context) as Anthropic.MessageCreateParams;
  await client.messages.create({ ...body, stream: true }).asResponse();
  const [request] = made;
  if (request) return request;
  throw new VoiceError(`${context.name}: @anthropic-ai/sdk did not make a request`, {
    code: 'internal',
    provider: context.name,
  });
}

/** The SDK's headers with the credential in place of its placeholder. */
async function withCredential(
  headers: Headers,
  { isProxyMode, credential }: ModelContext<MuLLMConfig>,
): Promise<HttpRequestHeaders> {
  const key = isProxyMode ? '' : await credential();
  return Object.fromEntries([...headers].map(([name, value]) => [name, value.replace(standIn, key)]));
}

function bodyOf(
  history: readonly Message[],
  options: GenerateOptions,
  { name, config, warn }: ModelContext<MuLLMConfig>,
): MessageBody {
  const { model = 'claude-haiku-5-5', systemPrompt, promptCache = '5m' } = config;
  const { tools = [], toolChoice, maxTokens = config.maxTokens ?? 1024, responseFormat, serviceTier } = options;
  const known = traits.find(([models]) => models.test(model))?.[1] ?? {};
  const { effort = known.effort } = config;
  // With the two highest efforts, thinking cannot be disabled.
  const mustThink = known.thinking?.['type'] === 'disabled' && (effort === 'xhigh' || effort === 'max');
  const { thinking = mustThink ? undefined : known.thinking } = config;
  const { system, messages } = repairHistory(history, { systemPrompt, startsWithUser: true });
  const { stopSequences = config.stopSequences ?? [] } = options;
  const stops = stopSequences.filter((text) => text.trim() !== '');
  const isAnyJson = responseFormat === 'json';
  for (const option of lacking.filter((each) => options[each] !== undefined)) {
    warn(`the service does not support ${option}; it was left out`);
  }
  if (isAnyJson) warn('the service gives JSON by a schema only; responseFormat was left out');
  const format = responseFormat === undefined || isAnyJson ? undefined : answerSchema(responseFormat, name).schema;
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (isForced && known.choosesFreely) warn(`${model} cannot be forced to call a tool`);

  const mark = promptCache === false ? undefined : cacheMark(promptCache);
  const wire = messageHistory(messages);
  const choice = isForced && known.choosesFreely ? 'auto' : toolChoice;
  const declared = wireTools(tools, messages, choice, options.parallelToolCalls);
  const beginning = lengthOf(system, declared);

  return {
    model,
    max_tokens: maxTokens,
    ...(system && { system: mark && beginning >= leastCached ? marked(system, mark) : system }),
    ...(thinking && { thinking }),
    ...((effort !== undefined || format) && {
      output_config: {
        ...(effort !== undefined && { effort }),
        ...(format && { format: { type: 'json_schema', schema: format } }),
      },
    }),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(serviceTier !== undefined && { service_tier: serviceTier }),
    ...declared,
    messages: mark && beginning + lengthOf(wire) >= leastCached ? withMarkedEnd(wire, mark) : wire,
    ...config.extraBody,
    ...options.extraBody,
  };
}

/** Characters below which no model caches: it takes 1,024 tokens and more (platform.claude.com, Prompt caching). */
const leastCached = 1024;

const lengthOf = (...parts: readonly unknown[]): number => JSON.stringify(parts).length;

/** Marks the end of what the service may keep. Five minutes are its default. */
function cacheMark(ttl: '5m' | '1h'): WireObject {
  return { cache_control: { type: 'ephemeral', ...(ttl === '1h' && { ttl }) } };
}

/** Content whose last block is marked. A history ends with the user's words or a tool's result: both take a mark. */
function marked(content: unknown, mark: WireObject): readonly WireObject[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : asObjects(content);
  return blocks.map((block, index) => (index === blocks.length - 1 ? { ...block, ...mark } : block));
}

/** The next request reads all up to here, and writes only what is new. */
function withMarkedEnd(messages: readonly WireMessage[], mark: WireObject): WireMessage[] {
  return messages.map((message, index) =>
    index === messages.length - 1 ? { ...message, content: marked(message.content, mark) } : message,
  );
}

function wireTools(
  tools: readonly ToolDefinition[],
  messages: readonly Message[],
  choice: GenerateOptions['toolChoice'],
  isParallel: boolean | undefined,
): WireObject {
  const declared = tools.map(({ name, description, parameters = noArguments, strict }) => ({
    name,
    input_schema: parameters,
    ...(strict !== undefined && { strict }),
    ...(description !== undefined && { description }),
  }));
  // Calls in the history need their tools declared, even when no more may be made.
  const called = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const lost = new Set(called.map(({ name }) => name));
  for (const { name } of tools) lost.delete(name);
  for (const name of lost) declared.push({ name, input_schema: noArguments });
  if (declared.length === 0) return {};
  const asked =
    tools.length === 0 ? { type: 'none' } : wireChoice(choice ?? (isParallel === false ? 'auto' : undefined));
  const isOne = isParallel === false && asked?.['type'] !== 'none';
  const toolChoice = asked && { ...asked, ...(isOne && { disable_parallel_tool_use: true }) };
  return { tools: declared, ...(toolChoice && { tool_choice: toolChoice }) };
}

const noArguments = { type: 'object', properties: {} };

function wireChoice(choice: GenerateOptions['toolChoice']): WireObject | undefined {
  if (typeof choice === 'object') return { type: 'tool', name: choice.name };
  return choice && { type: choice === 'required' ? 'any' : choice };
}

/** A wire message: its content is text, or blocks. */
interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: unknown;
}

/**
 * A repaired history in the format of Anthropic's Messages API: roles alternate, and the results of a turn's calls come
 * together at the start of the user's next turn.
 */
function messageHistory(messages: readonly Message[]): WireMessage[] {
  // Reasoning belongs to the calls being answered, not to earlier turns.
  const loopStart = messages.findLastIndex(({ role }) => role === 'user');
  const wire: { role: WireMessage['role']; content: WireObject[] }[] = [];
  messages.forEach((message, index) => {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = blocksOf(message, index > loopStart);
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...content);
    else wire.push({ role, content });
  });
  return wire.map(({ role, content }) => ({ role, content: plain(content) }));
}

/** A single text needs no block. */
function plain(content: readonly WireObject[]): unknown {
  const [first] = content;
  return content.length === 1 && first?.['type'] === 'text' ? first['text'] : content;
}

function blocksOf(message: Message, isInLoop: boolean): WireObject[] {
  if (message.role === 'tool') {
    const { toolCallId, content, isError } = message;
    const result = { type: 'tool_result', tool_use_id: wireId(toolCallId), content };
    return [isError === true ? { ...result, is_error: true } : result];
  }
  const text = message.content.trim() === '' ? [] : [{ type: 'text', text: message.content }];
  if (message.role === 'user') return [...imageBlocks(message), ...text];
  if (message.role === 'system') return text;
  const calls = message.toolCalls ?? [];
  const thinking = isInLoop ? asObjects(calls[0]?.providerExtras?.['thinking']) : [];
  return [...thinking, ...text, ...calls.map(wireCall)];
}

function wireCall({ id, name, argsText }: ToolCall): WireObject {
  return { type: 'tool_use', id: wireId(id), name, input: asObject(parseArgs(argsText).args) ?? {} };
}

/** Other vendors' call ids can contain characters that this one rejects. */
function wireId(id: string): string {
  return id.replace(/[^\w-]/g, '_');
}
