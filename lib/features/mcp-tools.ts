import { asArray, asNumber, asObject, asObjects, asString, type WireObject } from '../core/guard.ts';
import type { Tool } from '../core/tools.ts';

/** A Model Context Protocol client: that of `@modelcontextprotocol/sdk` 1, or of `@modelcontextprotocol/client` 2. */
export interface McpClient {
  /** Lists the server's tools, or one page of them. */
  listTools(params?: { cursor?: string }, options?: never): PromiseLike<unknown>;
  /** Calls a tool. */
  callTool(params: { name: string; arguments?: Record<string, unknown> }, ...options: never[]): PromiseLike<unknown>;
}

/** What a server says about a tool's effects; a hint, not a promise. */
export interface McpToolHints {
  /** It changes nothing. */
  readonly readOnlyHint?: boolean;
  /** It may delete or overwrite something. */
  readonly destructiveHint?: boolean;
  /** Calling it again with the same arguments changes nothing more. */
  readonly idempotentHint?: boolean;
  /** It interacts with the outside world, such as the web. */
  readonly openWorldHint?: boolean;
}

/** A server's tool, for a pipeline. */
export interface McpTool extends Tool {
  /** What the server says about its effects. */
  readonly hints: McpToolHints;
}

/** A server's progress report on a call. */
export interface McpProgress {
  /** The name of the tool, as the model knows it. */
  readonly tool: string;
  readonly toolCallId: string;
  /** Grows with each report; out of `total`, if known. */
  readonly progress: number;
  readonly total?: number;
  /** The server's description, if any. */
  readonly message?: string;
}

/** A server's tool that no model can be told about. */
export interface McpSkippedTool {
  /** The server's name for it; empty without one. */
  readonly name: string;
  /** What is wrong with it, in words that follow its name. */
  readonly reason: string;
}

/** Options of {@link mcpTools}. */
export interface McpToolsOptions {
  /** Prefix of each name, such as `crm_`, for servers whose tools have the same names. Default: none. */
  readonly prefix?: string;
  /** Time limit of each call, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /** Called with each progress report; a text that it returns is spoken. Without it, no reports are requested. */
  readonly onProgress?: (progress: McpProgress) => unknown;
  /** Called with each tool that is left out, as no model can be told about it. Default: nobody is told. */
  readonly onSkipped?: (skipped: McpSkippedTool) => void;
  /** Aborts the listing. */
  readonly signal?: AbortSignal;
}

/** More pages than any server has: a limit for servers that repeat a page endlessly. */
const maxPages = 100;
/** What model services accept as a tool's name. */
const longestName = 64;
/** Characters of it that tell apart what is cut to the same name. */
const digestLength = 7;

/**
 * The tools of a server of the Model Context Protocol (https://modelcontextprotocol.io), for a pipeline. The client is
 * yours: connect it before, close it afterwards. A call cut off by an interruption is cancelled on the server.
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
 * @throws Whatever the client throws.
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<McpTool[]> {
  const listed = await listAll(client, options.signal);
  // What runs as a task of its own cannot be called like this.
  const callable = listed
    .filter((tool) => asObject(tool['execution'])?.['taskSupport'] !== 'required')
    .filter((tool) => {
      const reason = oddityOf(tool);
      if (reason !== undefined) options.onSkipped?.({ name: asString(tool['name']) ?? '', reason });
      return reason === undefined;
    });
  const ownNames = new Set(callable.map(({ name }) => asString(name) ?? ''));
  const names = namesFor([...ownNames], options.prefix);
  // A server that lists a name twice has one tool of it.
  const byName = new Map(callable.map((tool) => toolOf(client, tool, names, options)).map((tool) => [tool.name, tool]));
  return [...byName.values()];
}

/** Why no model can be told about a tool: a service would refuse each request that has it. */
function oddityOf({ name, inputSchema }: WireObject): string | undefined {
  if (!asString(name)) return 'it has no name';
  const schema = asObject(inputSchema ?? {});
  if (!schema) return 'its inputSchema is no object';
  const { type = 'object', properties = {}, required = [] } = schema;
  if (type !== 'object') return `its inputSchema is of type ${JSON.stringify(type)}, but models pass an object`;
  const own = asObject(properties);
  if (!own) return 'its properties are no object';
  const odd = Object.keys(own).find((key) => typeof own[key] !== 'boolean' && !asObject(own[key]));
  if (odd !== undefined) return `its property ${odd} has no schema`;
  const isList = Array.isArray(required) && required.every((each) => typeof each === 'string');
  return isList ? undefined : 'its required is no list of names';
}

