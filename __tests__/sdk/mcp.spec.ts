/**
 * Tools of a Model Context Protocol server in a conversation: the real clients of both versions, a real server, over its
 * standard input and over HTTP.
 *
 * Slow: each test starts a server, some a process.
 */
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { lastValueFrom, of, type Observable } from 'rxjs';
import { mcpTools, Pipeline, type LLMEvent, type McpClient, type McpProgress, type McpTool } from '../../lib/index.ts';
import { executeTool } from '../../lib/stream/execute-tool.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from '../../lib/testing/index.ts';
import { createServer } from './mcp-server.ts';
import { until } from './wire.ts';

interface Connected {
  readonly client: McpClient;
  readonly addTool?: (name: string) => Promise<void>;
  readonly close: () => Promise<void>;
}
const info = { name: 'rxvoice-tests', version: '1.0.0' };
const onChanged: (() => void)[] = [];
const listChanged = { tools: { autoRefresh: false, onChanged: () => onChanged.forEach((tell) => tell()) } };

async function overStdio(): Promise<Connected> {
  const client = new Client(info);
  const args = ['--import', 'tsx', '__tests__/sdk/mcp-server.ts'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'inherit' }));
  return { client, close: () => client.close() };
}

async function overHttp(connect: (url: URL) => Promise<McpClient & { close(): Promise<void> }>): Promise<Connected> {
  const { server, addTool } = createServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() });
  await server.connect(transport);
  const http: HttpServer = createHttpServer((request, response) => void transport.handleRequest(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const client = await connect(new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`));
  return {
    client,
    addTool,
    close: async () => {
      await client.close();
      await server.close();
      http.closeAllConnections();
      http.close();
    },
  };
}

/** Runs a tool as a pipeline does. */
function call(tool: McpTool, args: unknown, signal: AbortSignal = new AbortController().signal): Promise<unknown> {
  const given = { signal, say: () => undefined, handOver: () => undefined };
  return lastValueFrom(executeTool(tool, { id: 'call_1', args }, given));
}

const ways: Readonly<Record<string, () => Promise<Connected>>> = {
  'SDK 1 over standard input': overStdio,
  'SDK 1 over HTTP': () =>
    overHttp(async (url) => {
      const client = new Client(info, { listChanged });
      await client.connect(new StreamableHTTPClientTransport(url));
      return client;
    }),
  'SDK 2 over HTTP': () =>
    overHttp(async (url) => {
      const client = new Client2(info, { listChanged });
      await client.connect(new Http2(url));
      return client;
    }),
};

describe.each(Object.entries(ways))('mcpTools(), %s', (way, connect) => {
  let connected: Connected;
  beforeEach(async () => {
    onChanged.length = 0;
    connected = await connect();
  });
  afterEach(() => connected.close());

  const run = (tools: readonly McpTool[], name: string, args: unknown = {}, signal = new AbortController().signal) => {
    const tool = tools.find((each) => each.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return call(tool, args, signal);
  };

  it('lists the tools of every page, with what a model may be told', async () => {
    const tools = await mcpTools(connected.client, { prefix: 'home_', timeoutMs: 5_000 });
    expect(tools.map(({ name }) => name)).toEqual(
      ['get_weather', 'files_read', 'look', 'fail', 'wait', 'cancellations'].map((name) => `home_${name}`),
    );
    const [weather, files, , fail] = tools;
    expect(weather).toMatchObject({ description: 'The weather in a city', timeoutMs: 5_000 });
    expect(weather?.parameters).toEqual({
      ...{ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    });
    expect(files?.description).toBe('Reads a file');
    expect([weather?.hints, fail?.hints, files?.hints]).toEqual([
      { readOnlyHint: true },
      { destructiveHint: true },
      {},
    ]);
  });

  it('tells the model what a tool has found: structured, as text, or by name', async () => {
    const tools = await mcpTools(connected.client);
    expect(await run(tools, 'get_weather', { city: 'Paris' })).toBe('{"sky":"sunny","city":"Paris"}');
    expect(await run(tools, 'files_read')).toBe('Read.');
    expect(await run(tools, 'look')).toBe(
      [
        ...['A cat.', 'It purrs.', '[image: image/png]', '[audio: audio/wav]'],
        ...['[resource: file:///cat.bin, application/x-cat]', '[resource link: More cats, https://example.com/cat]'],
      ].join('\n'),
    );
    await expect(run(tools, 'fail')).rejects.toThrow('The disk is full');
    await expect(run(tools, 'get_weather', { town: 'Paris' })).rejects.toThrow('do not fit the schema');
  });

  it('tells progress, and cancels a call at the server', async () => {
    const told: McpProgress[] = [];
    const tools = await mcpTools(connected.client, { onProgress: (progress) => told.push(progress) });
    const abort = new AbortController();
    const call = run(tools, 'wait', {}, abort.signal);
    const failed = expect(call).rejects.toThrow();
    await until(() => told.length === 2);
    expect(told[1]).toEqual({
      ...{ tool: 'wait', toolCallId: 'call_1', progress: 2, total: 2, message: 'step 2' },
    });
    abort.abort();
    await failed;
    let cancelled: unknown;
    while (cancelled !== '1') cancelled = await run(tools, 'cancellations');
  });

  it('ends a call that takes too long', async () => {
    const tools = await mcpTools(connected.client, { timeoutMs: 50 });
    await expect(run(tools, 'wait')).rejects.toThrow(/timed? ?out/i);
    let cancelled: unknown;
    const patient = await mcpTools(connected.client);
    while (cancelled !== '1') cancelled = await run(patient, 'cancellations');
  });

  it('works in a pipeline: a call, its result, an interruption', async () => {
    const llm = new FakeLLM();
    let begun = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (begun = resolve));
    await using pipeline = new Pipeline({
      providers: [new FakeInput(), new FakeSTT(), llm, new FakeTTS(), new FakeOutput()],
      tools: await mcpTools(connected.client, { onProgress: () => begun() }),
    });
    const results: string[] = [];
    pipeline.on('tool.result', ({ content }) => results.push(content));
    await pipeline.start();
    const call = (name: string, args: object) =>
      of(
        { type: 'tool-call', id: name, name, args, argsText: JSON.stringify(args) } as const,
        { type: 'done', finishReason: 'tool-calls' } as const,
      );
    llm.generate = (messages): Observable<LLMEvent> => {
      const last = messages.at(-1);
      if (last?.role === 'tool')
        return of<LLMEvent[]>({ type: 'token', text: 'So it is.' }, { type: 'done', finishReason: 'stop' });
      return last?.content === 'weather' ? call('get_weather', { city: 'Rome' }) : call('wait', {});
    };
    expect(await pipeline.send('weather').done).toMatchObject({ heardText: 'So it is.' });
    expect(results).toEqual(['{"sky":"sunny","city":"Rome"}']);

    const sent = pipeline.send('wait');
    await waiting;
    pipeline.interrupt();
    await sent.done;
    const tools = await mcpTools(connected.client);
    let cancelled: unknown;
    while (cancelled !== '1') cancelled = await run(tools, 'cancellations');
    expect(pipeline.history.messages().some(({ content }) => content.startsWith('Cancelled'))).toBe(true);
  });

  if (!way.includes('standard input')) {
    it('is told when the list has changed', async () => {
      const llm = new FakeLLM();
      await using pipeline = new Pipeline({
        providers: [new FakeInput(), new FakeSTT(), llm, new FakeTTS(), new FakeOutput()],
        tools: await mcpTools(connected.client),
      });
      await pipeline.start();
      const updated = new Promise<void>((resolve) => {
        onChanged.push(() => {
          void mcpTools(connected.client).then((tools) => {
            pipeline.update({ tools });
            resolve();
          });
        });
      });
      await connected.addTool?.('brand_new');
      await updated;
      const seen = new Promise<readonly string[]>((resolve) => {
        llm.generate = (_messages, options) => {
          resolve((options?.tools ?? []).map(({ name }) => name));
          return of({ type: 'done', finishReason: 'stop' });
        };
      });
      pipeline.send('Hello');
      expect(await seen).toContain('brand_new');
    });
  }
});

/** A client whose server lists these tools. */
const listing = (...tools: readonly object[]): McpClient => ({
  listTools: () => Promise.resolve({ tools }),
  callTool: ({ name }) => Promise.resolve({ content: [{ type: 'text', text: name }] }),
});

describe('tools whose names models would not tell apart', () => {
  const tool = (name: string): object => ({ name, inputSchema: { type: 'object' } });
  const long = 'create_a_new_customer_record_in_the_crm_of_the_whole_company_for_a_';
  const namesOf = async (...names: readonly string[]): Promise<readonly string[]> =>
    (await mcpTools(listing(...names.map(tool)))).map(({ name }) => name);

  it.each([
    [
      ['a.b', 'a_b'],
      ['a_b_X', 'a_b'],
    ],
    [
      ['a.b', 'a/b'],
      ['a_b_X', 'a_b_X'],
    ],
    [
      [`${long}person`, `${long}company`],
      [`${long.slice(0, 56)}_X`, `${long.slice(0, 56)}_X`],
    ],
    [['a', 'a'], ['a']],
  ])('%j are told apart, and those of the server stay', async (names, shapes) => {
    const given = await namesOf(...names);
    expect(new Set(given).size).toBe(shapes.length);
    expect(given.map((name) => name.replace(/_[\da-z]{7}$/, '_X'))).toEqual(shapes);
  });

  it('have the same names whatever else the server lists', async () => {
    const [person = ''] = await namesOf(`${long}person`);
    expect(await namesOf('x', `${long}company`, `${long}person`)).toContain(person);
  });

  it('stand for their own tools, and are taken by a pipeline', async () => {
    const own = [`${long}person`, `${long}company`, 'a.b', 'a_b'];
    const tools = await mcpTools(listing(...own.map(tool)));
    expect(await Promise.all(tools.map((each) => call(each, {})))).toEqual(own);
    const providers = [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()];
    await using pipeline = new Pipeline({ providers, tools });
    await expect(pipeline.initialize()).resolves.toBeUndefined();
  });
});

describe("a server's regular expressions", () => {
  const withSchema = async (properties: object, rest: object = {}): Promise<McpTool> => {
    const inputSchema = { type: 'object', properties, ...rest };
    const [tool] = await mcpTools(listing({ name: 'find', inputSchema }));
    if (!tool) throw new Error('There is no tool.');
    expect(tool.parameters).toEqual(inputSchema);
    return tool;
  };

  it('are not run, which may take for ever', async () => {
    const evil = { type: 'string', pattern: '^(a+)+$' };
    const tool = await withSchema({ a: evil, b: { anyOf: [evil, { type: 'null' }] } });
    const text = `${'a'.repeat(64)}!`;
    expect(await call(tool, { a: text, b: text })).toBe('find');
  });

  it('need not be of those that JavaScript has', async () => {
    const tool = await withSchema({ id: { type: 'string', pattern: '^(?i)[\\w\\-]+$' } });
    expect(await call(tool, { id: 'x-1' })).toBe('find');
  });

  it('do not keep the rest of the schema from being checked', async () => {
    const id = { type: 'string', pattern: '^x' };
    const tool = await withSchema(
      { id, count: { type: 'integer' } },
      { required: ['id'], additionalProperties: false },
    );
    await expect(call(tool, { id: 'x', count: 'two' })).rejects.toThrow('/count: ');
    await expect(call(tool, { count: 2 })).rejects.toThrow('do not fit the schema');
    await expect(call(tool, { id: 'x', other: 2 })).rejects.toThrow('do not fit the schema');
  });
});

it('gives the schema of a tool without arguments the properties that services ask for', async () => {
  const client: McpClient = {
    listTools: () => Promise.resolve({ tools: [{ name: 'now', inputSchema: { type: 'object' } }] }),
    callTool: () => Promise.resolve({}),
  };
  const [tool] = await mcpTools(client);
  expect(tool?.parameters).toEqual({ type: 'object', properties: {} });
});

it('does not read a list that never ends', async () => {
  let pages = 0;
  const client: McpClient = {
    listTools: () => {
      pages += 1;
      return Promise.resolve({ tools: [], nextCursor: 'again' });
    },
    callTool: () => Promise.resolve({}),
  };
  expect(await mcpTools(client)).toEqual([]);
  expect(pages).toBe(100);
});
