import { entry, num, obj, parseJsonObject, str, type WireObject } from '../../core/guard.ts';
import type { FinishReason, LLMEvent, TokenUsage } from '../../core/messages.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';
import type { AnswerReader, AnswerReaderContext } from './answer-reader.ts';
import { parseArgs } from './tool-call-assembler.ts';

/** A block of an answer, as far as it has come. */
type Block =
  | { readonly type: 'text' }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; argsText: string }
  | { readonly type: 'thinking'; thinking: string; signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'other' };

const finishReasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filtered',
};

/** Bounds of what a service may send. */
const maxBlocks = 256;
const maxBlockLength = 1_048_576;

type Read = readonly LLMEvent[] | undefined;

/** Reads an answer of Anthropic's Messages API (platform.claude.com, Streaming). */
export class MessageReader implements AnswerReader {
  isComplete: boolean = false;
  readonly #context: AnswerReaderContext;
  readonly #blocks = new Map<number, Block>();
  #stopReason: string | undefined;
  #usage: TokenUsage = {};

  constructor(context: AnswerReaderContext) {
    this.#context = context;
  }

  // What is not in the table, such as `ping` or what the vendor adds, is no progress.
  readonly #handlers: Readonly<Record<string, (message: WireObject) => Read>> = {
    message_start: (message) => this.#count(obj(message['message'])?.['usage']),
    content_block_start: (message) => this.#start(num(message['index']) ?? 0, obj(message['content_block']) ?? {}),
    content_block_delta: (message) => this.#add(num(message['index']) ?? 0, obj(message['delta']) ?? {}),
    content_block_stop: () => [],
    message_delta: (message) => {
      this.#stopReason = str(obj(message['delta'])?.['stop_reason']) ?? this.#stopReason;
      return this.#count(message['usage']);
    },
    message_stop: () => {
      this.isComplete = true;
      return this.finish();
    },
  };

  read({ event, data }: ServerSentEvent): Read {
    const message = parseJsonObject(data);
    if (event === 'error' || message?.['type'] === 'error') throw this.#context.refused(data);
    if (!message) {
      this.#context.unreadable();
      return undefined;
    }
    return entry(this.#handlers, str(message['type']))?.(message);
  }

  finish(): readonly LLMEvent[] {
    if (!this.isComplete) throw this.#context.truncated();
    const finishReason = entry(finishReasons, this.#stopReason) ?? 'stop';
    const calls = finishReason === 'filtered' ? [] : this.#calls(finishReason === 'length');
    const isCounted = Object.keys(this.#usage).length > 0;
    return [
      ...calls,
      {
        type: 'done',
        finishReason: calls.length > 0 ? 'tool-calls' : finishReason,
        ...(isCounted && { usage: this.#usage }),
      },
    ];
  }

  #start(index: number, wire: WireObject): Read {
    if (this.#blocks.size >= maxBlocks) return undefined;
    const block = blockOf(wire);
    this.#blocks.set(index, block);
    return block.type === 'text' ? said(wire['text']) : [];
  }

  #add(index: number, delta: WireObject): Read {
    const block = this.#blocks.get(index) ?? { type: 'text' };
    const more = (text: string, key: string): string => (text + (str(delta[key]) ?? '')).slice(0, maxBlockLength);
    switch (block.type) {
      case 'text':
        return said(delta['text']);
      case 'tool_use':
        block.argsText = more(block.argsText, 'partial_json');
        return [];
      case 'thinking':
        block.thinking = more(block.thinking, 'thinking');
        block.signature = more(block.signature, 'signature');
        return [];
      default:
        return [];
    }
  }

  #calls(isCut: boolean): LLMEvent[] {
    const blocks = [...this.#blocks.values()];
    const calls = blocks.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
    const whole = calls.map((call) => ({ ...call, ...parseArgs(call.argsText) }));
    // The model wants back what it thought before its calls, until they are answered.
    const thinking = blocks.filter(
      (block) => block.type === 'redacted_thinking' || (block.type === 'thinking' && block.signature !== ''),
    );
    return whole
      .filter(({ args }) => !isCut || args !== undefined)
      .map(({ id, name, args, argsText }, index) => ({
        ...{ type: 'tool-call', id, name, args, argsText },
        ...(index === 0 && thinking.length > 0 && { providerExtras: { thinking } }),
      }));
  }

  /** The numbers of tokens are sums: the last one counts, unless it is null. */
  #count(value: unknown): Read {
    const usage = obj(value) ?? {};
    const inputTokens = num(usage['input_tokens']) ?? this.#usage.inputTokens;
    const outputTokens = num(usage['output_tokens']) ?? this.#usage.outputTokens;
    this.#usage = {
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
      ...(inputTokens !== undefined && outputTokens !== undefined && { totalTokens: inputTokens + outputTokens }),
    };
    return [];
  }
}

function said(text: unknown): readonly LLMEvent[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'token', text }] : [];
}

function blockOf(wire: WireObject): Block {
  switch (wire['type']) {
    case 'text':
      return { type: 'text' };
    case 'tool_use': {
      const input = obj(wire['input']);
      const argsText = input && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
      return { type: 'tool_use', id: str(wire['id']) ?? '', name: str(wire['name']) ?? '', argsText };
    }
    case 'thinking':
      return { type: 'thinking', thinking: str(wire['thinking']) ?? '', signature: str(wire['signature']) ?? '' };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: str(wire['data']) ?? '' };
    default:
      return { type: 'other' };
  }
}