/** Names that models accept, each unlike the others, for the names of a server's tools. */
function namesFor(ownNames: readonly string[], prefix = ''): ReadonlyMap<string, string> {
  // Servers also have dots and slashes in their names, which services refuse.
  const accepted = ownNames.map((name) => (prefix + name).replace(/[^\w-]/g, '_'));
  const counts = new Map<string, number>();
  for (const name of accepted) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = ownNames.map((own, index) => {
    const name = accepted[index] ?? '';
    const isOnlyOne = name === prefix + own || counts.get(name) === 1;
    if (name.length <= longestName && isOnlyOne) return [own, name] as const;
    return [own, `${name.slice(0, longestName - digestLength - 1)}_${digestOf(own)}`] as const;
  });
  return new Map(names);
}

/** A text in seven characters, by FNV-1a. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(36).padStart(digestLength, '0');
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

function toolOf(
  client: McpClient,
  listed: WireObject,
  names: ReadonlyMap<string, string>,
  options: McpToolsOptions,
): McpTool {
  const { timeoutMs = 30_000, onProgress } = options;
  const ownName = asString(listed['name']) ?? '';
  const name = names.get(ownName) ?? ownName;
  const description = asString(listed['description']) ?? asString(listed['title']);
  // The draft's address is of no use to a model, and some services refuse it. Some refuse a schema without `properties`.
  const { $schema: _, ...schema } = asObject(listed['inputSchema']) ?? {};
  return {
    name,
    ...(description !== undefined && { description }),
    parameters: { type: 'object', properties: {}, ...schema },
    checksPatterns: false,
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

/** Version 1 of the SDK takes a schema in between; version 2 does not. */
function call(client: McpClient, params: Parameters<McpClient['callTool']>[0], options: object): PromiseLike<unknown> {
  const rest = client.callTool.length === 2 ? [options] : [undefined, options];
  return client.callTool(params, ...(rest as never[]));
}

/**
 * What the model is told: the structured content, else the text, and placeholders for what it cannot read.
 *
 * @throws Error when the server reports that the call failed.
 */
function resultOf(value: unknown): unknown {
  const result = asObject(value) ?? {};
  const { structuredContent, isError, toolResult } = result;
  const parts = asArray(result['content']).map((part) => asObject(part) ?? {});
  const texts = parts.flatMap((part) => textOf(part) ?? []);
  const others = parts.flatMap((part) => (textOf(part) === undefined ? nameOf(part) : []));
  const isStructured = structuredContent !== undefined && isError !== true;
  // The text content repeats it for clients that don't read JSON.
  const told = isStructured ? [JSON.stringify(structuredContent), ...others] : [...texts, ...others];
  if (isError === true) throw new Error(told.join('\n') || 'the tool failed');
  return told.length > 0 ? told.join('\n') : toolResult;
}

function textOf(part: WireObject): string | undefined {
  if (part['type'] === 'text') return asString(part['text']);
  return part['type'] === 'resource' ? asString(asObject(part['resource'])?.['text']) : undefined;
}

/** A placeholder for what the model cannot read, such as `[image: image/png]`. */
function nameOf(part: WireObject): string {
  const about = part['type'] === 'resource' ? (asObject(part['resource']) ?? {}) : part;
  const facts = [about['title'] ?? about['name'], about['uri'], about['mimeType']].flatMap(
    (fact) => asString(fact) ?? [],
  );
  return `[${[(asString(part['type']) ?? 'content').replaceAll('_', ' '), facts.join(', ')].filter(Boolean).join(': ')}]`;
}
