import type { WireObject } from '../../core/guard.ts';
import type { GenerateOptions, Message, ToolCall, ToolDefinition } from '../../core/messages.ts';
import { parseArgs } from './tool-call-assembler.ts';

/** How a service wants a conversation that is written down as chat completions. */
export interface ChatForm {
  /** The role of instructions in the middle of a conversation. */
  readonly lateSystemRole: 'system' | 'user';
  /** What the assistant must have said between a tool's result and the user's next turn. Default: nothing. */
  readonly toolToUser?: string;
  /** What a turn of the assistant's says that only calls tools. Default: `null`. */
  readonly silence?: '';
  /** The id that the service takes for a call; the same for the same id. Default: the id itself. */
  readonly callId?: (id: string) => string;
  /** What goes back with a call beside its name and arguments. Default: nothing. */
  readonly callExtras?: (call: ToolCall) => Readonly<Record<string, unknown>>;
}

const unchanged = (id: string): string => id;

/** A repaired history in the form of chat completions. */
export function chatHistory(messages: readonly Message[], form: ChatForm): WireObject[] {
  const { lateSystemRole, toolToUser, silence = null, callId = unchanged, callExtras } = form;
  return messages.flatMap((message, index): WireObject[] => {
    switch (message.role) {
      case 'system':
        return [{ role: lateSystemRole, content: message.content }];
      case 'user': {
        const isAfterTool = toolToUser !== undefined && messages[index - 1]?.role === 'tool';
        const between = isAfterTool ? [{ role: 'assistant', content: toolToUser }] : [];
        return [...between, { role: 'user', content: message.content }];
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

/** The tools that a model may call, and which of them; nothing without any. */
export function chatTools(tools: readonly ToolDefinition[], choice: GenerateOptions['toolChoice']): WireObject {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters = { type: 'object', properties: {} } }) => ({
      ...{ type: 'function', function: { name, description, parameters } },
    })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice,
  };
}

/** Services parse the arguments that they are sent. */
function argumentsOf({ argsText }: ToolCall): string {
  const parsed = parseArgs(argsText);
  return parsed.args === undefined ? '{}' : parsed.argsText;
}

/** The format has no mark for a result that is an error. */
function resultOf({ content, isError }: Extract<Message, { role: 'tool' }>): string {
  return isError === true && !/^error/i.test(content) ? `Error: ${content}` : content;
}
