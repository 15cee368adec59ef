import type Anthropic from '@anthropic-ai/sdk';
import type { WireObject } from '../../core/guard.ts';
import type { GenerateOptions, Message, ToolDefinition } from '../../core/messages.ts';
import { loadOptionalPeer, rethrow } from '../../core/optional-peer.ts';
import type { HttpRequestHeaders } from '../../transport/http.ts';
import type { AnswerReader, AnswerReaderContext } from './answer-reader.ts';
import { BaseLLM, type AnswerRequest, type LLMConfig } from './base-llm.ts';
import { messageHistory, type WireMessage } from './message-history.ts';
import { MessageReader } from './message-reader.ts';
import { repairHistory } from './repair-history.ts';

/** A model of {@link MuLLM}: the small, mid and large tier; others pass through. */
export type MuLLMModel = 'claude-haiku-5-5' | 'claude-sonnet-5-5' | 'claude-opus-5-5' | (string & {});

/** Configuration of {@link MuLLM}. The service takes no temperature: one that a generation asks for is dropped. */
export interface MuLLMConfig extends LLMConfig {
  /** Default: `claude-haiku-5-5`. */
  readonly model?: MuLLMModel;
  /** Longest answer in tokens, thoughts included. Default: 1024. */
  readonly maxTokens?: number;
  /** Default: as little thought as the model permits. */
  readonly thinking?: Readonly<Record<string, unknown>>;
  /** How much the model takes upon itself. Default: `low` for models that always think, else the service's. */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
}

/** What a model needs so that its voice comes soon, and what it refuses (platform.claude.com, Thinking). */
interface ModelTraits {
  readonly thinking?: WireObject;
  readonly effort?: string;
  /** Whether it refuses to be told which tool to call. */
  readonly choosesFreely?: boolean;
}
const traits: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^claude-haiku-5-5/, { thinking: { type: 'disabled' } }],
  [/^claude-sonnet-5-5/, { thinking: { type: 'between_tools' }, effort: 'low', choosesFreely: true }],
  [/^claude-opus-5-5/, { effort: 'low', choosesFreely: true }],
];

interface MessageBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly WireMessage[];
}

/** Stands for the credential until the request is sent. */
const standIn = 'rxvoice-credential';

/**
 * MuLLM: Anthropic Messages API (Claude), `https://api.anthropic.com`, https://platform.claude.com/docs
 *
 * Needs the optional package `@anthropic-ai/sdk`, which makes the request: its headers and its version of the API. The
 * library sends it, so that time-outs, retries, cancellation and limits are those of all providers.
 */
export class MuLLM extends BaseLLM<MuLLMConfig> {
  override readonly name: string = 'MuLLM';
  protected override readonly defaultBaseUrl: string = 'https://api.anthropic.com';
  #sdk: typeof Anthropic | undefined;

  protected override configRules(): ReturnType<BaseLLM<MuLLMConfig>['configRules']> {
    return { maxTokens: { min: 1, integer: true } };
  }

  protected override async onInitialize(signal: AbortSignal): Promise<void> {
    await super.onInitialize(signal);
    const sdk = await loadOptionalPeer(this.name, '@anthropic-ai/sdk', '>= 0.90.0', () =>
      import('@anthropic-ai/sdk').catch(rethrow),
    );
    this.#sdk = sdk.default;
  }

  protected override async request(messages: readonly Message[], options: GenerateOptions): Promise<AnswerRequest> {
    let request: AnswerRequest | undefined;
    const client = new (this.#sdk ?? this.#unloaded())({
      ...{ apiKey: standIn, baseURL: this.resolveUrl('').href },
      ...{ maxRetries: 0, dangerouslyAllowBrowser: true, logLevel: 'off' },
      // A null keeps a header out, as a proxy wants it; which of them carries the credential depends on the version.
      ...(this.isProxyMode && { defaultHeaders: { Authorization: null, 'X-Api-Key': null } }),
      fetch: (url, { headers, body } = {}) => {
        const made = new Headers(headers);
        if (typeof url === 'string' && typeof body === 'string') {
          request = { url, headers: () => this.#withCredential(made), body };
        }
        return Promise.resolve(new Response());
      },
    });
    const body = this.#body(messages, options) as Anthropic.MessageCreateParams;
    await client.messages.create({ ...body, stream: true }).asResponse();
    return request ?? this.#unloaded();
  }

  protected override reader(_options: GenerateOptions, context: AnswerReaderContext): AnswerReader {
    return new MessageReader(context);
  }

  #body(history: readonly Message[], options: GenerateOptions): MessageBody {
    const { config } = this;
    const { model = 'claude-haiku-5-5', systemPrompt } = config;
    const { tools = [], toolChoice, maxTokens = config.maxTokens ?? 1024, temperature } = options;
    const known = traits.find(([models]) => models.test(model))?.[1] ?? {};
    const { thinking = known.thinking, effort = known.effort } = config;
    const { system, messages } = repairHistory(history, { systemPrompt, startsWithUser: true });
    const stopSequences = config.stopSequences?.filter((text) => text.trim() !== '') ?? [];
    if (temperature !== undefined) this.warnOnce(`${this.name}: the service takes no temperature; it is left out`);
    const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
    if (isForced && known.choosesFreely) this.warnOnce(`${this.name}: ${model} cannot be told to call a tool`);

    return {
      model,
      max_tokens: maxTokens,
      ...(system && { system }),
      ...(thinking && { thinking }),
      ...(effort !== undefined && { output_config: { effort } }),
      ...(stopSequences.length > 0 && { stop_sequences: stopSequences }),
      ...wireTools(tools, messages, isForced && known.choosesFreely ? 'auto' : toolChoice),
      messages: messageHistory(messages),
    };
  }

  /** The SDK's headers with the credential in the place of its stand-in. */
  async #withCredential(headers: Headers): Promise<HttpRequestHeaders> {
    const key = this.isProxyMode ? '' : await this.resolveApiKey();
    return Object.fromEntries([...headers].map(([name, value]) => [name, value.replace(standIn, key)]));
  }

  #unloaded(): never {
    throw this.error(`${this.name}: @anthropic-ai/sdk made no request`, { code: 'internal' });
  }
}

function wireTools(
  tools: readonly ToolDefinition[],
  messages: readonly Message[],
  choice: GenerateOptions['toolChoice'],
): WireObject {
  const declared = tools.map(({ name, description, parameters = noArguments }) => ({
    ...{ name, input_schema: parameters },
    ...(description !== undefined && { description }),
  }));
  // Calls in the history need their tools declared, also when no more may be made.
  const called = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const lost = new Set(called.map(({ name }) => name));
  for (const { name } of tools) lost.delete(name);
  for (const name of lost) declared.push({ name, input_schema: noArguments });
  if (declared.length === 0) return {};
  const toolChoice = tools.length === 0 ? { type: 'none' } : wireChoice(choice);
  return { tools: declared, ...(toolChoice && { tool_choice: toolChoice }) };
}

const noArguments = { type: 'object', properties: {} };

function wireChoice(choice: GenerateOptions['toolChoice']): WireObject | undefined {
  if (typeof choice === 'object') return { type: 'tool', name: choice.name };
  return choice && { type: choice === 'required' ? 'any' : choice };
}
