import type { StandardSchemaV1 } from '@standard-schema/spec';
import { misspeltKey } from './misspelt-key.ts';

/** A JSON Schema object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A running tool's second argument. */
export interface ToolContext {
  /** Aborted when the answer is cut off (unless `onInterrupt` is `finish`), on timeout, and on `stop()`. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** The same each time this call is sent: for services that accept an idempotency key. */
  readonly idempotencyKey: string;
  /**
   * Says something while the call runs, such as its progress: after the speech in progress, checked by guards, and
   * never stored in the history. Replaces `filler`. Does nothing once the calls of this round are over, after 20 texts,
   * or with an agent's service.
   */
  readonly say: (text: string) => void;
  /**
   * Hands the conversation over to another of the pipeline's `agents`, which answers from the next request to the model
   * on: the one with this tool's result.
   *
   * @throws Error when there is no such agent; the model is told so.
   */
  readonly handOver: (agent: string) => void;
}

/**
 * A tool that the model can call. `parameters` is a JSON Schema, shown to the model; `schema` is a Standard Schema
 * (Zod, Valibot, ArkType, …) that validates the arguments, and whose output `execute` receives. A schema whose library
 * can convert it to JSON Schema (`~standard.jsonSchema`) needs no `parameters`; with neither, the tool takes no
 * arguments.
 */
export interface Tool<Args = never> {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonSchema;
  readonly schema?: StandardSchemaV1<unknown, Args>;
  /**
   * Whether arguments are checked against the regular expressions in `parameters`. Whoever wrote one can make it run for
   * ever, so `mcpTools()` turns this off: a server checks its own. Default: true.
   */
  readonly checksPatterns?: boolean;
  /**
   * Runs the call. The result goes to the model, as JSON unless it is a string: a value, a promise's value, or the last
   * value of an Observable or async generator. An Error that is returned is one that is thrown.
   */
  execute(args: Args, context: ToolContext): unknown;
  /** Whether the service guarantees that arguments fit `parameters`, which must be closed. Default: the service's. */
  readonly strict?: boolean;
  /** Time limit, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * What an interruption does to a run. Unless this is `abort`, the user's words during the run join the next request
   * to the model, and the run goes on. When the answer is cut off ("stop", `interrupt()`, `send()`), `finish` lets the
   * run end and keeps its result. Default: words join the next request, and a cut aborts the run.
   */
  readonly onInterrupt?: 'finish' | 'abort';
  /** Spoken when the run takes longer than 700 ms; never stored in the history. */
  readonly filler?: string;
}

const toolKeys: Readonly<Record<keyof Tool, true>> = {
  name: true,
  description: true,
  parameters: true,
  schema: true,
  checksPatterns: true,
  execute: true,
  strict: true,
  timeoutMs: true,
  onInterrupt: true,
  filler: true,
};

/** A misspelt key among some tools, as a sentence. A tool may have keys of the application's own. */
export function misspeltToolKey(tools: readonly Pick<Tool, 'name'>[]): string | undefined {
  for (const tool of tools) {
    const problem = misspeltKey(tool, Object.keys(toolKeys));
    if (problem !== undefined) return `the tool ${tool.name}: ${problem}`;
  }
  return undefined;
}

/** Lets TypeScript infer a tool's arguments from its Standard Schema; the result fits any list of tools. */
export function defineTool<Args = unknown>(tool: Tool<Args>): Tool {
  return tool as Tool;
}
