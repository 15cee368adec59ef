import { arr, num, obj, objs, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { FinishReason, LLMEvent, TokenUsage } from '../../core/messages.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';
import type { AnswerReader, AnswerReaderContext } from './answer-reader.ts';
import { AnswerText } from './answer-text.ts';
import { callsInText } from './calls-in-text.ts';
import { ToolCallAssembler } from './tool-call-assembler.ts';

/** What {@link ChatReader} needs to know. */
export interface ChatReaderOptions extends AnswerReaderContext {
  /** Names of the tools that the model may call. */
  readonly toolNames: readonly string[];
  /** Whether the model may write a tool call as text, as small local ones do. */
  readonly hasCallsInText: boolean;
  /** Makes an id for a call that came without one. */
  readonly newCallId: () => string;
}

const finishReasons: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  model_length: 'length',
  max_tokens: 'length',
  content_filter: 'filtered',
};

/** Reads an answer of a chat completions service, with all that services make of the format (OpenAI's reference). */
export class ChatReader implements AnswerReader {
  isComplete: boolean = false;
  readonly #options: ChatReaderOptions;
  readonly #calls = new ToolCallAssembler();
  readonly #text: AnswerText;
  #finishReason: string | undefined;
  #isRefused: boolean = false;
  #usage: TokenUsage | undefined;

  constructor(options: ChatReaderOptions) {
    this.#options = options;
    this.#text = new AnswerText(options.hasCallsInText && options.toolNames.length > 0);
  }

  read({ event, data }: ServerSentEvent): readonly LLMEvent[] | undefined {
    if (data.trim() === '[DONE]') {
      this.isComplete = true;
      return this.finish();
    }
    if (event === 'error') throw this.#options.refused(data);
    const chunk = parseJsonObject(data) ?? errorInArray(data);
    if (!chunk) {
      this.#options.unreadable();
      return undefined;
    }
    return this.#readChunk(chunk);
  }

  readWhole(json: unknown): readonly LLMEvent[] {
    const completion = obj(json) ?? {};
    const events = this.#readChunk(completion) ?? [];
    this.isComplete = arr(completion['choices']).length > 0;
    return [...events, ...this.finish()];
  }

  finish(): readonly LLMEvent[] {
    const { newCallId, toolNames, truncated, unreadable } = this.#options;
    if (this.#finishReason === undefined && !this.isComplete) throw truncated();
    const finishReason = finishReasons[this.#finishReason ?? ''] ?? 'stop';
    const isCut = finishReason === 'length';
    const { text, held } = this.#text.finish();
    const written = callsInText(held, toolNames, newCallId);
    const calls = [...this.#calls.finish({ newId: newCallId, isCut }), ...written];
    // A call that is none of ours, or half of one, is no speech either.
    const isCall = isCut || held.startsWith('<tool_call>') || parseJsonObject(held) !== undefined;
    if (held && isCall && written.length === 0) unreadable();
    const said = isCall ? text : text + held;
    return [
      ...(said ? [{ type: 'token', text: said } as const] : []),
      ...calls.map((call) => ({ type: 'tool-call', ...call }) as const),
      {
        type: 'done',
        finishReason: calls.length > 0 ? 'tool-calls' : this.#isRefused ? 'filtered' : finishReason,
        ...(this.#usage && { usage: this.#usage }),
      },
    ];
  }

  #readChunk(chunk: WireObject): readonly LLMEvent[] | undefined {
    const groq = obj(chunk['x_groq']);
    const error = chunk['error'] ?? groq?.['error'] ?? (chunk['object'] === 'error' ? chunk : undefined);
    if (error) throw this.#options.refused(JSON.stringify({ error }), num(obj(error)?.['code']));
    this.#usage = usageOf(chunk['usage']) ?? usageOf(groq?.['usage']) ?? this.#usage;

    const choice = objs(chunk['choices']).find(({ index }) => (index ?? 0) === 0);
    if (!choice) return undefined;
    this.#usage = usageOf(choice['usage']) ?? this.#usage;
    const reason = str(choice['finish_reason']);
    if (reason === 'error') throw this.#options.refused(JSON.stringify({ error: { code: 'error' } }));
    // Some services say '' all along.
    if (reason !== undefined && (reason !== '' || this.#finishReason === undefined)) this.#finishReason = reason;

    const delta = obj(choice['delta']) ?? obj(choice['message']) ?? {};
    const refusal = str(delta['refusal']) ?? '';
    if (refusal) this.#isRefused = true;
    this.#calls.add(delta['tool_calls']);
    const content = textOf(delta['content']);
    const said = this.#text.push(content) + refusal;
    if (said) return [{ type: 'token', text: said }];
    const isProgress = Boolean(content || reasoningKeys.some((key) => delta[key]) || arr(delta['tool_calls']).length);
    return isProgress || reason !== undefined ? [] : undefined;
  }
}

/** Where services put what the model thinks, which is not spoken. */
const reasoningKeys = ['reasoning_content', 'reasoning', 'reasoning_details'];

/** The text of a delta's content: a string, or parts of which some are not text. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objs(content)
    .map((part) => (part['type'] === 'text' ? str(part['text']) : '') ?? '')
    .join('');
}

/** Gemini's errors come in an array. */
function errorInArray(data: string): WireObject | undefined {
  return data.trimStart().startsWith('[') ? parseJsonObject(data.trim().slice(1, -1)) : undefined;
}

function usageOf(value: unknown): TokenUsage | undefined {
  const usage = obj(value);
  if (!usage) return undefined;
  const inputTokens = num(usage['prompt_tokens']);
  const outputTokens = num(usage['completion_tokens']);
  const totalTokens = num(usage['total_tokens']);
  const known = {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(totalTokens !== undefined && { totalTokens }),
  };
  return Object.keys(known).length > 0 ? known : undefined;
}
