/** A server of the Model Context Protocol, for tests: run as a program, it speaks over its standard input and output. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';

const city = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const nothing = { type: 'object' as const, properties: {} };

const tools = [
  {
    name: 'get_weather',
    description: 'The weather in a city',
    inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', ...city },
    outputSchema: { type: 'object' as const, properties: { sky: { type: 'string' } }, required: ['sky'] },
    annotations: { readOnlyHint: true },
  },
  { name: 'files.read', title: 'Reads a file', inputSchema: nothing },
  { name: 'look', inputSchema: nothing },
  { name: 'fail', inputSchema: nothing, annotations: { destructiveHint: true } },
  { name: 'wait', inputSchema: nothing },
  { name: 'cancellations', inputSchema: nothing },
  { name: 'research', inputSchema: nothing, execution: { taskSupport: 'required' as const } },
];

/** The server, and what has it list a tool more. */
export function createServer(): {
  readonly server: McpServer['server'];
  readonly addTool: (name: string) => Promise<void>;
} {
  const { server } = new McpServer(
    { name: 'test', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const listed: { name: string; inputSchema: { type: 'object' } }[] = [...tools];
  let cancellations = 0;

  // Three to a page.
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const start = Number(params?.cursor ?? 0);
    const end = start + 3;
    return { tools: listed.slice(start, end), ...(end < listed.length && { nextCursor: String(end) }) };
  });

  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification, _meta }) => {
    const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] });
    switch (params.name) {
      case 'get_weather': {
        const structuredContent = { sky: 'sunny', city: params.arguments?.['city'] };
        return { ...text(JSON.stringify(structuredContent)), structuredContent };
      }
      case 'files.read':
        return text('Read.');
      case 'look':
        return {
          content: [
            { type: 'text', text: 'A cat.' },
            { type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
            { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
            { type: 'resource', resource: { uri: 'note://1', text: 'It purrs.' } },
            { type: 'resource', resource: { uri: 'file:///cat.bin', mimeType: 'application/x-cat', blob: 'AAAA' } },
            { type: 'resource_link', uri: 'https://example.com/cat', name: 'More cats' },
          ],
        };
      case 'fail':
        return { ...text('The disk is full'), isError: true };
      case 'wait': {
        const progressToken = _meta?.progressToken;
        if (progressToken !== undefined) {
          for (const progress of [1, 2]) {
            const told = { progressToken, progress, total: 2, message: `step ${progress}` };
            await sendNotification({ method: 'notifications/progress', params: told });
          }
        }
        try {
          await sleep(600_000, undefined, { signal });
        } catch {
          cancellations += 1;
        }
        return text('Never said.');
      }
      default:
        return text(String(cancellations));
    }
  });

  return {
    server,
    addTool: async (name) => {
      listed.push({ name, inputSchema: { type: 'object' } });
      await server.sendToolListChanged();
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await createServer().server.connect(new StdioServerTransport());
}
