import type { WireObject } from '../../core/guard.ts';
import { asNumber, asObject, asObjects, asString } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import { imageUrl } from '../../core/image-url.ts';
import type { FinishReason, GenerateOptions, Message, TokenUsage, ToolCall } from '../../core/messages.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';
import { answerSchema } from './answer-schema.ts';
import type { ChatConfig } from './chat-completions.ts';
import { callFields } from './chat-dialect.ts';
import type { AnswerContext, ModelContext, ModelRequest, ModelStep } from './model-wire.ts';
import { repairHistory } from './repair-history.ts';
import { parseArgs } from './tool-calls.ts';

/** An answer of the Responses API, as read so far. */
export interface ResponsesAnswer {
  readonly calls: readonly Pick<ToolCall, 'id' | 'name' | 'args' | 'argsText'>[];
  /** What the model thought before its calls, which only the service can read. */
  readonly reasoning: readonly WireObject[];
  readonly hasText: boolean;
}

/** What is known of a model. */
export interface ResponsesFacts {
  /** The reasoning effort with the fastest first token. */
  readonly effort: string | undefined;
  /** Whether it reasons at all. */
  readonly reasons: boolean;
  /** Fields that it rejects. */
  readonly refused: readonly string[];
  /** Whether its turns are sent back with their `phase`: without it, it takes words before a call for its answer. */
  readonly labels: boolean;
}

/** What the Responses API takes of the configuration. */
interface ResponsesConfig extends ChatConfig {
  readonly model: string;
  readonly serviceTools?: readonly Readonly<Record<string, unknown>>[];
  readonly organizationId?: string;
  readonly projectId?: string;
}

type Step = ModelStep<ResponsesAnswer>;

/** Limits on what a service may send. */
const maxItems = 256;
const maxArgsLength = 1_048_576;

/** Options that the service has no field for. */
const lacking = ['stopSequences', 'seed'] as const;

const finishReasons: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  content_filter: 'filtered',
};

/** The request for an answer by the Responses API. The service stores nothing: what was heard is what it is told. */
export function requestOf(
  history: readonly Message[],
  options: GenerateOptions,
  context: ModelContext<ResponsesConfig>,
  facts: ResponsesFacts,
): ModelRequest {
  const { config, name, warn } = context;
  const { effort: guess, reasons, refused, labels } = facts;
  const { tools = [], toolChoice, responseFormat } = options;
  const { serviceTools = [], organizationId, projectId } = config;
  const { system, messages } = repairHistory(history, { systemPrompt: config.systemPrompt, startsWithUser: false });
  const asked = { ...config, ...callFields(options, config) };
  for (const option of lacking) {
    const isSet = option === 'stopSequences' ? (asked.stopSequences?.length ?? 0) > 0 : asked[option] !== undefined;
    if (isSet) warn(`the Responses API does not support ${option}; it was left out`);
  }
  const effort = config.reasoningEffort ?? guess;
  const [temperature, topP] = ['temperature', 'top_p'].map((field) => !refused.includes(field));
  const plain = {
    model: config.model,
    instructions: system || undefined,
    input: inputOf(messages, labels),
    stream: true,
    stream_options: { include_obfuscation: false },
    store: false,
    // Without it, calls would lose the reasoning that led to them.
    include: reasons ? ['reasoning.encrypted_content'] : undefined,
    max_output_tokens: asked.maxTokens,
    temperature: temperature ? asked.temperature : undefined,
    top_p: topP ? config.topP : undefined,
    service_tier: asked.serviceTier,
    prompt_cache_key: asked.cacheKey,
    parallel_tool_calls: asked.parallelToolCalls,
    text: responseFormat && { format: formatOf(responseFormat, name) },
    ...toolsOf([...serviceTools], tools, toolChoice),
  };
  const extra = { ...config.extraBody, ...options.extraBody };
  const isGuess = config.reasoningEffort === undefined && effort !== undefined && extra['reasoning'] === undefined;
  return {
    url: context.url('/responses'),
    headers: async () => ({
      Accept: 'text/event-stream',
      Authorization: await context.authorization(),
      'OpenAI-Organization': organizationId,
      'OpenAI-Project': projectId,
    }),
    json: { ...plain, reasoning: effort === undefined ? undefined : { effort }, ...extra },
    ...(isGuess && { plain: { ...plain, include: undefined, ...extra } }),
  };
}

function formatOf(format: NonNullable<GenerateOptions['responseFormat']>, provider: string): WireObject {
  return format === 'json' ? { type: 'json_object' } : { type: 'json_schema', ...answerSchema(format, provider) };
}

function toolsOf(
  own: readonly WireObject[],
  tools: NonNullable<GenerateOptions['tools']>,
  choice: GenerateOptions['toolChoice'],
): WireObject {
  if (own.length + tools.length === 0) return {};
  const declared = tools.map(({ name, description, parameters = { type: 'object', properties: {} }, strict }) => ({
    // The service is strict unless told otherwise.
    ...{ type: 'function', name, description, parameters, strict: strict ?? false },
  }));
  const isNamed = typeof choice === 'object';
  return { tools: [...own, ...declared], tool_choice: isNamed ? { type: 'function', name: choice.name } : choice };
}

