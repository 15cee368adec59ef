/**
 * A server's list with one tool that no model can be told about: a pipeline refused all of them, or the model's service
 * each request.
 */
import { mcpTools, Pipeline, type McpClient, type McpSkippedTool } from '../../lib/index.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from '../../lib/testing/index.ts';

const good = { name: 'weather', inputSchema: { type: 'object', properties: { city: { type: 'string' } } } };

const clientOf = (...tools: readonly unknown[]): McpClient => ({
  listTools: () => Promise.resolve({ tools }),
  callTool: () => Promise.resolve({}),
});

const schemaOf = (inputSchema: unknown): object => ({ name: 'odd', inputSchema });

describe('a tool that no model can be told about', () => {
  const cases: readonly (readonly [string, object, McpSkippedTool])[] = [
    ['without a name', { inputSchema: { type: 'object' } }, { name: '', reason: 'it has no name' }],
    ['with an empty name', { name: '', inputSchema: { type: 'object' } }, { name: '', reason: 'it has no name' }],
    ...(
      [
        ['with a schema that is none', 'object', 'its inputSchema is no object'],
        ['with a schema that is a list', [], 'its inputSchema is no object'],
        ['with another type', { type: 'string' }, 'its inputSchema is of type "string", but models pass an object'],
        ['with properties that are a list', { type: 'object', properties: [] }, 'its properties are no object'],
        ['with properties that are nothing', { type: 'object', properties: null }, 'its properties are no object'],
        [
          'with a property that is no schema',
          { type: 'object', properties: { city: 'string' } },
          'its property city has no schema',
        ],
        ['with a text as required', { type: 'object', required: 'city' }, 'its required is no list of names'],
        ['with required numbers', { type: 'object', required: [1] }, 'its required is no list of names'],
      ] as const
    ).map(([what, schema, reason]) => [what, schemaOf(schema), { name: 'odd', reason }] as const),
  ];
  it.each(cases)('%s is left out, and told of; the others work', async (_, odd, skipped) => {
    const told: McpSkippedTool[] = [];
    const tools = await mcpTools(clientOf(odd, good), { prefix: 'crm_', onSkipped: (each) => told.push(each) });
    expect(tools.map(({ name }) => name)).toEqual(['crm_weather']);
    expect(told).toEqual([skipped]);
    const providers = [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()];
    await using pipeline = new Pipeline({ providers, tools: await mcpTools(clientOf(odd, good)) });
    await pipeline.initialize();
    expect(pipeline.state).toBe('ready');
  });

  it('is not one whose schema says little', async () => {
    const told: McpSkippedTool[] = [];
    const little = [
      { name: 'a' },
      { name: 'b', inputSchema: {} },
      { name: 'c', inputSchema: { properties: { x: true } } },
    ];
    const tools = await mcpTools(clientOf(...little), { onSkipped: (each) => told.push(each) });
    expect(tools.map(({ name, parameters }) => [name, parameters?.['type']])).toEqual([
      ['a', 'object'],
      ['b', 'object'],
      ['c', 'object'],
    ]);
    expect(told).toEqual([]);
  });
});
