import type { StandardSchemaV1 } from '@standard-schema/spec';

/** A JSON Schema object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A running tool's second argument. */
export interface ToolContext {
  /** Aborted when the answer is cut off (unless `onInterrupt` is `finish`), on timeout, and on `stop()`. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** The same whenever this call is sent: for services that accept an idempotency key. */
  readonly idempotencyKey: string;
  /**
   * Says something while the call runs, such as how far it has come: after what is being said, and never stored in the
   * history; guards see it. `filler` is not said then. Does nothing once the calls of this round are over, beyond 20 texts,
   * and where an agent's service is what speaks.
   */
  readonly say: (text: string) => void;
  /**
   * Hands the conversation over to another of the pipeline's `agents`: it answers from the next request to the model
   * on, the one with this tool's result.
   *
   * @throws Error when there is no such agent, which the model is told.
   */
  readonly handOver: (agent: string) => void;
}

/**
 * A tool that the model can call. `parameters` is a JSON Schema, shown to the model; `schema` is a Standard Schema (Zod,
 * Valibot, ArkType, …) that validates the arguments, and whose output `execute` receives. A schema whose library tells
 * its JSON Schema (`~standard.jsonSchema`) needs no `parameters` beside it; with neither, the tool takes no arguments.
 */
export interface Tool<Args = never> {
  /** 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonSchema;
  readonly schema?: StandardSchemaV1<unknown, Args>;
  /**
   * Runs the call. The result goes to the model, as JSON unless it is a string: a value, a promise's value, or the last
   * value of an Observable.
   */
  execute(args: Args, context: ToolContext): unknown;
  /** Whether the service guarantees that arguments fit `parameters`, which must be closed. Default: the service's. */
  readonly strict?: boolean;
  /** Time limit, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * What an interruption does to a run. What the user says meanwhile joins the next request to the model and the run goes
   * on, unless this is `abort`. When the answer is cut off ("stop", `interrupt()`, `send()`), `finish` lets the run end and
   * keeps its result. Default: words join, and a cut aborts it.
   */
  readonly onInterrupt?: 'finish' | 'abort';
  /** Spoken when the run takes longer than 700 ms; never stored in the history. */
  readonly filler?: string;
}

/** Lets TypeScript infer a tool's arguments from its Standard Schema; the result fits any list of tools. */
export function defineTool<Args = unknown>(tool: Tool<Args>): Tool {
  return tool as Tool;
}
