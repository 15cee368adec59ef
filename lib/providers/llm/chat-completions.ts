import type { ConfigRules, RulesOf } from '../../core/config-rule.ts';
import type { GenerateOptions, ToolCall } from '../../core/messages.ts';
import { OnDemand } from '../../core/on-demand.ts';
import type { RetiringModel } from '../../core/retirement.ts';
import type { LLMConfig } from './llm-config.ts';
import type { LateModelWire } from './model-wire.ts';

/** Configuration of every chat completions service. */
export interface ChatConfig extends LLMConfig {
  /** 0 to 2. Default: the service's. */
  readonly temperature?: number;
  /** 0 to 1. Default: the service's. */
  readonly topP?: number;
  /** Makes answers repeatable, if the service supports it. */
  readonly seed?: number;
  /**
   * How much the model reasons before answering, such as `none` or `low`. Default: the fastest setting, where known.
   */
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | (string & {});
}

/** The options of a generation that are fields of their own. */
export type CallFields = Pick<GenerateOptions, 'serviceTier' | 'cacheKey' | 'parallelToolCalls'>;

/** How a service wants a conversation written as chat completions. */
export interface ChatForm {
  /** The role of instructions in mid-conversation. Default: `user`. */
  readonly lateSystemRole?: 'system' | 'user';
  /** What the assistant must say between a tool's result and the user's next turn. Default: nothing. */
  readonly toolToUser?: string;
  /** The content of an assistant's turn that only calls tools. Default: `null`. */
  readonly silence?: '';
  /** Converts a call's id to one the service accepts; deterministic. Default: the id itself. */
  readonly callId?: (id: string) => string;
  /** What is sent back with a call besides its name and arguments. Default: nothing. */
  readonly callExtras?: (call: ToolCall) => Readonly<Record<string, unknown>>;
}

/** A chat completions service: its address, and how it differs from the others. */
export interface ChatProfile<C extends ChatConfig = ChatConfig> extends ChatForm {
  /** The provider's class name. */
  readonly name: string;
  /** The default address, including the version folder; `undefined` when only the user knows it. */
  readonly baseUrl: string | undefined;
  /** Whether it requires `apiKey` or `proxyUrl`. Default: true. */
  readonly needsCredential?: boolean;
  /** The model when the configuration names none; without a default, `model` is required. */
  readonly defaultModel?: string;
  /** Rules for configuration keys beyond those of {@link ChatConfig}. */
  readonly rules?: ConfigRules;
  /** Headers besides the credential's; `undefined` omits one. */
  readonly headers?: (config: C) => Readonly<Record<string, string | undefined>>;
  /** Default: `max_tokens`. */
  readonly tokenLimitField?: 'max_tokens' | 'max_completion_tokens';
  /** Default: `seed`. */
  readonly seedField?: 'seed' | 'random_seed';
  /** Sent as `stream_options`. Default: not sent. */
  readonly streamOptions?: Readonly<Record<string, unknown>>;
  /** Whether the first turn must be the user's. Default: true. */
  readonly startsWithUser?: boolean;
  /** Whether the model may write tool calls as text, as small local ones do. Default: false. */
  readonly hasCallsInText?: boolean;
  /** The reasoning effort with the fastest first token. Default: not sent. */
  readonly reasoningEffort?: (model: string) => string | undefined;
  /** Fields that a model rejects. */
  readonly refusedFields?: (model: string, effort: string | undefined) => readonly string[];
  /** Options of a generation that the service has no field for. */
  readonly lacks?: readonly (keyof CallFields)[];
  /** The models that the service retires. */
  readonly retiring?: readonly RetiringModel[];
}

/** The wire of a chat completions service (OpenAI's reference). */
export function chatWire<C extends ChatConfig>(profile: ChatProfile<C>): LateModelWire<C> {
  const { name, baseUrl, needsCredential = true, retiring } = profile;
  const rules = rulesOf(profile);
  return {
    name,
    baseUrl,
    needsCredential,
    rules,
    retiring,
    load: async (provider) => {
      const code = await new OnDemand(provider, () => import('./chat-dialect.ts')).load();
      return code.chatDialect(profile, rules);
    },
  };
}

function rulesOf({ defaultModel, tokenLimitField, seedField, rules }: ChatProfile<never>): ConfigRules {
  const own: RulesOf<ChatConfig & CallFields> = {
    model: defaultModel === undefined ? { required: true, wire: true } : { default: defaultModel, wire: true },
    maxTokens: { min: 1, integer: true, wire: tokenLimitField ?? true },
    temperature: { min: 0, max: 2, wire: true },
    topP: { min: 0, max: 1, wire: true },
    stopSequences: { wire: 'stop', toWire: (texts) => (texts.length > 0 ? texts : undefined) },
    seed: { wire: seedField ?? true },
    reasoningEffort: { wire: true },
    serviceTier: { wire: true },
    cacheKey: { wire: 'prompt_cache_key' },
    parallelToolCalls: { wire: true },
  };
  return { ...own, ...rules };
}
