import type { JsonSchema } from './tools.ts';

/** A tool call by the model. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The parsed arguments; `undefined` when {@link argsText} is not valid JSON. */
  readonly args: unknown;
  /** The arguments as the model wrote them. */
  readonly argsText: string;
  /** Vendor data to send back with the call, such as a thought signature. */
  readonly providerExtras?: Readonly<Record<string, unknown>>;
}

/** A message of the conversation, as sent to the model. */
export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string; readonly isError?: boolean };

/** A tool as the model sees it. */
export interface ToolDefinition {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments; absent means no arguments. */
  readonly parameters?: JsonSchema;
}

/** Token counts by the service, as billed. Missing ones are absent. */
export interface TokenUsage {
  /** Tokens of the request, cached ones included. */
  readonly inputTokens?: number;
  /** Tokens of the answer, reasoning included. */
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  /** Of `inputTokens`, those that the service had in its cache, which cost less. */
  readonly cachedTokens?: number;
  /** Of `inputTokens`, those that it wrote to its cache, where that costs more. */
  readonly cacheWriteTokens?: number;
  /** Of `outputTokens`, those of reasoning, which nobody hears. */
  readonly reasoningTokens?: number;
}

/** Why a generation ended. `filtered` is a refusal or a content filter. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'filtered';

/** The output of a generation: any number of tokens and tool calls, then one `done`. */
export type LLMEvent =
  | { readonly type: 'token'; readonly text: string }
  | ({ readonly type: 'tool-call' } & ToolCall)
  | { readonly type: 'done'; readonly finishReason: FinishReason; readonly usage?: TokenUsage };

/** Options of one generation. */
export interface GenerateOptions {
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly ToolDefinition[];
  /** Whether it may, must or must not call one, or which one. Default: `auto`. */
  readonly toolChoice?: 'auto' | 'required' | 'none' | { readonly name: string };
  /** Maximum answer length, in tokens. */
  readonly maxTokens?: number;
  /** Sampling temperature: 0 to 2 with most services. Default: the service's. */
  readonly temperature?: number;
  /**
   * Additional request fields, under the service's own names; these take precedence, also over the provider's
   * configuration. Default: none.
   */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}
