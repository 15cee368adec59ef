import { asArray, asNumber, asObject, asObjects, asString, type WireObject } from '../core/guard.ts';
import type { Tool } from '../core/tools.ts';

/** A client of the Model Context Protocol: that of `@modelcontextprotocol/sdk` 1, or of `@modelcontextprotocol/client` 2. */
export interface McpClient {
  /** Lists one page of the server's tools, or all. */
  listTools(params?: { cursor?: string }, options?: never): PromiseLike<unknown>;
  /** Calls a tool. */
  callTool(params: { name: string; arguments?: Record<string, unknown> }, ...options: never[]): PromiseLike<unknown>;
}

/** What a server says of a tool's effects; a hint, not a promise. */
export interface McpToolHints {
  /** It changes nothing. */
  readonly readOnlyHint?: boolean;
  /** It may delete or overwrite something. */
  readonly destructiveHint?: boolean;
  /** Calling it again with the same arguments changes nothing more. */
  readonly idempotentHint?: boolean;
  /** It deals with the world outside, such as the web. */
  readonly openWorldHint?: boolean;
}

/** A server's tool as one of the pipeline's. */
export interface McpTool extends Tool {
  /** What the server says of its effects. */
  readonly hints: McpToolHints;
}

/** A server's word on how far a call has come. */
export interface McpProgress {
  /** The name of the tool, as the model knows it. */
  readonly tool: string;
  readonly toolCallId: string;
  /** Grows with each; of `total`, if that is known. */
  readonly progress: number;
  readonly total?: number;
  /** In words, if the server has some. */
  readonly message?: string;
}

/** Options of {@link mcpTools}. */
export interface McpToolsOptions {
  /** Placed before each name, such as `crm_`, where several servers have tools of one name. Default: nothing. */
  readonly prefix?: string;
  /** Time limit of each call, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Called with each progress of a call; a text that it returns is said. Without it, the server is not asked to tell. */
  readonly onProgress?: (progress: McpProgress) => unknown;
  /** Ends the listing. */
  readonly signal?: AbortSignal;
}

/** More pages than any server has: one that sends the same page for ever is not read for ever. */
const maxPages = 100;
/** What services take as a name. */
const longestName = 64;

/**
 * The tools of a server of the Model Context Protocol (https://modelcontextprotocol.io), for a pipeline. The client is
 * yours: connect it first, close it in the end. A call that an interruption cuts off is cancelled at the server.
 *
 * @example
 * ```ts
 * import { Client } from '@modelcontextprotocol/sdk/client/index.js';
 * import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
 * import { mcpTools, Pipeline, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * const client = new Client({ name: 'my-agent', version: '1.0.0' });
 * await client.connect(new StreamableHTTPClientTransport(new URL('https://mcp.example.com/mcp')));
 * const pipeline = new Pipeline({ providers, tools: await mcpTools(client) });
 * ```
 *
 * @throws Whatever the client throws; an Error when two tools have one name.
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<McpTool[]> {
  const listed = await listAll(client, options.signal);
  // What runs as a task of its own cannot be called like this.
  const callable = listed.filter((tool) => asObject(tool['execution'])?.['taskSupport'] !== 'required');
  const tools = callable.map((tool) => toolOf(client, tool, options));
  const names = tools.map(({ name }) => name);
  const twin = names.find((name, index) => names.indexOf(name) !== index);
  if (twin !== undefined) throw new Error(`mcpTools: the server has two tools named ${twin}: leave one out`);
  return tools;
}

async function listAll(client: McpClient, signal: AbortSignal | undefined): Promise<WireObject[]> {
  const tools: WireObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? undefined : { cursor };
    const result = asObject(await client.listTools(params, (signal ? { signal } : undefined) as never)) ?? {};
    tools.push(...asObjects(result['tools']));
    cursor = asString(result['nextCursor']);
    if (!cursor) break;
  }
  return tools;
}

function toolOf(client: McpClient, listed: WireObject, options: McpToolsOptions): McpTool {
  const { prefix = '', timeoutMs = 30_000, onProgress } = options;
  const ownName = asString(listed['name']) ?? '';
  // Servers also have dots and slashes in their names, which services refuse.
  const name = (prefix + ownName).replace(/[^\w-]/g, '_').slice(0, longestName);
  const description = asString(listed['description']) ?? asString(listed['title']);
  // The draft's address is of no use to a model, and some services refuse it.
  const { $schema: _, ...parameters } = asObject(listed['inputSchema']) ?? { type: 'object' };
  return {
    name,
    ...(description !== undefined && { description }),
    parameters,
    timeoutMs,
    hints: asObject(listed['annotations']) ?? {},
    execute: async (args, { signal, say, toolCallId }) => {
      const onprogress = (told: WireObject): void => {
        const [progress = 0, total, message] = [
          asNumber(told['progress']),
          asNumber(told['total']),
          asString(told['message']),
        ];
        const words = onProgress?.({
          ...{ tool: name, toolCallId, progress },
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        });
        if (typeof words === 'string') say(words);
      };
      const request = { signal, timeout: timeoutMs, ...(onProgress && { onprogress }) };
      return resultOf(await call(client, { name: ownName, arguments: asObject(args) ?? {} }, request));
    },
  };
}

/** Version 1 of the SDK has a schema between the two; version 2 has not. */
function call(client: McpClient, params: Parameters<McpClient['callTool']>[0], options: object): PromiseLike<unknown> {
  const rest = client.callTool.length === 2 ? [options] : [undefined, options];
  return client.callTool(params, ...(rest as never[]));
}

/**
 * What the model is told: the structured content, else the text, and the names of what it cannot read.
 *
 * @throws Error when the server says that the call has failed.
 */
function resultOf(value: unknown): unknown {
  const result = asObject(value) ?? {};
  const { structuredContent, isError, toolResult } = result;
  const parts = asArray(result['content']).map((part) => asObject(part) ?? {});
  const texts = parts.flatMap((part) => textOf(part) ?? []);
  const others = parts.flatMap((part) => (textOf(part) === undefined ? nameOf(part) : []));
  const isStructured = structuredContent !== undefined && isError !== true;
  // Its text is the same, for those that read no JSON.
  const told = isStructured ? [JSON.stringify(structuredContent), ...others] : [...texts, ...others];
  if (isError === true) throw new Error(told.join('\n') || 'the tool failed');
  return told.length > 0 ? told.join('\n') : toolResult;
}

function textOf(part: WireObject): string | undefined {
  if (part['type'] === 'text') return asString(part['text']);
  return part['type'] === 'resource' ? asString(asObject(part['resource'])?.['text']) : undefined;
}

/** What the model cannot read, such as `[image: image/png]`. */
function nameOf(part: WireObject): string {
  const about = part['type'] === 'resource' ? (asObject(part['resource']) ?? {}) : part;
  const facts = [about['title'] ?? about['name'], about['uri'], about['mimeType']].flatMap(
    (fact) => asString(fact) ?? [],
  );
  return `[${[(asString(part['type']) ?? 'content').replaceAll('_', ' '), facts.join(', ')].filter(Boolean).join(': ')}]`;
}
