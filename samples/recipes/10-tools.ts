/** Tools of a Model Context Protocol server in a call; those that change something run only if somebody says yes. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { mcpTools, Pipeline, withApproval } from 'rxvoice';
import { z } from 'zod';
import type { Kit } from './kit.ts';

/** A restaurant's server; it could as well be a program, or an address on the web. */
async function connect(): Promise<Client> {
  const server = new McpServer({ name: 'restaurant', version: '1.0.0' });
  const ok = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  server.registerTool('get_menu', { annotations: { readOnlyHint: true } }, () => ok('soup, fish, cake'));
  server.registerTool('reserve_table', { inputSchema: { city: z.string() } }, ({ city }) => ok(`reserved in ${city}`));
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  const client = new Client({ name: 'agent', version: '1.0.0' });
  await client.connect(ours);
  return client;
}

export async function recipe(kit: Kit): Promise<void> {
  const client = await connect();
  const tools = withApproval(await mcpTools(client), ({ tool, args }) => {
    if (tool.hints.readOnlyHint) return true;
    kit.print(`approve ${tool.name} ${JSON.stringify(args)}?`);
    // A page or a colleague would be asked here, with some seconds to answer.
    return JSON.stringify(args).includes('Paris') || { refuse: 'we are in Paris alone' };
  });

  await using pipeline = new Pipeline({ providers: kit.providers(), tools });
  pipeline.on('tool.result', ({ call, content }) => kit.print(`${call.name}: ${content}`));
  pipeline.on('tool.error', ({ call, content }) => kit.print(`${call.name}: ${content}`));
  await pipeline.start();
  for (const question of ['What is on the menu?', 'A table in Paris', 'A table in Rome']) {
    const { heardText } = await pipeline.send(question).done;
    kit.print(`heard: ${heardText}`);
  }
  await pipeline.stop();
  await client.close();
}
