import { obj, objs, type WireObject } from '../../core/guard.ts';
import type { Message, ToolCall } from '../../core/messages.ts';
import { parseArgs } from './tool-call-assembler.ts';

/** A message of the wire: its content is a text, or blocks. */
export interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: unknown;
}

/**
 * A repaired history as Anthropic's Messages API wants it: roles alternate, the results of a turn's calls stand
 * together at the beginning of the user's next one.
 */
export function messageHistory(messages: readonly Message[]): WireMessage[] {
  // Thoughts belong to the calls that are being answered, and to no earlier turn.
  const loopStart = messages.findLastIndex(({ role }) => role === 'user');
  const wire: { role: WireMessage['role']; content: WireObject[] }[] = [];
  messages.forEach((message, index) => {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = blocksOf(message, index > loopStart);
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...content);
    else wire.push({ role, content });
  });
  return wire.map(({ role, content }) => ({ role, content: plain(content) }));
}

/** One text alone needs no block. */
function plain(content: readonly WireObject[]): unknown {
  const [first] = content;
  return content.length === 1 && first?.['type'] === 'text' ? first['text'] : content;
}

function blocksOf(message: Message, isInLoop: boolean): WireObject[] {
  if (message.role === 'tool') {
    const { toolCallId, content, isError } = message;
    const result = { type: 'tool_result', tool_use_id: wireId(toolCallId), content };
    return [isError === true ? { ...result, is_error: true } : result];
  }
  const text = message.content.trim() === '' ? [] : [{ type: 'text', text: message.content }];
  if (message.role !== 'assistant') return text;
  const calls = message.toolCalls ?? [];
  const thinking = isInLoop ? objs(calls[0]?.providerExtras?.['thinking']) : [];
  return [...thinking, ...text, ...calls.map(wireCall)];
}

function wireCall({ id, name, argsText }: ToolCall): WireObject {
  return { type: 'tool_use', id: wireId(id), name, input: obj(parseArgs(argsText).args) ?? {} };
}

/** Ids of other vendors' calls can hold what this one refuses. */
function wireId(id: string): string {
  return id.replace(/[^\w-]/g, '_');
}