function inputOf(messages: readonly Message[], labels: boolean): WireObject[] {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  return messages.flatMap((message, index): WireObject[] => {
    switch (message.role) {
      case 'system':
        return [{ role: 'system', content: message.content }];
      case 'user': {
        const { content, images = [] } = message;
        if (images.length === 0) return [{ role: 'user', content }];
        const pictures = images.map((image) => ({ type: 'input_image', image_url: imageUrl(image), detail: 'auto' }));
        return [
          { role: 'user', content: [...(content.trim() ? [{ type: 'input_text', text: content }] : []), ...pictures] },
        ];
      }
      case 'assistant': {
        const { content, toolCalls: calls = [] } = message;
        // Until its calls are answered, the model wants the reasoning before them back.
        const reasoning = index > lastUser ? asObjects(calls[0]?.providerExtras?.['reasoning']) : [];
        const phase = calls.length > 0 ? 'commentary' : 'final_answer';
        return [
          ...reasoning,
          ...(content.trim() ? [{ role: 'assistant', content, ...(labels && { phase }) }] : []),
          ...calls.map(({ id, name, argsText }) => {
            const parsed = parseArgs(argsText);
            const args = parsed.args === undefined ? '{}' : parsed.argsText;
            return { type: 'function_call', call_id: id, name, arguments: args };
          }),
        ];
      }
      case 'tool': {
        const { toolCallId, content, isError } = message;
        const output = isError === true && !/^error/i.test(content) ? `Error: ${content}` : content;
        return [{ type: 'function_call_output', call_id: toolCallId, output }];
      }
    }
  });
}

const handlers: Readonly<
  Record<string, (state: ResponsesAnswer, message: WireObject, context: AnswerContext) => Step>
> = {
  'response.output_item.added': (state, { item }) => {
    // A second message, such as one after the service has searched.
    const isNext = asObject(item)?.['type'] === 'message' && state.hasText;
    return [state, isNext ? { type: 'token', text: ' ' } : { type: 'progress' }];
  },
  'response.output_text.delta': said,
  'response.refusal.delta': said,
  'response.output_item.done': (state, { item }) => [withItem(state, asObject(item) ?? {}), { type: 'progress' }],
  'response.completed': finish,
  'response.incomplete': finish,
  'response.failed': (state, { response }) => {
    const error = asObject(asObject(response)?.['error']) ?? { code: 'server_error' };
    return [state, { type: 'refused', text: JSON.stringify({ error }) }];
  },
  error: (state, { code, message, error }) => [
    state,
    { type: 'refused', text: JSON.stringify({ error: asObject(error) ?? { code, message } }) },
  ],
};

/** Reads an event of an answer. */
export function readEvent(state: ResponsesAnswer, { data }: ServerSentEvent, context: AnswerContext): Step {
  const message = parseJsonObject(data);
  if (!message) return [state, { type: 'unreadable' }];
  const type = asString(message['type']) ?? '';
  const read = ownEntry(handlers, type);
  if (read) return read(state, message, context);
  // The model thinks, searches, or writes a call.
  return type.startsWith('response.') ? [state, { type: 'progress' }] : [state];
}

/** Reads a whole answer. */
export function readResponse(state: ResponsesAnswer, json: unknown, context: AnswerContext): Step {
  const response = asObject(json) ?? {};
  const items = asObjects(response['output']);
  const text = items
    .flatMap(({ content }) => asObjects(content))
    .map((part) => asString(part['text']) ?? asString(part['refusal']) ?? '')
    .join('');
  const read = items.reduce(withItem, state);
  const [last, ...ending] = finish(read, { response }, context);
  return [last, ...(text ? [{ type: 'token', text } as const] : []), ...ending];
}

function said(state: ResponsesAnswer, { delta }: WireObject): Step {
  const text = asString(delta);
  return text
    ? [
        { ...state, hasText: true },
        { type: 'token', text },
      ]
    : [state, { type: 'progress' }];
}

function withItem(state: ResponsesAnswer, item: WireObject): ResponsesAnswer {
  if (state.calls.length + state.reasoning.length >= maxItems) return state;
  if (item['type'] === 'reasoning' && asString(item['encrypted_content'])) {
    const { id, summary, encrypted_content } = item;
    return {
      ...state,
      reasoning: [...state.reasoning, { type: 'reasoning', id, summary: summary ?? [], encrypted_content }],
    };
  }
  const [id, name] = [asString(item['call_id']) ?? '', asString(item['name'])];
  if (item['type'] !== 'function_call' || !name || item['status'] === 'incomplete') return state;
  const argsText = (asString(item['arguments']) ?? '').slice(0, maxArgsLength);
  return { ...state, calls: [...state.calls, { id, name, ...parseArgs(argsText) }] };
}

function finish(state: ResponsesAnswer, { response }: WireObject, { newCallId }: AnswerContext): Step {
  const { usage, incomplete_details: details } = asObject(response) ?? {};
  const reason = ownEntry(finishReasons, asString(asObject(details)?.['reason'])) ?? 'stop';
  const whole = state.calls.filter(({ args }) => reason === 'stop' || args !== undefined);
  const calls = reason === 'filtered' ? [] : whole;
  const { reasoning } = state;
  const counts = usageOf(asObject(usage));
  return [
    state,
    ...calls.map((call, index) => ({
      ...{ type: 'tool-call' as const, ...call, id: call.id || newCallId() },
      ...(index === 0 && reasoning.length > 0 && { providerExtras: { reasoning } }),
    })),
    { type: 'done', finishReason: calls.length > 0 ? 'tool-calls' : reason, ...(counts && { usage: counts }) },
  ];
}

function usageOf(usage: WireObject | undefined): TokenUsage | undefined {
  const counts = {
    inputTokens: asNumber(usage?.['input_tokens']),
    outputTokens: asNumber(usage?.['output_tokens']),
    totalTokens: asNumber(usage?.['total_tokens']),
    cachedTokens: asNumber(asObject(usage?.['input_tokens_details'])?.['cached_tokens']),
    reasoningTokens: asNumber(asObject(usage?.['output_tokens_details'])?.['reasoning_tokens']),
  };
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}
