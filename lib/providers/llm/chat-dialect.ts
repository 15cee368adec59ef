import type { ConfigRules } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import type { GenerateOptions, Message, ToolCall, ToolDefinition } from '../../core/messages.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { answerSchema } from './answer-schema.ts';
import { chatAnswer, type ChatAnswer } from './chat-answer.ts';
import type { CallFields, ChatConfig, ChatForm, ChatProfile } from './chat-completions.ts';
import { chatContent } from './message-images.ts';
import type { ModelContext, ModelDialect, ModelRequest } from './model-wire.ts';
import { repairHistory } from './repair-history.ts';
import { parseArgs } from './tool-calls.ts';

/** How a chat completions service is asked, and its answers are read. Loaded during `initialize()`. */
export function chatDialect<C extends ChatConfig>(
  profile: ChatProfile<C>,
  rules: ConfigRules,
): ModelDialect<C, ChatAnswer> {
  const { callId, hasCallsInText, headers } = profile;
  return {
    callId,
    request: (messages, options, context) => ({
      url: context.url('/chat/completions'),
      headers: context.authorized((Authorization) => ({
        Accept: 'text/event-stream',
        Authorization,
        ...headers?.(context.config),
      })),
      ...bodiesOf(profile, rules, messages, options, context),
    }),
    ...chatAnswer(hasCallsInText),
  };
}

/** The body; beside it, if the provider chose a reasoning effort, the one without it: models differ, and change. */
function bodiesOf<C extends ChatConfig>(
  profile: ChatProfile<C>,
  rules: ConfigRules,
  history: readonly Message[],
  options: GenerateOptions,
  context: ModelContext<C>,
): Pick<ModelRequest, 'json' | 'plain'> {
  const json = bodyOf(profile, rules, history, options, context);
  const { reasoning_effort: guess, ...plain } = json;
  const { reasoningEffort, extraBody } = context.config;
  const isGuess = reasoningEffort === undefined && guess !== undefined;
  const isAsked = extraBody?.['reasoning_effort'] ?? options.extraBody?.['reasoning_effort'];
  return isGuess && isAsked === undefined ? { json, plain } : { json };
}

function bodyOf<C extends ChatConfig>(
  profile: ChatProfile<C>,
  rules: ConfigRules,
  history: readonly Message[],
  options: GenerateOptions,
  { name, config, warn }: ModelContext<C>,
): WireObject {
  const { startsWithUser = true, refusedFields, streamOptions, lacks = [] } = profile;
  const { tools = [], toolChoice, responseFormat } = options;
  const model = config.model ?? profile.defaultModel ?? '';
  const reasoningEffort = config.reasoningEffort ?? profile.reasoningEffort?.(model);
  const { system, messages } = repairHistory(history, { systemPrompt: config.systemPrompt, startsWithUser });

  const asked = Object.assign({}, config, callFields(options, config), { reasoningEffort });
  for (const option of lacks.filter((each) => asked[each] !== undefined)) {
    warn(`the service does not support ${option}; it was left out`);
    Reflect.deleteProperty(asked, option);
  }
  const fields = wireParameters(asked, rules);
  for (const field of refusedFields?.(model, reasoningEffort) ?? []) Reflect.deleteProperty(fields, field);
  const asks = {
    messages: [...(system ? [{ role: 'system', content: system }] : []), ...chatHistory(messages, profile)],
    stream: true,
    ...(streamOptions && { stream_options: streamOptions }),
    ...chatTools(tools, toolChoice),
    ...(responseFormat && { response_format: chatFormat(responseFormat, name) }),
  };
  return Object.assign(fields, asks, config.extraBody, options.extraBody);
}

/** What the options of a generation may set, and the configuration for all. */
type SharedFields = Partial<Record<'maxTokens' | 'temperature' | 'seed', number | undefined>> & {
  readonly stopSequences?: readonly string[] | undefined;
};

/** The fields of one generation: its options take precedence over the configuration. */
export function callFields(
  options: GenerateOptions,
  config: SharedFields,
): SharedFields & { readonly [K in keyof CallFields]: CallFields[K] | undefined } {
  const { serviceTier, cacheKey, parallelToolCalls, tools = [] } = options;
  return {
    maxTokens: options.maxTokens ?? config.maxTokens,
    temperature: options.temperature ?? config.temperature,
    seed: options.seed ?? config.seed,
    stopSequences: options.stopSequences ?? config.stopSequences,
    // Without tools, services refuse to be told how to call them.
    ...{ serviceTier, cacheKey, parallelToolCalls: tools.length > 0 ? parallelToolCalls : undefined },
  };
}

/** A response format in chat completions' terms. */
function chatFormat(format: NonNullable<GenerateOptions['responseFormat']>, provider: string): WireObject {
  return format === 'json'
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: answerSchema(format, provider) };
}

const unchanged = (id: string): string => id;

/** A repaired history in chat completions format. */
export function chatHistory(messages: readonly Message[], form: ChatForm): WireObject[] {
  const { lateSystemRole = 'user', toolToUser, silence = null, callId = unchanged, callExtras } = form;
  return messages.flatMap((message, index): WireObject[] => {
    switch (message.role) {
      case 'system':
        return [{ role: lateSystemRole, content: message.content }];
      case 'user': {
        const isAfterTool = toolToUser !== undefined && messages[index - 1]?.role === 'tool';
        const between = isAfterTool ? [{ role: 'assistant', content: toolToUser }] : [];
        return [...between, { role: 'user', content: chatContent(message) }];
      }
      case 'assistant': {
        const calls = message.toolCalls?.map((call) => ({
          id: callId(call.id),
          type: 'function',
          function: { name: call.name, arguments: argumentsOf(call) },
          ...callExtras?.(call),
        }));
        const content = calls ? message.content || silence : message.content;
        return [{ role: 'assistant', content, ...(calls && { tool_calls: calls }) }];
      }
      case 'tool':
        return [{ role: 'tool', tool_call_id: callId(message.toolCallId), content: resultOf(message) }];
    }
  });
}

/** The tools that a model may call, and the choice among them; empty without tools. */
export function chatTools(tools: readonly ToolDefinition[], choice: GenerateOptions['toolChoice']): WireObject {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters = { type: 'object', properties: {} }, strict }) => ({
      type: 'function',
      function: { name, description, parameters, ...(strict !== undefined && { strict }) },
    })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice,
  };
}

/** Services parse the arguments sent back to them. */
function argumentsOf({ argsText }: ToolCall): string {
  const parsed = parseArgs(argsText);
  return parsed.args === undefined ? '{}' : parsed.argsText;
}

/** The format cannot mark a result as an error. */
function resultOf({ content, isError }: Extract<Message, { role: 'tool' }>): string {
  return isError === true && !/^error/i.test(content) ? `Error: ${content}` : content;
}
