/** What one generation may ask for: each option in each service's own words, or left out with a warning. */
import type { GenerateOptions, Message, ResponseSchema } from '../../../lib/core/messages.ts';
import { CompatibleLLM } from '../../../lib/providers/llm/compatible-llm.ts';
import type { ChatLLM } from '../../../lib/providers/llm/chat-llm.ts';
import type { LLMConfig } from '../../../lib/providers/llm/llm-config.ts';
import { MuLLM } from '../../../lib/providers/llm/mu-llm.ts';
import { NuLLM } from '../../../lib/providers/llm/nu-llm.ts';
import { OmicronLLM } from '../../../lib/providers/llm/omicron-llm.ts';
import { ThetaLLM } from '../../../lib/providers/llm/theta-llm.ts';
import { XiLLM } from '../../../lib/providers/llm/xi-llm.ts';
import type { Logger } from '../../../lib/core/logger.ts';
import { listeningLogger, outcomeOf } from './llm-fixture.ts';
import { sandboxed } from './sandboxed.ts';

const ask: Message[] = [{ role: 'user', content: 'A table for 4' }];
const booking = {
  type: 'object',
  properties: {
    wish: { type: 'string' },
    seats: { type: 'integer' },
    areas: { type: 'array', items: { type: 'object', properties: {}, required: [], additionalProperties: false } },
  },
  required: ['wish', 'seats', 'areas'],
  additionalProperties: false,
};
const open = { title: 'A booking!', type: 'object', properties: { wish: { type: 'string' } } };
const tools = [
  {
    name: 'look_up',
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
    strict: true,
  },
];
const wireSchema = (name: string, schema: unknown, strict: boolean) => ({
  response_format: { type: 'json_schema', json_schema: { name, schema, strict } },
});

