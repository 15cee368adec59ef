/** What a bill counts: cached and reasoning tokens, whatever each service calls them. */
import type { Message, TokenUsage } from '../../../lib/core/messages.ts';
import type { LLMProvider } from '../../../lib/core/roles.ts';
import { CompatibleLLM } from '../../../lib/providers/llm/compatible-llm.ts';
import { MuLLM } from '../../../lib/providers/llm/mu-llm.ts';
import { NuLLM } from '../../../lib/providers/llm/nu-llm.ts';
import { ThetaLLM } from '../../../lib/providers/llm/theta-llm.ts';
import { outcomeOf } from './llm-fixture.ts';
import { sandboxed } from './sandboxed.ts';

const ask: Message[] = [{ role: 'user', content: 'Hi' }];
/** Instructions long enough for a cache, and a model that thinks. */
const systemPrompt = (name: string): string =>
  `sandbox: ${JSON.stringify({ rules: [{ when: 'Hi', say: 'Hello.', think: 'A greeting: greet back.' }] })}\n` +
  `You are ${name}. ${'Be brief and friendly. '.repeat(300)}`;

describe('the usage of a model', () => {
  const { ready, direct } = sandboxed();
  async function usageOf(llm: LLMProvider, extraBody = {}): Promise<TokenUsage> {
    const { events, error } = await outcomeOf(llm.generate(ask, { extraBody }));
    expect(error).toBeUndefined();
    const last = events.at(-1);
    return (last?.type === 'done' ? last.usage : undefined) ?? {};
  }

  const chats = {
    ThetaLLM: (prompt: string) => new ThetaLLM({ ...direct('theta'), model: 'gpt-5.4-mini', systemPrompt: prompt }),
    NuLLM: (prompt: string) => new NuLLM({ ...direct('nu'), model: 'openai/gpt-oss-20b', systemPrompt: prompt }),
    // It asks for usage only where it is told to: the strictest servers refuse the field.
    CompatibleLLM: (prompt: string) =>
      new CompatibleLLM({
        ...{ ...direct('compatible'), model: 'local', systemPrompt: prompt },
        extraBody: { stream_options: { include_usage: true } },
      }),
  };
  for (const [name, create] of Object.entries(chats)) {
    it(`${name}: what was cached and what was reasoning are parts of what was counted`, async () => {
      const llm = await ready(create(systemPrompt(name)));
      const first = await usageOf(llm);
      expect(first).toMatchObject({ cachedTokens: 0, reasoningTokens: 6 });
      const { inputTokens = 0, outputTokens = 0, totalTokens, cachedTokens = 0 } = await usageOf(llm);
      expect(cachedTokens).toBeGreaterThan(1024);
      expect(inputTokens).toBeGreaterThan(cachedTokens);
      expect(inputTokens).toBe(first.inputTokens);
      expect(outputTokens).toBeGreaterThan(6);
      expect(totalTokens).toBe(inputTokens + outputTokens);
    });
  }

  it('MuLLM: input is all that was read, cached or not, as with the others', async () => {
    const thinking = { type: 'adaptive' };
    const llm = await ready(new MuLLM({ ...direct('mu'), thinking, systemPrompt: systemPrompt('Mu') }));
    const cached = { cache_control: { type: 'ephemeral' } };
    const first = await usageOf(llm, cached);
    expect(first).toMatchObject({ cachedTokens: 0, reasoningTokens: 6 });
    expect(first.cacheWriteTokens).toBeGreaterThan(1024);
    const second = await usageOf(llm, cached);
    expect(second).toMatchObject({ cachedTokens: first.cacheWriteTokens, cacheWriteTokens: 0 });
    expect(second.inputTokens).toBe(first.inputTokens);
    expect(second.inputTokens).toBeGreaterThanOrEqual(second.cachedTokens ?? 0);
    expect(second.totalTokens).toBe((second.inputTokens ?? 0) + (second.outputTokens ?? 0));
  });
});
