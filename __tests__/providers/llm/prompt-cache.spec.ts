/** A conversation is sent again with each turn: what the service has read, it must not be paid to read again. */
import type { Message, TokenUsage } from '../../../lib/core/messages.ts';
import { MuLLM } from '../../../lib/providers/llm/mu-llm.ts';
import type { MuLLMConfig } from '../../../lib/providers/llm/mu-dialect.ts';
import { outcomeOf } from './llm-fixture.ts';
import { sandboxed } from './sandboxed.ts';

const long = `You are a lighthouse keeper. ${'You speak of ships and fog. '.repeat(250)}`;
const tools = [{ name: 'get_weather', description: 'The weather.' }];

describe("MuLLM and its service's cache", () => {
  const { ready, direct, bodies } = sandboxed();
  const create = (config: MuLLMConfig) => ready(new MuLLM({ ...direct('mu'), ...config }));
  async function ask(llm: MuLLM, history: Message[], content: string): Promise<TokenUsage> {
    history.push({ role: 'user', content });
    const { events, text, error } = await outcomeOf(llm.generate(history, { tools }));
    expect(error).toBeUndefined();
    history.push({ role: 'assistant', content: text });
    const last = events.at(-1);
    return (last?.type === 'done' ? last.usage : undefined) ?? {};
  }

  it('a turn reads what the turn before has written, and writes what is new', async () => {
    const llm = await create({ systemPrompt: long });
    const history: Message[] = [];
    const first = await ask(llm, history, 'Hello');
    expect(first.cachedTokens).toBe(0);
    expect(first.cacheWriteTokens).toBeGreaterThan(1024);
    const second = await ask(llm, history, 'Tell me a story');
    expect(second.cachedTokens).toBe(first.cacheWriteTokens);
    expect(second.cacheWriteTokens).toBeGreaterThan(0);
    expect(second.cacheWriteTokens).toBeLessThan(100);
    const third = await ask(llm, history, 'Thank you');
    expect(third.cachedTokens).toBe((second.cachedTokens ?? 0) + (second.cacheWriteTokens ?? 0));
  });

  it('a new conversation reads the system text of another', async () => {
    const llm = await create({ systemPrompt: `${long} Be kind.` });
    await ask(llm, [], 'Hello');
    const other = await ask(llm, [], 'My name is Ada');
    expect(other.cachedTokens).toBeGreaterThan(1024);
    expect(other.cacheWriteTokens).toBeLessThan(100);
  });

  it("a tool's result at the end of the history is marked as well", async () => {
    const llm = await create({ systemPrompt: long, promptCache: '1h' });
    const call = { id: 'toolu_1', name: 'get_weather', args: {}, argsText: '{}' };
    const history: Message[] = [
      { role: 'user', content: 'The weather?' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', toolCallId: 'toolu_1', content: 'sunny' },
    ];
    expect(await outcomeOf(llm.generate(history, { tools }))).toMatchObject({ text: 'get_weather says: sunny.' });
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    expect(bodies('mu-llm')[0]).toMatchObject({
      system: [{ type: 'text', text: long, cache_control }],
      messages: [{ content: 'The weather?' }, {}, { content: [{ type: 'tool_result', cache_control }] }],
    });
  });

  it('what is too short for a cache, or not to be cached, is not marked', async () => {
    await outcomeOf((await create({ systemPrompt: 'Be brief.' })).generate([{ role: 'user', content: 'Hi' }]));
    const off = await create({ systemPrompt: long, promptCache: false });
    expect(await ask(off, [], 'Hi')).toMatchObject({ cachedTokens: 0, cacheWriteTokens: 0 });
    expect(JSON.stringify(bodies('mu-llm'))).not.toContain('cache_control');
  });

  it('a span that the service does not know is refused at once', async () => {
    await expect(create({ promptCache: '1d' as '1h' })).rejects.toThrow(/promptCache must be 5m or 1h/);
  });
});
