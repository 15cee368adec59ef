import type { StandardSchemaV1 } from '@standard-schema/spec';

/** A JSON Schema object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a running tool is given. */
export interface ToolContext {
  /** Aborted when the user interrupts (unless `onInterrupt` is `finish`), on the time-out, and on `stop()`. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** The same for the same call, however often it is sent: for services that take an idempotency key. */
  readonly idempotencyKey: string;
}

/**
 * Something that the model can have done. `parameters` is a JSON Schema, which is also what the model sees; `schema`
 * is an optional Standard Schema (Zod, Valibot, ArkType, …) that the arguments must pass, and whose output `execute`
 * then gets.
 */
export interface Tool<Args = never> {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonSchema;
  readonly schema?: StandardSchemaV1<unknown, Args>;
  /**
   * Runs the call. What it returns goes to the model, as JSON unless it is a string: a value, what a promise resolves to,
   * or the last value of an Observable.
   */
  execute(args: Args, context: ToolContext): unknown;
  /** Longest run, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /** What an interruption does to a run: `abort` signals it, `finish` lets it end and keeps its result. Default: `abort`. */
  readonly onInterrupt?: 'finish' | 'abort';
  /** Said when the run takes longer than 700 ms; never stored in the history. */
  readonly filler?: string;
}

/** Lets TypeScript infer a tool's arguments from its Standard Schema; the result goes into any list of tools. */
export function defineTool<Args = unknown>(tool: Tool<Args>): Tool {
  return tool as Tool;
}
