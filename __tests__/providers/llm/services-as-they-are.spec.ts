/** What real accounts and models answered, and the vendors' examples do not show. */
import type { Message } from '../../../lib/core/messages.ts';
import { CompatibleLLM } from '../../../lib/providers/llm/compatible-llm.ts';
import { MuLLM, type MuLLMConfig } from '../../../lib/providers/llm/mu-llm.ts';
import { OmicronLLM } from '../../../lib/providers/llm/omicron-llm.ts';
import { ThetaLLM } from '../../../lib/providers/llm/theta-llm.ts';
import { XiLLM } from '../../../lib/providers/llm/xi-llm.ts';
import {
  bodyJson,
  startSandbox,
  type Sandbox,
  type ServiceName,
  type VendorName,
} from '../../../samples/sandbox/index.ts';
import { member, textMember } from '../../../samples/sandbox/validate.ts';
import { outcomeOf } from './llm-fixture.ts';

const say = (content: string): Message[] => [{ role: 'user', content }];
const scripted = (...rules: readonly object[]): string => `sandbox: ${JSON.stringify({ rules })}`;

describe('language models as they really are', () => {
  let sandbox: Sandbox;
  const providers: { dispose(): Promise<void> }[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((provider) => provider.dispose()));
    sandbox.clearFaults();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const direct = (vendor: VendorName) => ({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints[vendor] });
  async function ready<P extends { initialize(): Promise<void>; dispose(): Promise<void> }>(provider: P): Promise<P> {
    providers.push(provider);
    await provider.initialize();
    return provider;
  }
  const requests = (service: ServiceName) => sandbox.records(service);
  const efforts = (service: ServiceName): string[] =>
    requests(service).map((record) => {
      const body = bodyJson(record);
      return textMember(body, 'reasoning_effort') || textMember(member(body, 'reasoning'), 'effort');
    });

  it('OmicronLLM: a blocked answer is filtered, not an empty success', async () => {
    const systemPrompt = scripted({ when: 'poem', say: '', finish: 'filtered' });
    const llm = await ready(new OmicronLLM({ ...direct('omicron'), systemPrompt }));
    const { events } = await outcomeOf(llm.generate(say('Recite the poem.')));
    expect(events).toMatchObject([{ type: 'done', finishReason: 'filtered' }]);
  });

  it('OmicronLLM: a malformed call is asked for again, then fails', async () => {
    const systemPrompt = scripted({ when: 'weather', say: '', finish: 'malformed-call' });
    const llm = await ready(new OmicronLLM({ ...direct('omicron'), systemPrompt, maxRetries: 1 }));
    const { events, error } = await outcomeOf(llm.generate(say('The weather?')));
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: 'server', recoverable: true });
    expect(requests('omicron-llm')).toHaveLength(2);
  });

  const thoughtful: readonly (readonly [config: Partial<MuLLMConfig>, thinks: boolean])[] = [
    [{ model: 'claude-haiku-5-5' }, false],
    [{ model: 'claude-haiku-5-5', effort: 'high' }, false],
    [{ model: 'claude-haiku-5-5', effort: 'xhigh' }, true],
    [{ model: 'claude-haiku-5-5', effort: 'max' }, true],
    [{ model: 'claude-opus-5' }, false],
    [{ model: 'claude-opus-5', effort: 'max' }, true],
    [{ model: 'claude-sonnet-5' }, false],
    [{ model: 'claude-opus-4-8' }, false],
    [{ model: 'claude-fable-5-2' }, true],
  ];
  for (const [config, thinks] of thoughtful) {
    it(`MuLLM: ${JSON.stringify(config)} answers ${thinks ? 'after some thought' : 'at once'}`, async () => {
      const systemPrompt = scripted({ when: 'hello', say: 'hi' });
      const llm = await ready(new MuLLM({ ...direct('mu'), ...config, systemPrompt }));
      const { events, error } = await outcomeOf(llm.generate(say('hello')));
      expect(error).toBeUndefined();
      const { usage } = events.find((event) => event.type === 'done') ?? {};
      expect(usage?.reasoningTokens !== undefined).toBe(thinks);
    });
  }

  it('MuLLM: what always thinks is asked for little of it, and not forced to call', async () => {
    for (const model of ['claude-fable-5-1', 'claude-fable-5-2', 'claude-mythos-5-2']) {
      const llm = await ready(new MuLLM({ ...direct('mu'), model }));
      const tools = [{ name: 'get_weather', parameters: { type: 'object', properties: { city: {} } } }];
      const { error } = await outcomeOf(llm.generate(say('Paris?'), { tools, toolChoice: 'required' }));
      expect(error).toBeUndefined();
    }
    expect(requests('mu-llm').map((record) => bodyJson(record))).toMatchObject(
      Array.from({ length: 3 }, () => ({ output_config: { effort: 'low' }, tool_choice: { type: 'auto' } })),
    );
  });

  const leastEfforts = [
    ['mistral-small-latest', 'none'],
    ['mistral-medium-latest', 'none'],
    ['mistral-medium-3-5', 'none'],
    ['magistral-medium-latest', 'none'],
    ['mistral-large-4', 'low'],
    ['zai-glm-5-3', 'low'],
    ['mistral-large-latest', ''],
    ['ministral-8b-latest', ''],
  ] as const;
  for (const [model, effort] of leastEfforts) {
    it(`XiLLM: ${model} is asked for as little reasoning as it takes`, async () => {
      const llm = await ready(new XiLLM({ ...direct('xi'), model }));
      expect((await outcomeOf(llm.generate(say('Hello')))).error).toBeUndefined();
      expect(efforts('xi-llm')).toEqual([effort]);
    });
  }

  const geminiEfforts = [
    ['gemini-3.5-flash-lite', 'minimal'],
    ['gemini-3.6-flash', 'minimal'],
    ['gemini-3.8-flash', 'low'],
    ['gemini-3.1-pro-preview', 'low'],
  ] as const;
  for (const [model, effort] of geminiEfforts) {
    it(`OmicronLLM: ${model} is asked for as little thought as it takes`, async () => {
      const llm = await ready(new OmicronLLM({ ...direct('omicron'), model }));
      expect((await outcomeOf(llm.generate(say('Hello')))).error).toBeUndefined();
      expect(efforts('omicron-llm')).toEqual([effort]);
    });
  }

  for (const code of ['billing_not_active', 'billing_hard_limit_reached']) {
    it(`ThetaLLM: ${code} is fatal, not "too many requests"`, async () => {
      const body = JSON.stringify({ error: { message: 'Your account is not active.', type: code, param: null, code } });
      sandbox.setFault('theta-llm', { kind: 'status', status: 429, body });
      const llm = await ready(new ThetaLLM({ ...direct('theta'), model: 'gpt-5.4-mini' }));
      const { error } = await outcomeOf(llm.generate(say('Hi')));
      expect(error).toMatchObject({ code: 'quota', recoverable: false });
      expect(requests('theta-llm')).toHaveLength(1);
    });
  }

  it("CompatibleLLM: an empty apiKey is none, as from `process.env.KEY ?? ''`", async () => {
    const llm = await ready(new CompatibleLLM({ apiKey: '', endpoint: sandbox.endpoints.compatible, model: 'local' }));
    expect(await outcomeOf(llm.generate(say('Hi')))).toMatchObject({ text: 'Hello! How can I help you?' });
    expect(requests('compatible-llm')[0]?.headers).not.toHaveProperty('authorization');
  });

  const thetaEfforts = [
    ['gpt-5-pro', ''],
    ['gpt-5-codex', 'low'],
    ['gpt-5-search-api', ''],
    ['o1-mini', ''],
    ['ft:gpt-5-mini:acme::abc', 'minimal'],
    ['ft:gpt-4.1-mini:acme::abc', ''],
  ] as const;
  for (const [model, effort] of thetaEfforts) {
    it(`ThetaLLM: ${model} gets the effort that it takes: ${effort || 'none of ours'}`, async () => {
      const llm = await ready(new ThetaLLM({ ...direct('theta'), model, temperature: 1 }));
      expect(await outcomeOf(llm.generate(say('Hi')))).toMatchObject({ text: 'Hello! How can I help you?' });
      expect(efforts('theta-llm')).toEqual([effort]);
    });
  }

  it('OmicronLLM: gemini-2.5-flash, routed to a newer model that refuses the effort, answers without it', async () => {
    const llm = await ready(new OmicronLLM({ ...direct('omicron'), model: 'gemini-2.5-flash' }));
    for (let n = 0; n < 2; n++) {
      expect(await outcomeOf(llm.generate(say('Hi')))).toMatchObject({ text: 'Hello! How can I help you?' });
    }
    expect(efforts('omicron-llm')).toEqual(['none', '', '']);
    llm.updateConfig({ model: 'gemini-2.5-flash-lite' });
    await outcomeOf(llm.generate(say('Hi')));
    expect(efforts('omicron-llm').at(-1)).toBe('none');
  });

  it("an effort of the user's own is never dropped: its refusal is an error", async () => {
    const llm = await ready(
      new OmicronLLM({ ...direct('omicron'), model: 'gemini-2.5-flash', reasoningEffort: 'none' }),
    );
    expect(await outcomeOf(llm.generate(say('Hi')))).toMatchObject({ error: { code: 'configuration', status: 400 } });
    expect(efforts('omicron-llm')).toEqual(['none']);
  });
});
