import { asNumber, asObject, asString, type WireObject } from '../../core/guard.ts';
import { parseJsonObject } from '../../core/parse-json.ts';
import type { FinishReason, LLMEvent, TokenUsage } from '../../core/messages.ts';
import { ownEntry } from '../../core/own-entry.ts';
import type { ServerSentEvent } from '../../transport/sse.ts';
import type { ModelStep } from './model-wire.ts';
import { parseArgs } from './tool-calls.ts';

/** A block of an answer, as received so far. */
type Block =
  | { readonly type: 'text' }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly argsText: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'other' };

/** An answer of Anthropic's Messages API, as read so far. */
export interface MessageAnswer {
  readonly blocks: ReadonlyMap<number, Block>;
  readonly stopReason: string | undefined;
  readonly counts: MessageCounts;
}

/** Token counts in the service's terms: its input leaves out what was cached. */
type MessageCounts = Readonly<Partial<Record<(typeof counted)[number] | 'thinking_tokens', number>>>;
const counted = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens'] as const;

type Step = ModelStep<MessageAnswer>;

/** An answer before its first event. */
export const emptyMessage: MessageAnswer = { blocks: new Map(), stopReason: undefined, counts: {} };

const finishReasons: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filtered',
};

/** Limits on what a service may send. */
const maxBlocks = 256;
const maxBlockLength = 1_048_576;

const progress = { type: 'progress' } as const;
const indexOf = ({ index }: WireObject): number => asNumber(index) ?? 0;

// Anything else, such as `ping` or a new vendor event, is not progress.
const handlers: Readonly<Record<string, (state: MessageAnswer, message: WireObject) => Step>> = {
  message_start: (state, { message }) => [count(state, asObject(message)?.['usage']), progress],
  content_block_start: (state, message) => {
    if (state.blocks.size >= maxBlocks) return [state];
    const { text, ...wire } = asObject(message['content_block']) ?? {};
    return said(withBlock(state, indexOf(message), blockOf(wire)), wire['type'] === 'text' ? text : undefined);
  },
  content_block_delta: (state, message) => {
    const index = indexOf(message);
    const delta = asObject(message['delta']) ?? {};
    const block = state.blocks.get(index) ?? { type: 'text' };
    return block.type === 'text'
      ? said(state, delta['text'])
      : [withBlock(state, index, extended(block, delta)), progress];
  },
  content_block_stop: (state) => [state, progress],
  message_delta: (state, { delta, usage }) => {
    const stopReason = asString(asObject(delta)?.['stop_reason']) ?? state.stopReason;
    return [{ ...count(state, usage), stopReason }, progress];
  },
  message_stop: (state) => finish(state),
};

/** Reads an event of an answer (platform.claude.com, Streaming). */
export function readMessage(state: MessageAnswer, { event, data }: ServerSentEvent): Step {
  const message = parseJsonObject(data);
  if (event === 'error' || message?.['type'] === 'error') return [state, { type: 'refused', text: data }];
  if (!message) return [state, { type: 'unreadable' }];
  return ownEntry(handlers, asString(message['type']))?.(state, message) ?? [state];
}

/** Completes an answer without its last event, which says nothing more; `undefined` when it was cut off. */
export function endMessage(state: MessageAnswer): Step | undefined {
  return state.stopReason === undefined ? undefined : finish(state);
}

function finish(state: MessageAnswer): Step {
  const finishReason = ownEntry(finishReasons, state.stopReason) ?? 'stop';
  const calls = finishReason === 'filtered' ? [] : callsOf(state, finishReason === 'length');
  const usage = usageOf(state.counts);
  return [
    state,
    ...calls,
    {
      type: 'done',
      finishReason: calls.length > 0 ? 'tool-calls' : finishReason,
      ...(Object.keys(usage).length > 0 && { usage }),
    },
  ];
}

function callsOf({ blocks }: MessageAnswer, isCut: boolean): LLMEvent[] {
  const all = [...blocks.values()];
  // Until its calls are answered, the model wants the reasoning before them back.
  const thinking = all.filter(
    (block) => block.type === 'redacted_thinking' || (block.type === 'thinking' && block.signature !== ''),
  );
  return all
    .flatMap((block) => (block.type === 'tool_use' ? [{ ...block, ...parseArgs(block.argsText) }] : []))
    .filter(({ args }) => !isCut || args !== undefined)
    .map(({ id, name, args, argsText }, index) => ({
      type: 'tool-call',
      id,
      name,
      args,
      argsText,
      ...(index === 0 && thinking.length > 0 && { providerExtras: { thinking } }),
    }));
}

function withBlock(state: MessageAnswer, index: number, block: Block): MessageAnswer {
  return { ...state, blocks: new Map([...state.blocks, [index, block]]) };
}

function extended(block: Block, delta: WireObject): Block {
  const more = (text: string, key: string): string => (text + (asString(delta[key]) ?? '')).slice(0, maxBlockLength);
  switch (block.type) {
    case 'tool_use':
      return { ...block, argsText: more(block.argsText, 'partial_json') };
    case 'thinking':
      return { ...block, thinking: more(block.thinking, 'thinking'), signature: more(block.signature, 'signature') };
    default:
      return block;
  }
}

/** Token counts are cumulative: the last one counts, unless null. */
function count(state: MessageAnswer, value: unknown): MessageAnswer {
  const usage = asObject(value) ?? {};
  const thinking = asNumber(asObject(usage['output_tokens_details'])?.['thinking_tokens']);
  const all = [...counted.map((key) => [key, asNumber(usage[key])] as const), ['thinking_tokens', thinking] as const];
  const known = all.filter(([, amount]) => amount !== undefined);
  return { ...state, counts: { ...state.counts, ...Object.fromEntries(known) } };
}

function usageOf(counts: MessageCounts): TokenUsage {
  const {
    input_tokens: fresh,
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    output_tokens: outputTokens,
    thinking_tokens: reasoningTokens,
  } = counts;
  const inputTokens = fresh === undefined ? undefined : fresh + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0);
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(inputTokens !== undefined && outputTokens !== undefined && { totalTokens: inputTokens + outputTokens }),
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}

function said(state: MessageAnswer, text: unknown): Step {
  return [state, typeof text === 'string' && text !== '' ? { type: 'token', text } : progress];
}

function blockOf(wire: WireObject): Block {
  const text = (key: string): string => asString(wire[key]) ?? '';
  switch (wire['type']) {
    case 'text':
      return { type: 'text' };
    case 'tool_use': {
      const input = asObject(wire['input']);
      const argsText = input && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
      return { type: 'tool_use', id: text('id'), name: text('name'), argsText };
    }
    case 'thinking':
      return { type: 'thinking', thinking: text('thinking'), signature: text('signature') };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: text('data') };
    default:
      return { type: 'other' };
  }
}
