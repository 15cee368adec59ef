import type { StandardJSONSchemaV1 } from '@standard-schema/spec';
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

/** An image that the user shows: PNG, JPEG, WebP and GIF with most models that see. */
export type MessageImage =
  | {
      /** An `https:` address, which the service fetches, or a `data:` URL. */
      readonly url: string;
    }
  | {
      /** The image file. */
      readonly data: Uint8Array;
      /** Such as `image/png`. */
      readonly mediaType: string;
    };

/** A message of the conversation, as sent to the model. */
export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string; readonly images?: readonly MessageImage[] }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string; readonly isError?: boolean };

/** A tool as the model sees it. */
export interface ToolDefinition {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments; absent means no arguments. */
  readonly parameters?: JsonSchema;
  /** Whether the service guarantees that arguments fit; its schema must be closed. Default: the service's. */
  readonly strict?: boolean;
}

/**
 * The JSON that an answer must be: a JSON Schema, or a library's schema that can be converted to one (Standard JSON
 * Schema).
 */
export type ResponseSchema = JsonSchema | StandardJSONSchemaV1;

/** Token counts by the service, as billed. Missing ones are absent. */
export interface TokenUsage {
  /** Tokens of the request, cached ones included. */
  readonly inputTokens?: number;
  /** Tokens of the answer, reasoning included. */
  readonly outputTokens?: number;
  /** Both together. */
  readonly totalTokens?: number;
  /** Of `inputTokens`, those read from the service's cache, which cost less. */
  readonly cachedTokens?: number;
  /** Of `inputTokens`, those written to the service's cache, which may cost more. */
  readonly cacheWriteTokens?: number;
  /** Of `outputTokens`, those of reasoning, which nobody hears. */
  readonly reasoningTokens?: number;
  /** Of `inputTokens`, those of audio, which cost more; cached ones included. */
  readonly inputAudioTokens?: number;
  /** Of `outputTokens`, those of audio, which cost more. */
  readonly outputAudioTokens?: number;
}

/** Why a generation ended. `filtered` is a refusal or a content filter. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'filtered';

/** The output of a generation: any number of tokens and tool calls, then one `done`. */
export type LLMEvent =
  | { readonly type: 'token'; readonly text: string }
  | ({ readonly type: 'tool-call' } & ToolCall)
  | {
      readonly type: 'done';
      readonly finishReason: FinishReason;
      readonly usage?: TokenUsage;
      /** The service's id of the request, for its support. */
      readonly requestId?: string;
    };

/** Options of one generation. Options that a service does not support are left out, with a warning. */
export interface GenerateOptions {
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly ToolDefinition[];
  /** Whether it may, must or must not call one, or which one. Default: `auto`. */
  readonly toolChoice?: 'auto' | 'required' | 'none' | { readonly name: string };
  /** Maximum answer length, in tokens. */
  readonly maxTokens?: number;
  /** Sampling temperature: 0 to 2 with most services. Default: the service's. */
  readonly temperature?: number;
  /** Makes answers repeatable, where the service supports it. */
  readonly seed?: number;
  /** Texts at which generation stops, instead of those of the provider's configuration. */
  readonly stopSequences?: readonly string[];
  /**
   * The form of the answer: `json` for any JSON object, or JSON by a schema, which the service guarantees if every
   * object in it requires all of its members and allows no others. Default: text.
   */
  readonly responseFormat?: 'json' | ResponseSchema;
  /** How urgent the request is, in the service's own words, such as `priority` or `flex`. */
  readonly serviceTier?: string;
  /** Requests with the same key share the service's prompt cache, for example one key per user. */
  readonly cacheKey?: string;
  /** Whether the model may call several tools at once. Default: the service's, usually true. */
  readonly parallelToolCalls?: boolean;
  /**
   * Additional request fields, under the service's own names; these take precedence, also over the provider's
   * configuration. Default: none.
   */
  readonly extraBody?: Readonly<Record<string, unknown>>;
}
