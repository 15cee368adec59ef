import type { ConfigRule } from '../../core/config-rule.ts';
import type { WireObject } from '../../core/guard.ts';
import type { GenerateOptions, Message } from '../../core/messages.ts';
import type { AnswerReader, AnswerReaderContext } from './answer-reader.ts';
import { BaseLLM, type AnswerRequest, type LLMConfig } from './base-llm.ts';
import { chatHistory, chatTools, type ChatForm } from './chat-history.ts';
import { ChatReader } from './chat-reader.ts';
import { repairHistory } from './repair-history.ts';

/** Configuration of every chat completions service. */
export interface ChatConfig extends LLMConfig {
  /** 0 to 2. Default: the service's. */
  readonly temperature?: number;
  /** 0 to 1. Default: the service's. */
  readonly topP?: number;
  /** Makes answers repeatable, as far as the service can. */
  readonly seed?: number;
  /** How long the model thinks before it speaks, such as `none` or `low`. Default: what is fastest, where that is known. */
  readonly reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | (string & {});
  /** Further fields of the request, under the service's own names; they win. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Further headers, such as a gateway's. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
}

/** Configuration of {@link CompatibleLLM}. */
export interface CompatibleLLMConfig extends ChatConfig {
  /** The model's id. Required. */
  readonly model: string;
}

/** How a service differs from the others of its kind. */
export interface ChatProfile extends ChatForm {
  readonly tokenLimitField: 'max_tokens' | 'max_completion_tokens';
  readonly seedField: 'seed' | 'random_seed';
  /** Sent as `stream_options`. Default: not sent. */
  readonly streamOptions?: Readonly<Record<string, unknown>>;
  /** Whether the user must have the first word. */
  readonly startsWithUser: boolean;
  /** Whether the model may write tool calls as text. */
  readonly hasCallsInText: boolean;
  /** The reasoning effort that answers a model's voice soonest. Default: none is sent. */
  readonly reasoningEffort?: (model: string) => string | undefined;
  /** Fields that a model refuses. */
  readonly refusedFields?: (model: string, effort: string | undefined) => readonly string[];
  /** Models that the service has withdrawn, and what stands in for them. */
  readonly retiredModels?: Readonly<Record<string, string>>;
}

/** What the strictest of the compatible servers take. */
export const compatibleProfile: ChatProfile = {
  tokenLimitField: 'max_tokens',
  seedField: 'seed',
  lateSystemRole: 'user',
  startsWithUser: true,
  hasCallsInText: true,
  callExtras: ({ providerExtras }) => {
    const extra = providerExtras?.['extra_content'];
    return extra === undefined ? {} : { extra_content: extra };
  },
};

/** What all chat completions services share; a service is a {@link ChatProfile} and its defaults. */
export abstract class ChatLLM<C extends ChatConfig> extends BaseLLM<C> {
  protected readonly profile: ChatProfile = compatibleProfile;
  /** The model when the configuration names none. */
  protected readonly defaultModel: string | undefined = undefined;

  /** Headers beside the credential's. */
  protected get headers(): Readonly<Record<string, string | undefined>> {
    return { ...this.config.extraHeaders };
  }

  protected override configRules(): Readonly<Record<string, ConfigRule>> {
    const { model, ...rules } = super.configRules();
    return {
      ...(this.defaultModel === undefined && model && { model }),
      ...rules,
      temperature: { min: 0, max: 2 },
      topP: { min: 0, max: 1 },
    };
  }

  protected override request(messages: readonly Message[], options: GenerateOptions): AnswerRequest {
    const hasCredential = !this.isProxyMode && this.config.apiKey !== undefined;
    return {
      url: this.resolveUrl('/chat/completions'),
      headers: async () => ({
        Accept: 'text/event-stream',
        Authorization: hasCredential ? await this.resolveAuthHeader() : undefined,
        ...this.headers,
      }),
      json: this.#body(messages, options),
    };
  }

  protected override reader({ tools = [] }: GenerateOptions, context: AnswerReaderContext): AnswerReader {
    const { hasCallsInText, callId = (id: string): string => id } = this.profile;
    const newCallId = (): string => callId(`call_${Math.random().toString(36).slice(2)}`);
    return new ChatReader({ ...context, hasCallsInText, newCallId, toolNames: tools.map(({ name }) => name) });
  }

  #body(history: readonly Message[], options: GenerateOptions): WireObject {
    const { config, profile } = this;
    const model = config.model ?? this.defaultModel ?? '';
    const { maxTokens = config.maxTokens, temperature = config.temperature, tools = [], toolChoice } = options;
    const effort = config.reasoningEffort ?? profile.reasoningEffort?.(model);
    const { system, messages } = repairHistory(history, { systemPrompt: config.systemPrompt, ...profile });
    this.#warnOfRetired(model);

    const body: WireObject = {
      model,
      messages: [...(system ? [{ role: 'system', content: system }] : []), ...chatHistory(messages, profile)],
      stream: true,
      stream_options: profile.streamOptions,
      [profile.tokenLimitField]: maxTokens,
      temperature,
      top_p: config.topP,
      stop: config.stopSequences?.length ? config.stopSequences : undefined,
      [profile.seedField]: config.seed,
      reasoning_effort: effort,
      ...chatTools(tools, toolChoice),
    };
    for (const field of profile.refusedFields?.(model, effort) ?? []) body[field] = undefined;
    return { ...body, ...config.extraBody };
  }

  #warnOfRetired(model: string): void {
    const { retiredModels = {} } = this.profile;
    if (!Object.hasOwn(retiredModels, model)) return;
    this.warnOnce(`${this.name}: the service has retired ${model}; set model, for example to ${retiredModels[model]}`);
  }
}

/**
 * CompatibleLLM: any service with OpenAI's chat completions (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, Together,
 * …), at the `endpoint` that you give, with the version folder (`http://localhost:11434/v1`),
 * https://platform.openai.com/docs/api-reference/chat
 *
 * Local servers need no `apiKey`. What differs between services goes into `extraBody`.
 */
export class CompatibleLLM extends ChatLLM<CompatibleLLMConfig> {
  override readonly name: string = 'CompatibleLLM';
  protected override readonly defaultBaseUrl: undefined = undefined;
  protected override readonly needsCredential: boolean = false;
}
