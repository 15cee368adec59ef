import { messageOf } from '../../core/errors.ts';
import { parametersOf } from '../../core/standard-schema.ts';
import { misspeltToolKey } from '../../core/tools.ts';
import type { AgentTool } from './function-calls.ts';

/** What is wrong with a list of tools, as a sentence; `undefined` if nothing. */
export function toolsProblem(tools: unknown): string | undefined {
  if (!Array.isArray(tools)) return 'tools must be an array';
  const names = tools.map((tool: Partial<AgentTool>) => tool.name);
  const odd = names.find((name) => !/^[\w-]{1,64}$/.test(name ?? ''));
  if (names.includes(odd)) return `tools must have names of 1 to 64 of a-z A-Z 0-9 _ -, not ${JSON.stringify(odd)}`;
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) return `tools has two tools named ${twice}`;
  const misspelt = misspeltToolKey(tools as readonly AgentTool[]);
  if (misspelt !== undefined) return misspelt;
  try {
    for (const tool of tools as readonly AgentTool[]) parametersOf(tool);
    return undefined;
  } catch (error) {
    return `tools: ${messageOf(error)}`;
  }
}
