import type { WireObject } from '../../core/guard.ts';
import type { GenerateOptions, Message } from '../../core/messages.ts';
import type { BrowserLLMConfig } from './browser-llm.ts';
import { chatHistory, chatTools } from './chat-history.ts';
import { repairHistory } from './repair-history.ts';

/** What WebLLM is asked for one answer. */
export function browserRequest(
  config: BrowserLLMConfig,
  history: readonly Message[],
  options: GenerateOptions,
): WireObject {
  const { maxTokens = config.maxTokens ?? 512, temperature = config.temperature, tools = [], toolChoice } = options;
  const { system, messages } = repairHistory(history, { systemPrompt: config.systemPrompt, startsWithUser: true });
  // The engine takes instructions at the beginning alone.
  const wire = chatHistory(messages, { lateSystemRole: 'user', silence: '' });
  const [first] = wire;
  // With tools, WebLLM has a system prompt of its own and refuses another.
  if (system && tools.length > 0 && first) first['content'] = `${system}\n\n${String(first['content'])}`;
  return {
    messages: [...(system && tools.length === 0 ? [{ role: 'system', content: system }] : []), ...wire],
    stream_options: { include_usage: true },
    max_tokens: maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(config.topP !== undefined && { top_p: config.topP }),
    ...(config.stopSequences?.length && { stop: [...config.stopSequences] }),
    ...(/^qwen3/i.test(config.model) && { extra_body: { enable_thinking: false } }),
    ...chatTools(tools, toolChoice ?? 'auto'),
  };
}
