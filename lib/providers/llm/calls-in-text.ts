import { obj, parseJsonObject, str } from '../../core/guard.ts';
import type { ToolCall } from '../../core/messages.ts';

/**
 * The tool calls in a text such as `{"name": "get_weather", "arguments": {}}` or `<tool_call>…</tool_call>`, which
 * small local models write instead of calling. All of the text must be calls of known tools, else it is none.
 */
export function callsInText(text: string, toolNames: readonly string[], newId: () => string): ToolCall[] {
  const parts = text
    .replaceAll('</tool_call>', '')
    .split('<tool_call>')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const calls = parts.map((part) => {
    const call = parseJsonObject(part);
    const name = str(call?.['name']);
    const args = obj(call?.['arguments'] ?? call?.['parameters'] ?? {});
    if (name === undefined || !toolNames.includes(name) || !args) return undefined;
    return { id: newId(), name, args, argsText: JSON.stringify(args) };
  });
  return calls.every((call) => call !== undefined) ? calls : [];
}