describe('the options of a generation', () => {
  const { ready, direct, bodies } = sandboxed();
  type Model = 'theta' | 'nu' | 'xi' | 'omicron' | 'compatible' | 'mu';
  const create: Readonly<Record<Model, (logger?: Logger) => ChatLLM<LLMConfig>>> = {
    theta: (logger) => new ThetaLLM({ ...direct('theta'), model: 'gpt-4.1-mini', seed: 1 }, logger),
    nu: (logger) => new NuLLM({ ...direct('nu'), model: 'openai/gpt-oss-20b' }, logger),
    xi: (logger) => new XiLLM(direct('xi'), logger),
    omicron: (logger) => new OmicronLLM(direct('omicron'), logger),
    compatible: (logger) => new CompatibleLLM({ ...direct('compatible'), model: 'local' }, logger),
    mu: (logger) => new MuLLM({ ...direct('mu'), stopSequences: ['END'] }, logger),
  };
  async function answered(model: Model, options: GenerateOptions, logger?: Logger) {
    const { text, error } = await outcomeOf((await ready(create[model](logger))).generate(ask, options));
    expect(error).toBeUndefined();
    return { text, body: bodies(`${model}-llm`).at(-1) };
  }

  for (const model of Object.keys(create) as Model[]) {
    it(`${model}: an answer is JSON by a schema, which is strict where it is closed`, async () => {
      const { text, body } = await answered(model, { responseFormat: booking });
      expect(JSON.parse(text)).toEqual({ wish: 'A table for 4', seats: 4, areas: [{}] });
      const ofMu = { output_config: { format: { type: 'json_schema', schema: booking } } };
      expect(body).toMatchObject(model === 'mu' ? ofMu : wireSchema('answer', booking, true));
    });
  }

  for (const model of ['theta', 'nu', 'xi', 'omicron', 'compatible'] as const) {
    it(`${model}: a schema that leaves the model a choice is not called strict; json is any object`, async () => {
      const { text, body } = await answered(model, { responseFormat: open });
      expect(JSON.parse(text)).toEqual({ wish: 'A table for 4' });
      expect(body).toMatchObject(wireSchema('A_booking_', open, false));
      expect((await answered(model, { responseFormat: 'json' })).body).toMatchObject({
        response_format: { type: 'json_object' },
      });
    });
  }

  it('a Standard Schema tells its JSON Schema, and what it does not list is closed', async () => {
    const inner = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const schema = { type: 'object', properties: { to: inner }, required: ['to'] };
    const input = listening(() => schema);
    const standard: ResponseSchema = {
      '~standard': { version: 1, vendor: 'zod', jsonSchema: { input, output: () => ({}) } },
    };
    const closed = {
      ...schema,
      properties: { to: { ...inner, additionalProperties: false } },
      additionalProperties: false,
    };
    for (const model of ['theta', 'mu'] as const) {
      const { text, body } = await answered(model, { responseFormat: standard });
      expect(JSON.parse(text)).toEqual({ to: { city: 'A table for 4' } });
      const ofMu = { output_config: { format: { type: 'json_schema', schema: closed } } };
      expect(body).toMatchObject(model === 'mu' ? ofMu : wireSchema('answer', closed, true));
    }
    expect(input.seen).toEqual([{ target: 'draft-2020-12' }, { target: 'draft-2020-12' }]);
  });

  it('a Standard Schema that cannot tell its JSON Schema is a clear error', async () => {
    const validate = (value: unknown) => ({ value });
    const old = { '~standard': { version: 1, vendor: 'valibot', validate } } as unknown as ResponseSchema;
    const llm = await ready(create.theta());
    const { error } = await outcomeOf(llm.generate(ask, { responseFormat: old }));
    expect(error).toMatchObject({ code: 'configuration', provider: 'ThetaLLM', recoverable: false });
    expect(error?.message).toContain('valibot cannot turn responseFormat into JSON Schema');
    expect(bodies('theta-llm')).toEqual([]);
  });

  const asked: GenerateOptions = {
    ...{ seed: 7, stopSequences: ['STOP'], serviceTier: 'auto', cacheKey: 'user-1', parallelToolCalls: false, tools },
  };
  const strictTool = { tools: [{ type: 'function', function: { name: 'look_up', strict: true } }] };
  const shared = { stop: ['STOP'], parallel_tool_calls: false, ...strictTool };
  const all = { ...shared, seed: 7, service_tier: 'auto', prompt_cache_key: 'user-1' };
  const { prompt_cache_key: _key, ...ofNu } = all;
  const { service_tier: _tier, ...ofOmicron } = ofNu;
  const { seed: random_seed, ...rest } = all;
  const ofMu = {
    ...{ stop_sequences: ['STOP'], service_tier: 'auto' },
    tools: [{ name: 'look_up', strict: true }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  };
  const rows: readonly (readonly [Model, object, readonly string[]])[] = [
    ['theta', all, []],
    ['nu', ofNu, ['cacheKey']],
    ['xi', { ...rest, random_seed }, []],
    ['omicron', ofOmicron, ['serviceTier', 'cacheKey']],
    ['mu', ofMu, ['seed', 'cacheKey']],
  ];
  for (const [model, expected, left] of rows) {
    it(`${model}: seed, stop, tier, cache, one call at a time, strict tools${left.length > 0 ? `; not ${left.join(', ')}` : ''}`, async () => {
      const logger = listeningLogger();
      const { body } = await answered(model, asked, logger);
      expect(body).toMatchObject(expected);
      const names = ['seed', 'random_seed', 'service_tier', 'prompt_cache_key'];
      expect(
        Object.keys(body ?? {})
          .filter((name) => names.includes(name))
          .sort(),
      ).toEqual(
        Object.keys(expected)
          .filter((name) => names.includes(name))
          .sort(),
      );
      expect(logger.lines.filter((line) => line.includes('left out'))).toHaveLength(left.length);
      for (const option of left) expect(logger.lines.join()).toContain(`does not support ${option}`);
    });
  }

  it('the compatible service is sent what was asked for, and nothing else', async () => {
    const { body } = await answered('compatible', { seed: 7, stopSequences: ['STOP'], parallelToolCalls: true, tools });
    expect(body).toMatchObject({ seed: 7, stop: ['STOP'], parallel_tool_calls: true, ...strictTool });
    const plain = (await answered('compatible', { parallelToolCalls: true })).body;
    expect(Object.keys(plain ?? {}).sort()).toEqual(['messages', 'model', 'stream']);
  });

  it("a generation's own options take precedence over the configuration", async () => {
    expect((await answered('theta', { seed: 2 })).body).toMatchObject({ seed: 2 });
    expect((await answered('theta', {})).body).toMatchObject({ seed: 1 });
    expect((await answered('mu', { stopSequences: ['STOP'] })).body).toMatchObject({ stop_sequences: ['STOP'] });
    expect((await answered('mu', {})).body).toMatchObject({ stop_sequences: ['END'] });
  });

  it('Claude gives JSON by a schema only, and says so', async () => {
    const logger = listeningLogger();
    const { body } = await answered('mu', { responseFormat: 'json' }, logger);
    expect(body).not.toHaveProperty('output_config');
    expect(logger.lines.join()).toContain('JSON by a schema only');
  });
});

/** A function that keeps its arguments, in every runtime. */
function listening<A, R>(run: (argument: A) => R): ((argument: A) => R) & { readonly seen: A[] } {
  const seen: A[] = [];
  return Object.assign((argument: A) => (seen.push(argument), run(argument)), { seen });
}
